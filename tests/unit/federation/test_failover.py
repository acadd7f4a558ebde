"""Objects leave lost clusters and return, within a budget and at a rate."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER, PROPAGATION_POLICY
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.cli.views.fleet_run import placement
from stretto.federation import names
from stretto.federation.answers.placements import placed_object
from stretto.federation.answers.records import PlacedObject
from stretto.federation.controllers.keys import everything
from stretto.federation.fleet import unready_clusters
from stretto.federation.settings import FailoverRule
from stretto.sim.fleet.building import built, settings_of
from stretto.sim.fleet.description import FleetScenario, read_fleet
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.store import Deletion, Patch

RULE = FailoverRule(after=20, back_after=20, most_lost=0.5)


def fleet_of(rule: FailoverRule | None, repo_root: Path) -> EmbeddedFleet:
    """The bundled fleet after its objects are placed."""
    scenario: FleetScenario = read_fleet(repo_root / "examples" / "federation.yaml")
    clusters = tuple(
        msgspec.structs.replace(each, nodes=8, taints=()) for each in scenario.federation.clusters
    )
    described = msgspec.structs.replace(scenario.federation, clusters=clusters)
    fleet = built(described, replace(settings_of(described), failover=rule))
    run(fleet, 20)
    return fleet


def run(fleet: EmbeddedFleet, seconds: float) -> None:
    fleet.run_until(fleet.clock.monotonic() + seconds)


def placed(fleet: EmbeddedFleet, name: str = "default/web") -> dict[str, int | None]:
    return shown(fleet, name).placement


def shown(fleet: EmbeddedFleet, name: str = "default/web") -> PlacedObject:
    found = fleet.federation.fleet
    unready = unready_clusters(found)
    placed = [placed_object(each, unready) for each in everything(found)]
    return next(each for each in placed if each.name == name)


def test_objects_leave_a_lost_cluster_and_return_to_it(repo_root: Path) -> None:
    fleet = fleet_of(RULE, repo_root)
    assert placed(fleet) == {"east": 6, "west": 3}
    fleet.members["east"].served.set_availability(ServerAvailability.SILENT)
    run(fleet, 90)
    assert placed(fleet) == {"west": 9}
    fleet.members["east"].served.set_availability(ServerAvailability.ANSWERS)
    run(fleet, 120)
    assert placed(fleet) == {"east": 6, "west": 3}


def test_nothing_moves_without_a_rule(repo_root: Path) -> None:
    fleet = fleet_of(None, repo_root)
    fleet.members["east"].served.set_availability(ServerAvailability.SILENT)
    run(fleet, 90)
    assert placed(fleet) == {"east": 6, "west": 3}


def test_replicas_of_a_silent_cluster_are_last_known(repo_root: Path) -> None:
    fleet = fleet_of(None, repo_root)
    assert shown(fleet).unknown == ()
    fleet.members["east"].served.set_availability(ServerAvailability.SILENT)
    run(fleet, 90)
    assert shown(fleet).unknown == ("east",)
    assert placement(shown(fleet)) == "east=6? west=3"


def test_nothing_moves_if_most_clusters_are_lost(repo_root: Path) -> None:
    fleet = fleet_of(RULE, repo_root)
    for name in ("east", "lab"):
        fleet.members[name].served.set_availability(ServerAvailability.SILENT)
    run(fleet, 90)
    assert placed(fleet) == {"east": 6, "west": 3}


@pytest.mark.parametrize(("seconds", "moved"), [(65, 1), (160, 2)])
def test_objects_move_at_the_rate_of_the_rule(seconds: float, moved: int, repo_root: Path) -> None:
    fleet = fleet_of(replace(RULE, objects_per_minute=1.0), repo_root)
    fleet.members["east"].served.set_availability(ServerAvailability.SILENT)
    run(fleet, seconds)
    names = ("default/web", "default/search")
    assert sum("east" not in placed(fleet, name) for name in names) == moved


def test_a_rescale_while_no_cluster_is_feasible_is_done_once_one_is(repo_root: Path) -> None:
    fleet = fleet_of(RULE, repo_root)
    nowhere = {"spec": {"clusterSelector": {"region": "moon"}}}
    fleet.host.patch(PROPAGATION_POLICY.kind, [Patch("default", "two-to-one", nowhere)])
    run(fleet, 5)
    fleet.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"replicas": 6}})])
    run(fleet, 5)
    assert placed(fleet) == {"east": 6, "west": 3}
    labels = {"metadata": {"labels": {"region": "moon"}}}
    fleet.host.patch(FEDERATED_CLUSTER.kind, [Patch("", "east", labels)])
    run(fleet, 20)
    assert placed(fleet) == {"east": 6}


def test_a_cluster_that_is_deleted_is_no_lost_one_any_more(repo_root: Path) -> None:
    fleet = fleet_of(RULE, repo_root)
    fleet.members["east"].stop()
    run(fleet, 90)
    fleet.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", "east")])
    run(fleet, 700)
    items = everything(fleet.federation.fleet)
    assert not any(names.FAILOVER in each.federated.annotations for each in items)
