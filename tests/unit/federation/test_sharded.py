"""Shards of a federation: each reads its part, and the rest of what it needs from small reports."""

from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import (
    CLUSTER_FEDERATED_OBJECT,
    CLUSTER_PROPAGATION_POLICY,
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
)
from stretto.api.wire.kinds import DEPLOYMENT, LEASE, NAMESPACE, POD, Kind
from stretto.federation import names
from stretto.federation.controllers.exchange.former import delete_former_reports
from stretto.federation.objects.exchange import ShardReport, read_report, report_name, report_notes
from stretto.federation.settings import FederationSettings
from stretto.federation.shares import ControllerShare
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.parts import FleetParts
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from tests.support.federation_world import REPLICAS, FederationWorld, Fields

TWENTY = [f"team-{number}" for number in range(20)]
SPACES = TWENTY[:8]
"""Few namespaces of which each of four shards has some."""
SETTINGS = FederationSettings(leave_timeout=120.0)


class ShardedWorld(FederationWorld):
    """A federation of several processes, with one Deployment in each namespace."""

    def __init__(self, shards: int = 4, spaces: list[str] = SPACES) -> None:
        super().__init__(SETTINGS, FleetParts(shards=shards))
        self.shards = shards
        self.spaces = spaces
        for space in spaces:
            self.create(NAMESPACE, space)
        anywhere = [{"cluster": each} for each in self.fleet.members]
        spec = {"schedulingMode": "Divide", "placement": anywhere}
        self.create(CLUSTER_PROPAGATION_POLICY.kind, "fleet", spec=spec)
        self.run()

    def deploy(self, spaces: list[str], replicas: int = 3, cpu: str = "100m") -> None:
        container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": cpu}}}
        selector, labels = {"matchLabels": {"app": "web"}}, {"labels": {"app": "web"}}
        template = {"metadata": labels, "spec": {"containers": [container]}}
        spec = {"replicas": replicas, "selector": selector, "template": template}
        for space in spaces:
            policy = {names.CLUSTER_POLICY: "fleet"}
            self.create(
                DEPLOYMENT, "web", metadata={"namespace": space, "labels": policy}, spec=spec
            )

    def read(self, shard: int) -> set[str]:
        """Namespaces of the federated objects that a shard has in memory."""
        host = self.fleet.federations[shard].fleet.host
        return {each.record.namespace for each in host.follow(FEDERATED_OBJECT.kind)}

    def replicas(self, space: str) -> dict[str, int]:
        found = {}
        for name, member in self.fleet.members.items():
            record = member.store.get(DEPLOYMENT, space, "web")
            if record is not None:
                found[name] = msgspec.json.decode(render(record))["spec"]["replicas"]
        return found

    def planned(self) -> dict[str, int]:
        """Replicas of all Deployments, by cluster."""
        found: dict[str, int] = dict.fromkeys(self.fleet.members, 0)
        for space in self.spaces:
            for cluster, count in self.replicas(space).items():
                found[cluster] += count
        return found

    def waits(self, space: str) -> bool:
        """True if replicas wait for capacity."""
        record = self.host.get(FEDERATED_OBJECT.kind, space, "web-deployments.apps")
        return record is not None and names.WAITING.encode() in render(record)

    def leave(self, cluster: str) -> None:
        note = {"metadata": {"annotations": {names.CASCADE: "true"}}}
        self.host.patch(FEDERATED_CLUSTER.kind, [Patch("", cluster, note)])
        self.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", cluster)])

    def owner(self, cluster: str) -> int:
        shares = [ControllerShare(shard=each, shards=self.shards) for each in range(self.shards)]
        return next(each.shard for each in shares if each.owns(cluster))

    def managed(self, cluster: str) -> list[str]:
        """Namespaces with a Deployment in a member."""
        return [x.namespace for x in self.fleet.members[cluster].store.list(DEPLOYMENT).records]

    def joined(self, cluster: str) -> str:
        """Message of the condition Joined; empty for a cluster that has left."""
        record = self.host.get(FEDERATED_CLUSTER.kind, "", cluster)
        if record is None:
            return ""
        shown: dict[str, Any] = msgspec.json.decode(render(record))
        return next(x["message"] for x in shown["status"]["conditions"] if x["type"] == "Joined")


def other(shards: int, than: int) -> int:
    return next(each for each in range(shards) if each != than)


def test_each_federated_object_is_in_memory_in_one_shard() -> None:
    world = ShardedWorld()
    world.deploy(SPACES)
    world.run()
    parts = [world.read(shard) for shard in range(4)]
    assert all(parts)
    assert sorted(space for part in parts for space in part) == sorted(SPACES)


def test_each_workload_is_placed_and_written_by_its_shard() -> None:
    world = ShardedWorld()
    world.deploy(SPACES)
    world.run()
    assert {sum(world.replicas(space).values()) for space in SPACES} == {3}


