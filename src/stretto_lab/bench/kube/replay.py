"""Raw replay of the writes of a workload: the capacity of the API server without a scheduler.

It runs as a separate process (``python -m stretto_lab.bench.kube.replay KUBECONFIG PLAN OUT``),
like a scheduler, and uses the client of Stretto. Binds, evictions, nominations and PodGroup
statuses are sent in parallel, each in its lane. They are independent, except that nominations are
sent before binds, because the server rejects nominations of bound pods.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.rng import Rng
from stretto.sim.writes import batches
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.gates import WIDTH
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import Bind, Eviction, Patch, Replies, Store, WriteOutcome
from stretto_lab.bench.kube.shapes import MEASURED, RUNNING
from stretto_lab.bench.kube.watch import PodWatcher

T = TypeVar("T")
AT_ONCE: Final = 1024
"""Writes per call, equal to the batch of a shard."""
LONG_TIMEOUTS: Final = KubeOptions(write_timeout=60.0, read_timeout=60.0, connect=10.0, answer=30.0)
"""Long timeouts for busy machines."""


class WritePlan(msgspec.Struct, frozen=True):
    """All writes of one workload."""

    #: Binds, in the observed order.
    binds: list[Bind]
    #: Evicted pods.
    evictions: list[Eviction] = []
    #: Nominations.
    nominations: list[Patch] = []
    #: Statuses of PodGroups.
    statuses: list[Patch] = []

    def __len__(self) -> int:
        """Total number of writes."""
        binds, evictions = len(self.binds), len(self.evictions)
        return binds + evictions + len(self.nominations) + len(self.statuses)


class WriteResults(msgspec.Struct, frozen=True):
    """Results of the replay."""

    #: Accepted binds.
    bound: int
    #: Rejected writes of any kind.
    failed: int


def writes_of(seen: PodWatcher) -> WritePlan:
    """The writes observed so far; pods have no uid yet."""
    order = sorted(seen.bound, key=seen.bound.__getitem__)
    binds = [Bind(MEASURED, name, "", seen.node_of[name]) for name in order]
    nominations = [
        Patch(MEASURED, bind.name, {"status": {"nominatedNodeName": bind.node}})
        for bind in binds
        if bind.name in seen.nominated
    ]
    evictions = [Eviction(RUNNING, name, "") for name, _ in seen.evicted]
    statuses = [Patch(MEASURED, name, {"status": status}) for name, status in seen.statuses]
    return WritePlan(binds, evictions, nominations, statuses)


def with_uids(plan: WritePlan, uids: Mapping[str, str]) -> WritePlan:
    """The same writes with the pod uids of another cluster."""
    replace = msgspec.structs.replace
    binds = [replace(bind, uid=uids[bind.name]) for bind in plan.binds if bind.name in uids]
    evictions = [replace(each, uid=uids[each.name]) for each in plan.evictions if each.name in uids]
    return replace(plan, binds=binds, evictions=evictions)


def replay(store: Store, plan: WritePlan) -> WriteResults:
    """Send all writes and wait for all replies."""
    with ThreadPoolExecutor(2) as threads:
        rest = [
            threads.submit(_all, plan.evictions, store.evict),
            threads.submit(_all, plan.statuses, lambda some: store.patch_status(POD_GROUP, some)),
        ]
        nominated = _all(plan.nominations, lambda some: store.patch_status(POD, some))
        bound = _all(plan.binds, store.bind)
        sent = nominated + sum(each.result() for each in rest)
    return WriteResults(bound, len(plan) - bound - sent)


def warm_up(store: Store) -> None:
    """Open the connections with writes to missing pods, one for each connection of a lane."""
    names = [f"missing-{number}" for number in range(max(WIDTH.values()))]
    change = {"status": {"nominatedNodeName": "missing"}}
    store.bind([Bind(MEASURED, name, "", "missing") for name in names])
    store.evict([Eviction(MEASURED, name, "") for name in names])
    store.patch_status(POD, [Patch(MEASURED, name, change) for name in names])


def _all(items: Sequence[T], send: Callable[[Sequence[T]], Replies]) -> int:
    """Number of accepted writes."""
    accepted = 0
    for part in batches(items, AT_ONCE):
        replies = send(part)
        accepted += sum(reply.outcome is WriteOutcome.OK for reply in replies)
    return accepted


def main(words: Sequence[str]) -> int:
    """Replay the plan of a file and write the results to another."""
    kubeconfig, source, target = map(Path, words)
    plan = msgspec.json.decode(source.read_bytes(), type=WritePlan)
    store = KubeStore(KubeconfigAccess(kubeconfig), Rng(0), LONG_TIMEOUTS)
    try:
        warm_up(store)
        done = replay(store, plan)
    finally:
        store.close()
    target.write_bytes(msgspec.json.encode(done))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
