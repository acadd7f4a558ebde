"""A workload's writes, sent raw: what the API server takes when nobody has to decide.

It runs as a process of its own (``python -m stretto_lab.bench_kube.replay KUBECONFIG PLAN OUT``),
as a scheduler does, through the client that Stretto has. Binds, evictions, nominations and what
PodGroups are told go out side by side, each in its lane; they do not wait for one another as a
scheduler must, but for nominations: the server refuses those of pods that are bound.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.gates import WIDTH
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import Bind, Eviction, Patch, Replies, Store, WriteOutcome
from stretto_lab.bench_kube.shapes import MEASURED, RUNNING
from stretto_lab.bench_kube.watch import PodWatcher

T = TypeVar("T")
AT_ONCE: Final = 1024
"""Writes of a call: as many as a shard hands over in a plan."""
PATIENT: Final = KubeOptions(write_patience=60.0, read_patience=60.0, connect=10.0, answer=30.0)
"""A busy machine is waited for."""


class WritePlan(msgspec.Struct, frozen=True):
    """All writes of one workload."""

    #: Bindings, in the order in which they were seen.
    binds: list[Bind]
    #: Pods that had to leave.
    evictions: list[Eviction] = []
    #: Promises of a node.
    nominations: list[Patch] = []
    #: What PodGroups were told.
    statuses: list[Patch] = []

    def __len__(self) -> int:
        """How many writes there are in all."""
        binds, evictions = len(self.binds), len(self.evictions)
        return binds + evictions + len(self.nominations) + len(self.statuses)


class WriteResults(msgspec.Struct, frozen=True):
    """What the server made of it."""

    #: Bindings that were taken.
    bound: int
    #: Writes of any kind that were not taken.
    failed: int


def writes_of(seen: PodWatcher) -> WritePlan:
    """The writes that an onlooker has seen so far; pods have no uid yet."""
    order = sorted(seen.bound, key=seen.bound.__getitem__)
    binds = [Bind(MEASURED, name, "", seen.node_of[name]) for name in order]
    nominations = [
        Patch(MEASURED, bind.name, {"status": {"nominatedNodeName": bind.node}})
        for bind in binds
        if bind.name in seen.nominated
    ]
    evictions = [Eviction(RUNNING, name, "") for name, _ in seen.left]
    statuses = [Patch(MEASURED, name, {"status": status}) for name, status in seen.told]
    return WritePlan(binds, evictions, nominations, statuses)


def with_uids(plan: WritePlan, uids: Mapping[str, str]) -> WritePlan:
    """The same writes for the same pods of another cluster, where they have these uids."""
    know = msgspec.structs.replace
    binds = [know(bind, uid=uids[bind.name]) for bind in plan.binds if bind.name in uids]
    going = [know(each, uid=uids[each.name]) for each in plan.evictions if each.name in uids]
    return know(plan, binds=binds, evictions=going)


def replay(store: Store, plan: WritePlan) -> WriteResults:
    """Send everything and wait for every answer."""
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
    """Open the connections: writes to pods that do not exist, as many as each lane is wide."""
    names = [f"nobody-{number}" for number in range(max(WIDTH.values()))]
    change = {"status": {"nominatedNodeName": "nowhere"}}
    store.bind([Bind(MEASURED, name, "", "nowhere") for name in names])
    store.evict([Eviction(MEASURED, name, "") for name in names])
    store.patch_status(POD, [Patch(MEASURED, name, change) for name in names])


def _all(items: Sequence[T], send: Callable[[Sequence[T]], Replies]) -> int:
    """How many of the writes were taken."""
    taken = 0
    for start in range(0, len(items), AT_ONCE):
        replies = send(items[start : start + AT_ONCE])
        taken += sum(reply.outcome is WriteOutcome.OK for reply in replies)
    return taken


def main(words: Sequence[str]) -> int:
    """Replay a plan from a file and write to another how it went."""
    kubeconfig, source, target = map(Path, words)
    plan = msgspec.json.decode(source.read_bytes(), type=WritePlan)
    store = KubeStore(KubeconfigAccess(kubeconfig), Rng(0), PATIENT)
    try:
        warm_up(store)
        done = replay(store, plan)
    finally:
        store.close()
    target.write_bytes(msgspec.json.encode(done))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
