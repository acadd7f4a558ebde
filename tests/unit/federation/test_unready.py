"""Decisions while a member does not answer: it keeps its replicas and gets no further ones."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.render import render
from stretto.stores.store import Patch
from tests.support.federation_world import FederationWorld


@pytest.fixture
def world() -> FederationWorld:
    world = FederationWorld()
    world.policy()
    world.deployment(6)
    world.run()
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    return world


def ready(world: FederationWorld, name: str, status: str) -> None:
    conditions = [{"type": "Joined", "status": "True"}, {"type": "Ready", "status": status}]
    change = Patch("", name, {"status": {"conditions": conditions}})
    world.host.patch_status(FEDERATED_CLUSTER.kind, [change])


def lost(world: FederationWorld, name: str) -> None:
    world.fleet.members[name].served.set_availability(ServerAvailability.SILENT)
    ready(world, name, "Unknown")


def scale(world: FederationWorld, replicas: int) -> None:
    change: dict[str, Any] = {"spec": {"replicas": replicas}}
    world.host.patch(DEPLOYMENT, [Patch("default", "web", change)])
    world.run(2.0)


def reported(world: FederationWorld) -> int:
    """Replicas in the status of the source."""
    record = world.host.get(DEPLOYMENT, "default", "web")
    assert record is not None
    return int(msgspec.json.decode(render(record))["status"]["replicas"])


def touch(world: FederationWorld) -> None:
    world.host.patch(DEPLOYMENT, [Patch("default", "web", {"spec": {"minReadySeconds": 5}})])


def test_a_scale_up_gives_its_replicas_to_the_members_that_answer(world: FederationWorld) -> None:
    ready(world, "gamma", "Unknown")
    scale(world, 12)
    assert world.placed() == {"alpha": 5, "beta": 5, "gamma": 2}


def test_what_runs_elsewhere_stays_while_the_chosen_member_takes_nothing(
    world: FederationWorld,
) -> None:
    lost(world, "gamma")
    world.policy_patch(placement=[{"cluster": "gamma", "preferences": {"weight": 1}}])
    world.run(30.0)
    assert sum(count or 0 for count in world.placed().values()) >= 5
    assert "4 of them wait for clusters that are not ready" in str(world.condition("Scheduled"))


def test_it_moves_once_the_chosen_member_is_ready(world: FederationWorld) -> None:
    lost(world, "gamma")
    world.policy_patch(placement=[{"cluster": "gamma", "preferences": {"weight": 1}}])
    world.run(30.0)
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.ANSWERS)
    world.run(200.0)
    assert world.placed() == {"gamma": 6}


def test_an_explicit_limit_takes_replicas_although_no_member_is_ready(
    world: FederationWorld,
) -> None:
    lost(world, "gamma")
    most = {"weight": 1, "maxReplicas": 1}
    world.policy_patch(placement=[{"cluster": "alpha", "preferences": most}])
    world.run(30.0)
    assert world.placed() == {"alpha": 1, "gamma": 2}


def test_replicas_that_no_member_can_take_are_placed_once_one_answers(
    world: FederationWorld,
) -> None:
    for name in world.fleet.members:
        ready(world, name, "Unknown")
    scale(world, 9)
    assert world.placed() == {"alpha": 2, "beta": 2, "gamma": 2}
    ready(world, "alpha", "True")
    world.run(10.0)
    assert world.placed() == {"alpha": 5, "beta": 2, "gamma": 2}


def test_the_status_leaves_out_a_member_that_missed_a_change_once_it_is_not_ready(
    world: FederationWorld,
) -> None:
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.SILENT)
    world.run(35.0)
    touch(world)
    world.run(130.0)
    assert reported(world) == 4


def test_the_status_of_an_object_without_changes_keeps_the_pods_of_a_lost_member(
    world: FederationWorld,
) -> None:
    world.fleet.members["gamma"].served.set_availability(ServerAvailability.SILENT)
    world.run(300.0)
    assert reported(world) == 6


def test_the_status_counts_a_member_that_is_ready_again(world: FederationWorld) -> None:
    ready(world, "gamma", "Unknown")
    pods = [Patch("default", "web", {"status": {"replicas": 3}})]
    world.fleet.members["alpha"].store.patch_status(DEPLOYMENT, pods)
    world.run(3.5)
    ready(world, "gamma", "True")
    world.run(60.0)
    assert reported(world) == 6
