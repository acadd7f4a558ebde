"""Evicts pods that do not run yet from over-committed nodes.

An API server accepts any binding: two leaders at the same moment, or another scheduler, may use the
same capacity twice. Usually the kubelet rejects the surplus. If no kubelet has done so for some
time, pods of this scheduler that no kubelet has accepted are evicted, lowest priority and youngest
first, and their controllers recreate them. Running pods and pods without a controller stay.
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
"""Number of checks before an eviction, so that a short over-commitment causes none."""


class _EvictableMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The owners of a pod."""

    #: Its owner references.
    owner_references: tuple[OwnerReference, ...] = ()


class _EvictableSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The scheduler of the pod."""

    #: Name of its scheduler.
    scheduler_name: str = ""


class _EvictableStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The status of the pod."""

    #: Phase; empty is pending.
    phase: str = ""
    #: Time at which a kubelet accepted it.
    start_time: str | None = None


class _EvictablePod(msgspec.Struct, frozen=True):
    """The fields that decide whether a pod may be evicted."""

    #: Metadata.
    metadata: _EvictableMeta = _EvictableMeta()
    #: The scheduler of the pod.
    spec: _EvictableSpec = _EvictableSpec()
    #: The status of the pod.
    status: _EvictableStatus = _EvictableStatus()


_DECODER: Final = msgspec.json.Decoder(_EvictablePod)


class OvercommitEviction:
    """Finds over-committed nodes and evicts pods from them."""

    def __init__(
        self, cluster: Cluster, store: Store, clock: Clock, lane_of: EvictionOrdersOf
    ) -> None:
        """It is inactive before ``run``.

        Args:
            cluster: the cluster.
            store: pods are read from it before their eviction.
            clock: gives the time of events.
            lane_of: returns the receiver of eviction orders.
        """
        #: Number of evicted pods (``requested``), and of checks without an evictable pod
        #: (``no_victims``).
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._store = store
        self._wall = clock.now
        self._lane_of = lane_of
        self._every, self._due = inf, inf
        #: Consecutive over-committed checks of each slot, with the name of its node.
        self._seen: dict[int, tuple[str, int]] = {}

    def run(self, after: float | None, now: float) -> None:
        """Evict after ``after`` seconds of over-commitment; infinity or ``None`` disables it."""
        self._every = inf if after is None else after / (LOOKS - 1)
        self._due = now + self._every

    def next_due(self) -> float:
        """Clock time of the next check; infinity if disabled."""
        return self._due

    def step(self, now: float) -> None:
        """Check if it is due, and evict from nodes that were over-committed long enough."""
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
                times = 0  # evicted pods need time to terminate, and new ones may arrive
            self._seen[slot] = (name, times)

    def _over(self) -> list[int]:
        """Over-committed slots, except those with evictions in progress."""
        ledger, registry = self._cluster.ledger, self._cluster.evictions
        over = np.flatnonzero((ledger.used > ledger.alloc).any(axis=1) & ledger.slots.live)
        return [s for s in over.tolist() if not (registry.on_slot(s) or registry.nominated_on(s))]

    def _evict_surplus(self, slot: int, now: float) -> None:
        """Evict the surplus pods of a node."""
        pods, node = self._cluster.pods, self._cluster.nodes.names[slot]
        chosen = self._chosen(slot)
        rows = tuple(chosen)
        order = EvictionOrder(
            rows=rows,
            serials=tuple(int(pods.serial[row]) for row in rows),
            cause=EvictionCause.OVER_COMMITTED,
            reason=f"node {node} is over-committed",
            beyond=frozenset(rows),  # disruption budgets protect running pods, as in Kubernetes
        )
        evicted = self._lane_of().order(order, now)
        self.counts["requested" if evicted else "no_victims"] += max(len(evicted), 1)
        self._write_events([chosen[row] for row in evicted], node)

    def _chosen(self, slot: int) -> dict[int, Record]:
        """Pods to evict from a node: rows with their records, no more than the surplus."""
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
        for row in list(reversed(chosen)):  # a later pod may suffice by itself
            given = amounts_of(self._cluster, [int(pods.class_id[row])])
            if not (excess + given > 0).any():
                excess = excess + given
                del chosen[row]
        return chosen

    def _candidates(self, slot: int) -> list[int]:
        """Rows of the pods bound there: lowest priority first, then the youngest."""
        pods = self._cluster.pods
        rows = [r for r in pods.on_slot(slot).tolist() if int(pods.state[r]) == PodState.BOUND]
        return sorted(rows, key=lambda r: (int(pods.priority[r]), -int(pods.serial[r])))

    def _is_evictable(self, row: int) -> Record | None:
        """The record of a row's pod if the pod is ours, not running and recreated elsewhere."""
        pods = self._cluster.pods
        record = self._store.get(POD, pods.namespace[row], pods.name[row])
        if record is None or record.uid != pods.uid[row]:
            return None
        pod = _DECODER.decode(record.body)
        begun = pod.status.phase not in ("", "Pending") or pod.status.start_time
        ours = pod.spec.scheduler_name in self._cluster.config.scheduler_names
        is_recreated = recreating_owner(pod.metadata.owner_references) is not None
        return record if ours and is_recreated and not begun else None

    def _write_events(self, records: list[Record], node: str) -> None:
        """Write an event on each evicted pod."""
        message = f"evicted from {node} before it started: the node is over-committed"
        component = min(self._cluster.config.scheduler_names)
        bodies = [overcommit_event(each, message, component, self._wall()) for each in records]
        if bodies:
            self._store.create(EVENT, bodies)
