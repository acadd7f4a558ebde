"""Evicts pods that do not run yet from over-committed nodes.

An API server accepts any binding: two leaders at the same moment, or another scheduler, may use the
same capacity twice. Usually the kubelet rejects the surplus. If no kubelet has done so for some
time, pods of this scheduler that no kubelet has accepted are evicted, and their controllers
recreate them. Running pods and pods without a controller stay. The lowest priority is evicted
first, then the youngest pod. A pod whose queue's guarantee would let it evict one of the staying
pods is evicted last. Otherwise it could return and evict that pod.
"""

from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import EVENT
from stretto.base.clock import Clock
from stretto.control.controllers.evictions import EvictionOrdersOf
from stretto.control.controllers.unstarted import unstarted_pod
from stretto.control.reporting.wording import overcommit_event
from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import amounts_of
from stretto.state.queues.guarantees import GuaranteeBalance
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.stores.store import Record, Store

LOOKS: Final = 3
"""Number of checks before an eviction, so that a short over-commitment causes none."""


class OvercommitEviction:
    """Finds over-committed nodes and evicts pods from them."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        clock: Clock,
        lane_of: EvictionOrdersOf,
        usage_of: Callable[[], QueueUsage | None] = lambda: None,
    ) -> None:
        """Create an inactive controller; ``run`` activates it.

        Args:
            cluster: the cluster.
            store: pods are read from it before their eviction.
            clock: gives the time of events.
            lane_of: returns the receiver of eviction orders.
            usage_of: returns the usage of queues; ``None`` if no queue has a guarantee.
        """
        #: Number of evicted pods (``requested``), and of checks without an evictable pod
        #: (``no_victims``).
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._store = store
        self._wall = clock.now
        self._lane_of = lane_of
        self._usage_of = usage_of
        self._guarantees_first = True
        self._every, self._due = inf, inf
        #: Number of consecutive over-committed checks of each slot, with the name of its node.
        self._seen: dict[int, tuple[str, int]] = {}

    def run(self, after: float | None, now: float, *, guarantees_first: bool = True) -> None:
        """Evict after ``after`` seconds of over-commitment; infinity or ``None`` disables it.

        With ``guarantees_first``, a guarantee precedes the priority of pods of other queues.
        """
        self._guarantees_first = guarantees_first
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
        cluster, ledger = self._cluster, self._cluster.ledger
        over = np.flatnonzero((ledger.used > ledger.alloc).any(axis=1) & ledger.slots.live)
        return [
            slot
            for slot in over.tolist()
            if not (cluster.evictions.on_slot(slot) or cluster.nominations.on_slot(slot))
            and (self._excess(slot) > 0).any()
        ]

    def _excess(self, slot: int) -> npt.NDArray[np.int64]:
        """int64[resource]: requests of the pods of a node above its allocatable amounts.

        Reserved and offered capacity does not count: no pod uses it yet. On a node with an
        overcommit ratio, the cap counts instead of the ratio, because a smaller ratio revokes no
        admission.
        """
        ledger, places = self._cluster.ledger, self._cluster.reservations.places.values()
        reserved = [place.pod.id for place in places if place.slot == slot]
        allowed = ledger.alloc[slot].copy()
        for column, most in ledger.promises.cap(slot).items():
            allowed[column] = max(most, int(allowed[column]))
        excess: npt.NDArray[np.int64] = ledger.used[slot] - allowed
        excess -= amounts_of(self._cluster, reserved)
        for column, amount in self._cluster.offers.charged(slot).items():
            excess[column] -= amount
        return excess

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
        pods, excess = self._cluster.pods, self._excess(slot)
        waiting = self._candidates(slot)
        usage = self._usage_of()
        leaving = self._cluster.evictions.in_progress
        balance = None if usage is None else GuaranteeBalance(usage, leaving)
        chosen: dict[int, Record] = {}
        while waiting and (excess > 0).any():
            row = self._next(waiting, balance)
            waiting.remove(row)
            given = amounts_of(self._cluster, [int(pods.class_id[row])])
            helps = (given[excess > 0] > 0).any()
            record = unstarted_pod(self._store, self._cluster, row) if helps else None
            if record is not None:
                chosen[row] = record
                excess = excess - given
                if balance is not None:
                    balance.leave([row])
        for row in list(reversed(chosen)):  # a later pod may suffice alone
            given = amounts_of(self._cluster, [int(pods.class_id[row])])
            if not (excess + given > 0).any():
                excess = excess + given
                del chosen[row]
        return chosen

    def _next(self, rows: list[int], balance: GuaranteeBalance | None) -> int:
        """First of some pods whose queue's guarantee lets it evict none of the others."""
        if balance is None:
            return rows[0]
        priority = self._cluster.pods.priority
        for row in rows:
            others = (
                other
                for other in rows
                if other != row and (self._guarantees_first or priority[other] <= priority[row])
            )
            if not balance.reclaimable_by(row, others):
                return row
        return rows[0]

    def _candidates(self, slot: int) -> list[int]:
        """Rows of the pods bound there: lowest priority first, then the youngest."""
        pods = self._cluster.pods
        rows = [r for r in pods.on_slot(slot).tolist() if int(pods.state[r]) == PodState.BOUND]
        return sorted(rows, key=lambda r: (int(pods.priority[r]), -int(pods.serial[r])))

    def _write_events(self, records: list[Record], node: str) -> None:
        """Write an event on each evicted pod."""
        message = f"evicted from {node} before it started: the node is over-committed"
        component = min(self._cluster.config.scheduler_names)
        bodies = [overcommit_event(each, message, component, self._wall()) for each in records]
        if bodies:
            self._store.create(EVENT, bodies)