def test_the_objects_of_members_are_divided_as_well() -> None:
    world = ShardedWorld()
    world.deploy(SPACES)
    world.run()
    read = [each.fleet.member("alpha") for each in world.fleet.federations]
    counts = [len(member.follow(DEPLOYMENT)) for member in read if member is not None]
    assert (max(counts) < len(SPACES), sum(counts)) == (True, len(world.managed("alpha")))


def test_one_shard_reads_all_pods_of_a_cluster_because_it_reports_their_sum() -> None:
    world = ShardedWorld()
    world.deploy(SPACES)
    world.run()
    pods = len(world.fleet.members["alpha"].store.list(POD).records)
    read = [each.fleet.member("alpha") for each in world.fleet.federations]
    counts = [len(member.follow(POD)) for member in read if member is not None]
    assert [each for each, count in enumerate(counts) if count == pods] == [world.owner("alpha")]


@pytest.mark.parametrize("shards", [1, 2, 3, 4])
def test_twenty_simultaneous_workloads_do_not_overfill_a_cluster(shards: int) -> None:
    world = ShardedWorld(shards, TWENTY)
    world.deploy(TWENTY, replicas=1, cpu="1100m")
    world.run()
    placed = world.planned()
    assert (max(placed.values()), sum(placed.values())) == (7, 20)


def test_a_shard_reports_what_it_has_promised_until_the_cluster_includes_it() -> None:
    world = ShardedWorld(2)
    world.deploy(SPACES, replicas=1)
    world.run(1.0)
    first = [reported(world, shard).promised for shard in range(2)]
    assert all(first)
    world.run(120.0)
    assert [reported(world, shard).promised for shard in range(2)] == [{}, {}]


POOL = Kind("example.com", "v1", "Pool", "pools", namespaced=False)


def placed_pool(cluster: str, count: int) -> Fields:
    """Specification of a federated Pool, placed in a cluster."""
    requests = {"requests": {"cpu": "100m"}}
    pod = {"containers": [{"name": "main", "image": "a", "resources": requests}]}
    kind = {"apiVersion": "example.com/v1", "kind": "Pool", "metadata": {"name": "web"}}
    template = {**kind, "spec": {"replicas": count, "template": {"spec": pod}}}
    place = {"controller": names.SCHEDULER, "placement": [{"cluster": cluster}]}
    patch = {"cluster": cluster, "patches": [{"path": "/spec/replicas", "value": count}]}
    counts = {"controller": names.SCHEDULER, "clusters": [patch]}
    return {"template": template, "placements": [place], "overrides": [counts]}


def test_the_promise_of_a_cluster_scoped_object_counts_once() -> None:
    world = ShardedWorld(2)
    world.type("pools.example.com", POOL, [[names.SCHEDULER]], REPLICAS)
    labels = {"labels": {names.CLUSTER_POLICY: "fleet"}}
    spec = placed_pool("alpha", 3)
    world.create(CLUSTER_FEDERATED_OBJECT.kind, "web-pools", metadata=labels, spec=spec)
    world.fleet.divide(2)
    world.run(30.0)
    used = [reported(world, shard).used.get("default", {}) for shard in range(2)]
    assert sorted(each.get("cpu", 0) for each in used) == [0, 300]


def reported(world: ShardedWorld, shard: int) -> Any:
    name = report_name("all", shard, world.shards)
    record = world.host.get(LEASE, names.SYSTEM_NAMESPACE, name)
    assert record is not None
    return read_report(StoredObject(record))


def report(world: ShardedWorld, shard: int, **fields: Any) -> None:
    """Write the report of a shard that does not run."""
    change = {"metadata": {"annotations": report_notes(ShardReport(**fields))}}
    place = names.SYSTEM_NAMESPACE, report_name("all", shard, world.shards)
    world.host.patch(LEASE, [Patch(*place, change)])
    world.run(1.0)


def test_the_promises_of_a_shard_that_has_stopped_still_count() -> None:
    world = ShardedWorld(2)
    world.fleet.stop_shard(1)
    report(world, 1, promised={"alpha": {"cpu": 8000}, "beta": {"cpu": 8000}})
    world.deploy(SPACES, replicas=1)
    world.run()
    placed = world.planned()
    assert (placed["alpha"], placed["beta"], placed["gamma"] > 0) == (0, 0, True)


def test_a_workload_waits_until_the_promises_of_another_shard_end() -> None:
    world = ShardedWorld(2)
    world.fleet.stop_shard(1)
    report(world, 1, promised={each: {"cpu": 8000} for each in world.fleet.members})
    world.deploy(SPACES, replicas=1, cpu="1")
    world.run()
    waiting = [world.waits(space) for space in SPACES]
    report(world, 1)
    world.run()
    assert (any(waiting), any(world.waits(space) for space in SPACES)) == (True, False)


