"""Replicas of a member that no node takes, with and without a pod."""

from typing import Any

import msgspec

from stretto.api.types.federation.objects import PathDefinition
from stretto.api.wire.kinds import DEPLOYMENT, POD, REPLICA_SET, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation.objects.members.pods import ClusterPods, PodLook, count
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.embedded.memory import MemoryStore

NOW = 1_000_000.0
PATHS = PathDefinition(replicas_spec="spec.replicas", ready_replicas_status="status.readyReplicas")
WAITS = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


class MemberWorld:
    """A Deployment in one member, whose ReplicaSet has fewer pods than replicas."""

    def __init__(self, replicas: int) -> None:
        self.clock = ManualClock(NOW)
        self.store = MemoryStore(self.clock, Rng(1))
        self.create(DEPLOYMENT, "web", "", spec={"replicas": replicas})
        self.owner = self.create(REPLICA_SET, "web-1", self.uid(), spec={"replicas": replicas})

    def uid(self) -> str:
        record = self.store.get(DEPLOYMENT, "default", "web")
        assert record is not None
        return record.uid

    def create(self, kind: Kind, name: str, owner: str, **fields: Any) -> str:
        references = [{"kind": "any", "name": "any", "uid": owner, "controller": True}]
        metadata = {"name": name, "ownerReferences": references if owner else []}
        body = msgspec.json.encode({"metadata": metadata, **fields})
        record = self.store.create(kind, [body])[0].record
        assert record is not None
        return record.uid

    def pods(self, number: int, *conditions: dict[str, str]) -> None:
        for _ in range(number):
            name = f"p{len(self.store.list(POD).records)}"
            self.create(POD, name, self.owner, spec={}, status={"conditions": conditions})

    def count(self, after: float) -> ClusterPods:
        """The replicas ``after`` seconds, where a pod counts once it has waited for a minute."""
        cache: StoreCache = ReconcileLoop(self.clock).add_store("alpha", self.store)
        record = self.store.get(DEPLOYMENT, "default", "web")
        assert record is not None
        return count(PATHS, cache, StoredObject(record), PodLook("1m", NOW + after))


def test_replicas_without_a_pod_wait_like_the_pods_that_no_node_takes() -> None:
    world = MemberWorld(replicas=3000)
    world.pods(4)
    world.pods(10, WAITS)
    assert world.count(after=60) == ClusterPods(scheduled=4, capacity=4)


def test_replicas_without_a_pod_may_still_start_before_a_pod_has_waited_long_enough() -> None:
    world = MemberWorld(replicas=3000)
    world.pods(10, WAITS)
    assert world.count(after=20) == ClusterPods(scheduled=0, capacity=None, next_look=40)


def test_a_replica_set_that_rolls_out_lacks_only_its_own_replicas() -> None:
    world = MemberWorld(replicas=3)
    world.clock.advance(10)
    world.owner = world.create(REPLICA_SET, "web-2", world.uid(), spec={"replicas": 2})
    world.pods(2, WAITS)
    assert world.count(after=80) == ClusterPods(scheduled=0, capacity=1)
