"""A host and three members that run pods, under faults: silence, partitions, kills, losses.

Two laws hold throughout: nothing is deleted that should stay, and no workload runs more than its
replicas and its surge.
"""

import random
import time
from collections.abc import Iterator

import pytest

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.wire.kinds import CONFIG_MAP, DEPLOYMENT
from stretto_lab.control_plane.cluster import ControlPlane
from tests.e2e.federation.site import (
    FleetSite,
    config_map,
    delete,
    deployment,
    patch,
    shown,
    uids,
)

pytestmark = [pytest.mark.kube, pytest.mark.slow]

SILENCE = 20.0
"""Seconds of silence: several times the threshold after which a member counts as offline."""


class Kept:
    """A Deployment and ConfigMaps that must stay as they are, whatever fails."""

    def __init__(self, site: FleetSite, name: str, replicas: int = 6) -> None:
        self.site, self.name, self.replicas = site, name, replicas
        self.maps = [f"{name}-{number}" for number in range(5)]
        deployment(site, name, replicas, "equal")
        for each in self.maps:
            config_map(site, each, "copies", a="b")
        site.until(self.is_complete)
        self.before = self.identities()

    def is_complete(self) -> bool:
        """Return whether all of it is in its members, and runs."""
        site = self.site
        copies = all(len(uids(site, CONFIG_MAP, each)) == len(site.members) for each in self.maps)
        return copies and site.total(self.name) == self.replicas == site.running(self.name)

    def identities(self) -> dict[str, dict[str, str]]:
        """Uids of all objects by name and member."""
        found = {each: uids(self.site, CONFIG_MAP, each) for each in self.maps}
        return {**found, self.name: uids(self.site, DEPLOYMENT, self.name)}

    def holds(self) -> bool:
        """Return whether every object is still the same, and not too much runs."""
        total = sum(each[0] for each in self.site.counts(self.name).values())
        return self.identities() == self.before and total <= self.replicas

    def end(self) -> None:
        """Remove it; the members are clean afterwards."""
        delete(self.site.host, DEPLOYMENT, self.name)
        for each in self.maps:
            delete(self.site.host, CONFIG_MAP, each)
        self.site.until(lambda: all(not each for each in self.identities().values()))


@pytest.fixture
def kept(fleet: FleetSite, request: pytest.FixtureRequest) -> Iterator[Kept]:
    name = f"kept-{abs(hash(request.node.name)) % 10_000}"
    kept = Kept(fleet, name)
    yield kept
    kept.end()


def is_offline(site: FleetSite, name: str) -> bool:
    return site.condition(name, "Offline") == "True"


def test_case_33_a_silent_member_keeps_its_replicas_while_others_scale(fleet: FleetSite) -> None:
    deployment(fleet, "case-33", 6, "equal")
    fleet.until(lambda: fleet.running("case-33") == 6)
    assert set(fleet.replicas("case-33").values()) == {2}
    west = fleet.members["west"]
    west.pause()
    fleet.until(lambda: is_offline(fleet, "west"))
    patch(fleet.host, DEPLOYMENT, "case-33", {"spec": {"replicas": 12}})
    others = [fleet.members["east"], fleet.members["north"]]
    fleet.until(lambda: sum(each.replicas("case-33") or 0 for each in others) == 10)
    time.sleep(SILENCE)
    assert sum(each.replicas("case-33") or 0 for each in others) == 10
    west.resume()
    fleet.until(lambda: fleet.is_ready("west"))
    assert west.replicas("case-33") == 2
    fleet.always(lambda: fleet.total("case-33") == 12, 8.0)
    fleet.until(lambda: fleet.running("case-33") == 12)
    delete(fleet.host, DEPLOYMENT, "case-33")


def test_case_34_new_replicas_go_to_healthy_members_only(fleet: FleetSite) -> None:
    west = fleet.members["west"]
    west.pause()
    fleet.until(lambda: is_offline(fleet, "west"))
    deployment(fleet, "case-34", 6, "equal")
    others = [fleet.members["east"], fleet.members["north"]]
    fleet.until(lambda: [each.replicas("case-34") for each in others] == [3, 3])
    west.resume()
    fleet.until(lambda: fleet.is_ready("west"))
    assert west.replicas("case-34") is None
    delete(fleet.host, DEPLOYMENT, "case-34")


def test_a_partitioned_member_loses_nothing_and_is_repaired(fleet: FleetSite, kept: Kept) -> None:
    wire = fleet.members["east"].wire
    wire.drops_replies = True
    wire.cut()
    fleet.until(lambda: is_offline(fleet, "east"))
    patch(fleet.members["east"].plane, CONFIG_MAP, kept.maps[0], {"data": {"a": "drift"}})
    patch(fleet.host, CONFIG_MAP, kept.maps[1], {"data": {"a": "new"}})
    fleet.always(kept.holds, SILENCE)
    wire.heal()
    wire.cut()
    plane = fleet.members["east"].plane
    fleet.until(lambda: data(plane, kept.maps[0]) == "b" and data(plane, kept.maps[1]) == "new")


def test_a_slow_member_delays_only_itself(fleet: FleetSite, kept: Kept) -> None:
    fleet.members["north"].wire.latency = 0.7
    others = [fleet.members["east"].plane, fleet.members["west"].plane]
    for each in kept.maps:
        patch(fleet.host, CONFIG_MAP, each, {"data": {"a": "fast"}})
    fleet.until(lambda: all(data(p, each) == "fast" for p in others for each in kept.maps), 20.0)
    north = fleet.members["north"].plane
    fleet.until(lambda: all(data(north, each) == "fast" for each in kept.maps))


