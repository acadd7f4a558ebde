"""Nodes that give more than they have are relieved of pods that do not run yet.

An API server takes any binding: two leaders in the same moment, or another scheduler beside this
one, may fill the same gap twice. A kubelet turns away what is too much; where none has done so for
a while (it is slow, or new, or there is none) pods of ours that nobody has started are asked to
leave, least important and youngest first, and their controllers make others. What runs stays, and
so do pods that nobody would make again.
"""

from collections import Counter
from math import inf
from typing import Final

import msgspec
import numpy as np

from stretto.api.wire.kinds import EVENT, POD
from stretto.api.wire.meta import OwnerReference
from stretto.base.clock import Clock
from stretto.control.controllers.evictions import EvictionOrdersOf
from stretto.control.controllers.owners import recreating_owner
from stretto.control.reporting.wording import overcommit_event
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import amounts_of
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.stores.store import Record, Store

LOOKS: Final = 3
"""Looks at a node before it is relieved: what is over only for a moment is not seen so often."""


class _EvictableMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Whose pod it is."""

    #: Its owners.
    owner_references: tuple[OwnerReference, ...] = ()


class _EvictableSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Who places it."""

    #: Name of its scheduler.
    scheduler_name: str = ""


class _EvictableStatus(msgspec.Struct, frozen=True, rename="camel"):
    """How far it has come."""

    #: Phase; empty is pending.
    phase: str = ""
    #: When a kubelet took it in.
    start_time: str | None = None


class _EvictablePod(msgspec.Struct, frozen=True):
    """What decides whether a pod may be asked to leave."""

    #: Whose it is.
    metadata: _EvictableMeta = _EvictableMeta()
    #: Who places it.
    spec: _EvictableSpec = _EvictableSpec()
    #: How far it has come.
    status: _EvictableStatus = _EvictableStatus()


_DECODER: Final = msgspec.json.Decoder(_EvictablePod)


class OvercommitEviction:
    """Finds nodes that give more than they have, and has pods leave them."""

    def __init__(
        self, cluster: Cluster, store: Store, clock: Clock, lane_of: EvictionOrdersOf
    ) -> None:
        """It does nothing before ``run``.

        Args:
            cluster: the cluster.
            store: where pods are looked at before they are asked.
            clock: tells the time of events.
            lane_of: gives where pods are asked to leave.
        """
        #: Pods asked so far, and nodes on which nobody could be asked: ``asked``, ``helpless``.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._store = store
        self._wall = clock.now
        self._lane_of = lane_of
        self._every, self._due = inf, inf
        #: How often in a row each slot was seen over, with the name of its node.
        self._seen: dict[int, tuple[str, int]] = {}

    def run(self, after: float | None, now: float) -> None:
        """Relieve nodes that are over for so many seconds; infinity or ``None`` for never."""
        self._every = inf if after is None else after / (LOOKS - 1)
        self._due = now + self._every

    def next_due(self) -> float:
        """Clock time of the next look; infinity where there is none."""
        return self._due

    def step(self, now: float) -> None:
        """Look, if it is time to, and relieve what has been over for long enough."""
        if now < self._due:
            return
        self._due = now + self._every
        seen, self._seen = self._seen, {}
        for slot in self._over():
            name = self._cluster.nodes.names[slot]
            before, times = seen.get(slot, (name, 0))
            times = times + 1 if before == name else 1
            if times >= LOOKS:
                self._evict_surplus(slot, now)
                times = 0  # pods that were asked need time to go, and others may come
            self._seen[slot] = (name, times)

    def _over(self) -> list[int]:
        """Slots that give more than they have; those that somebody leaves anyway are let be."""
        ledger, registry = self._cluster.ledger, self._cluster.evictions
        over = np.flatnonzero((ledger.used > ledger.alloc).any(axis=1) & ledger.slots.live)
        return [s for s in over.tolist() if not (registry.on_slot(s) or registry.nominated_on(s))]

    def _evict_surplus(self, slot: int, now: float) -> None:
        """Ask as many pods of a node to leave as are too much."""
        pods, node = self._cluster.pods, self._cluster.nodes.names[slot]
        chosen = self._chosen(slot)
        rows = tuple(chosen)
        order = EvictionOrder(
            rows=rows,
            serials=tuple(int(pods.serial[row]) for row in rows),
            cause=EvictionCause.RELIEF,
            reason=f"node {node} gives more than it has",
            beyond=frozenset(rows),  # budgets keep what runs, as in Kubernetes
        )
        asked = self._lane_of().order(order, now)
        self.counts["asked" if asked else "helpless"] += max(len(asked), 1)
        self._tell([chosen[row] for row in asked], node)

    def _chosen(self, slot: int) -> dict[int, Record]:
        """Who is to leave a node: rows with their records, no more of them than are too much."""
        pods, ledger = self._cluster.pods, self._cluster.ledger
        excess = ledger.used[slot] - ledger.alloc[slot]
        chosen: dict[int, Record] = {}
        for row in self._candidates(slot):
            given = amounts_of(self._cluster, [int(pods.class_id[row])])
            if (given[excess > 0] > 0).any() and (record := self._is_evictable(row)) is not None:
                chosen[row] = record
                excess = excess - given
            if not (excess > 0).any():
                break
        for row in list(reversed(chosen)):  # a later one may be enough by itself
            given = amounts_of(self._cluster, [int(pods.class_id[row])])
            if not (excess + given > 0).any():
                excess = excess + given
                del chosen[row]
        return chosen

    def _candidates(self, slot: int) -> list[int]:
        """Rows of the pods that are bound there: least important first, then the youngest."""
        pods = self._cluster.pods
        rows = [r for r in pods.on_slot(slot).tolist() if int(pods.state[r]) == PodState.BOUND]
        return sorted(rows, key=lambda r: (int(pods.priority[r]), -int(pods.serial[r])))

    def _is_evictable(self, row: int) -> Record | None:
        """The pod of a row if it is ours, does not run, and would be made again elsewhere."""
        pods = self._cluster.pods
        record = self._store.get(POD, pods.namespace[row], pods.name[row])
        if record is None or record.uid != pods.uid[row]:
            return None
        pod = _DECODER.decode(record.body)
        begun = pod.status.phase not in ("", "Pending") or pod.status.start_time
        ours = pod.spec.scheduler_name in self._cluster.config.scheduler_names
        is_recreated = recreating_owner(pod.metadata.owner_references) is not None
        return record if ours and is_recreated and not begun else None

    def _tell(self, records: list[Record], node: str) -> None:
        """An event on each pod that was asked to leave."""
        message = f"asked to leave {node} before it ran: the node gives more than it has"
        component = min(self._cluster.config.scheduler_names)
        bodies = [overcommit_event(each, message, component, self._wall()) for each in records]
        if bodies:
            self._store.create(EVENT, bodies)