def test_a_decision_waits_for_a_cluster_that_another_shard_has_read() -> None:
    world = ShardedWorld(2)
    world.fleet.stop_shard(1)
    report(world, 1, clusters_at=1 << 40)
    world.deploy(SPACES)
    world.run(10.0)
    assert not any(world.replicas(space) for space in SPACES)
    report(world, 1)
    world.run()
    assert any(world.replicas(space) for space in SPACES)


def test_a_decision_waits_for_a_limited_time_for_a_status_that_never_arrives() -> None:
    world = ShardedWorld(2)
    world.fleet.stop_shard(1)
    world.deploy(SPACES)
    for _ in range(5):
        report(world, 1, clusters_at=1 << 40)
        world.run(SETTINGS.report_wait / 4)
    agreement = world.fleet.federations[0].agreement
    assert any(world.replicas(space) for space in SPACES)
    assert "another shard has read a later status of a cluster" in agreement.trouble
    report(world, 1)
    assert agreement.trouble == ""


def test_the_promises_of_a_shard_with_a_later_status_count_after_the_wait() -> None:
    world = ShardedWorld(2)
    world.fleet.stop_shard(1)
    report(world, 1, promised={"alpha": {"cpu": 8000}, "beta": {"cpu": 8000}})
    world.deploy(SPACES, replicas=1)
    for _ in range(5):
        report(world, 1, clusters_at=1 << 40)
        world.run(SETTINGS.report_wait / 4)
    placed = world.planned()
    assert (placed["alpha"], placed["beta"], placed["gamma"] > 0) == (0, 0, True)


def test_a_leaving_cluster_loses_the_objects_of_every_shard() -> None:
    world = ShardedWorld()
    world.deploy(SPACES)
    world.run(60.0)
    assert world.managed("alpha")
    world.leave("alpha")
    world.run(60.0)
    assert (world.managed("alpha"), world.joined("alpha")) == ([], "")


def test_a_leaving_cluster_waits_for_a_shard_that_does_not_run() -> None:
    world = ShardedWorld()
    world.deploy(SPACES)
    world.run(60.0)
    stopped = other(4, world.owner("alpha"))
    theirs = world.read(stopped)
    world.fleet.stop_shard(stopped)
    world.leave("alpha")
    world.run(600.0)
    assert theirs & set(world.managed("alpha")) == theirs
    assert f"shard {stopped} of 4 does not report: start it" in world.joined("alpha")
    world.fleet.start_shard(stopped)
    world.run(90.0)
    assert (world.managed("alpha"), world.joined("alpha")) == ([], "")


def test_a_report_from_before_the_deletion_does_not_release_a_cluster() -> None:
    world = ShardedWorld(2)
    world.deploy(SPACES)
    world.run(60.0)
    world.fleet.stop_shard(other(2, world.owner("alpha")))
    world.leave("alpha")
    world.run(30.0)
    assert world.joined("alpha")


def test_another_number_of_shards_keeps_every_object_and_placement() -> None:
    world = ShardedWorld(2)
    world.deploy(SPACES)
    world.run(60.0)
    before = [world.replicas(space) for space in SPACES]
    for shards in (3, 1, 4):
        world.fleet.divide(shards)
        world.run(60.0)
        assert [world.replicas(space) for space in SPACES] == before


@pytest.mark.parametrize("shards", [1, 3])
def test_the_reports_of_a_former_number_are_deleted_by_shard_0(shards: int) -> None:
    world = ShardedWorld(2)
    world.run(30.0)
    world.fleet.divide(shards)
    world.run(30.0)
    shares = [ControllerShare(shard=each, shards=shards) for each in range(shards)]
    for share in reversed(shares):
        assert len(reports(world)) == 2 + (shards if shards > 1 else 0)
        assert delete_former_reports(world.host, names.SYSTEM_NAMESPACE, share) == ""
    assert reports(world) == {report_name("all", x, shards) for x in range(shards) if shards > 1}


def reports(world: ShardedWorld) -> set[str]:
    """Names of all reports."""
    return {each.name for each in world.host.list(LEASE).records}


def test_a_shard_that_another_process_takes_over_keeps_its_objects() -> None:
    world = ShardedWorld(2)
    world.deploy(SPACES)
    world.run(60.0)
    before = [world.replicas(space) for space in SPACES]
    versions = [each.store.version for each in world.fleet.members.values()]
    world.fleet.start_shard(1)
    world.run(60.0)
    assert [world.replicas(space) for space in SPACES] == before
    assert [each.store.version for each in world.fleet.members.values()] == versions


def test_a_new_workload_waits_for_the_first_report_of_every_shard_for_a_while() -> None:
    world = ShardedWorld(2)
    world.fleet.stop()
    world.host.delete(LEASE, [Deletion(names.SYSTEM_NAMESPACE, report_name("all", 1, 2))])
    world.fleet.start_shard(0)
    world.deploy(SPACES)
    world.run(20.0)
    assert not any(world.replicas(space) for space in SPACES)
    world.run(20.0)
    assert any(world.replicas(space) for space in SPACES)