def test_an_object_deleted_while_a_member_is_silent_is_removed_there_later(
    fleet: FleetSite,
) -> None:
    config_map(fleet, "late", "copies", a="b")
    fleet.until(lambda: len(uids(fleet, CONFIG_MAP, "late")) == 3)
    west = fleet.members["west"]
    west.pause()
    delete(fleet.host, CONFIG_MAP, "late")
    others = [fleet.members["east"].plane, fleet.members["north"].plane]
    fleet.until(lambda: all(shown(each, CONFIG_MAP, "late") is None for each in others))
    assert shown(fleet.host, CONFIG_MAP, "late") is not None
    restart_controllers(fleet)
    time.sleep(5.0)
    assert shown(fleet.host, CONFIG_MAP, "late") is not None
    west.resume()
    fleet.until(lambda: shown(west.plane, CONFIG_MAP, "late") is None)
    fleet.until(lambda: shown(fleet.host, CONFIG_MAP, "late") is None)


def test_controllers_killed_at_random_points_under_load_break_no_law(
    fleet: FleetSite, kept: Kept
) -> None:
    rng = random.Random(7)
    for turn in range(6):
        deployment(fleet, f"load-{turn}", 3, "equal")
        config_map(fleet, f"load-{turn}", "copies", a="b")
        patch(fleet.host, CONFIG_MAP, kept.maps[0], {"data": {"a": str(turn)}})
        fleet.always(kept.holds, rng.uniform(0.2, 3.0))
        restart_controllers(fleet)
    last = [f"load-{turn}" for turn in range(6)]
    fleet.until(lambda: all(fleet.running(each) == 3 for each in last))
    fleet.until(lambda: all(len(uids(fleet, CONFIG_MAP, each)) == 3 for each in last))
    assert kept.holds()
    for each in last:
        delete(fleet.host, DEPLOYMENT, each)
        delete(fleet.host, CONFIG_MAP, each)
    fleet.until(lambda: all(fleet.replicas(each) == {} for each in last))


@pytest.mark.parametrize("part", ["etcd", "kube-apiserver"])
def test_a_host_killed_under_load_breaks_no_law(fleet: FleetSite, kept: Kept, part: str) -> None:
    config_map(fleet, f"before-{part}", "copies", a="b")
    fleet.host[part].kill()
    fleet.always(kept.holds, 8.0)
    fleet.host[part].start()
    fleet.host.wait_ready()
    config_map(fleet, f"after-{part}", "copies", a="b")
    for each in (f"before-{part}", f"after-{part}"):
        fleet.until(lambda each=each: len(uids(fleet, CONFIG_MAP, each)) == 3)
        delete(fleet.host, CONFIG_MAP, each)
    assert kept.holds()


def test_a_member_killed_and_restarted_has_the_same_objects(fleet: FleetSite, kept: Kept) -> None:
    plane = fleet.members["east"].plane
    plane["kube-apiserver"].kill()
    patch(fleet.host, DEPLOYMENT, kept.name, {"metadata": {"annotations": {"note": "1"}}})
    fleet.until(lambda: is_offline(fleet, "east"))
    plane["kube-apiserver"].start()
    plane.wait_ready()
    fleet.until(lambda: fleet.is_ready("east"))
    fleet.always(kept.holds, 6.0)


def test_a_member_that_is_gone_for_good_leaves_and_the_others_go_on(
    fleet: FleetSite, kept: Kept
) -> None:
    west = fleet.members["west"]
    west.wire.is_down = True
    west.wire.cut()
    fleet.until(lambda: is_offline(fleet, "west"))
    delete(fleet.host, FEDERATED_CLUSTER.kind, "west")
    fleet.until(lambda: shown(fleet.host, FEDERATED_CLUSTER.kind, "west") is None)
    west_before = west.replicas(kept.name)
    config_map(fleet, "without-west", "copies", a="b")
    fleet.until(lambda: set(uids(fleet, CONFIG_MAP, "without-west")) == {"east", "north"})
    assert kept.identities() == kept.before
    assert west.replicas(kept.name) == west_before
    delete(fleet.host, CONFIG_MAP, "without-west")
    west.wire.heal()
    again(fleet, "west")


def again(site: FleetSite, name: str) -> None:
    """Join a member again that has left without an answer."""
    from stretto.api.wire.kinds import NAMESPACE
    from stretto.federation.objects.membership.kinds import SECRET

    delete_in(site.host, f"/api/v1/namespaces/kube-admiral-system/{SECRET.plural}/{name}")
    plane = site.members[name].plane
    delete(plane, NAMESPACE, "kube-admiral-system")
    site.until(lambda: shown(plane, NAMESPACE, "kube-admiral-system") is None)
    site.join(name)
    site.until(lambda: site.is_ready(name))


def delete_in(plane: ControlPlane, path: str) -> None:
    assert plane.send("DELETE", path).status == 200


def data(plane: ControlPlane, name: str) -> str:
    """The value of the key of a ConfigMap."""
    return str(((shown(plane, CONFIG_MAP, name) or {}).get("data") or {}).get("a", ""))


def restart_controllers(site: FleetSite) -> None:
    """Kill the controllers with SIGKILL and start them again."""
    for each in site.daemons:
        each.part.kill()
        each.part.start()
