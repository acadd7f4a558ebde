"""Evictions in flight: pods to evict, sent evictions, and the answers of the store.

Evictions within budgets and deletions beyond them share one bounded lane. An eviction on an API
server takes milliseconds, and a preemptor needs several. Therefore the plane continues while they
are in flight. *ok* and "already gone" acknowledge an eviction, *refused* denies it, and after
*unknown* the pod is read back before the eviction is sent again.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from stretto.api.wire.kinds import POD
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.evictions import PendingEviction
from stretto.stores.lane import Lane, LaneLimits
from stretto.stores.store import (
    Eviction,
    Reply,
    StatusReason,
    Store,
    Write,
    WriteOutcome,
    WriteVerb,
    is_temporary,
)

RETRY_AFTER: Final = 1.0
"""Seconds before an eviction without a final answer is sent again."""
LANE: Final = LaneLimits(window=512)
"""Maximum number of evictions in flight: many evictions must not delay binds."""


class EvictionRequest(NamedTuple):
    """A pod that must be evicted."""

    #: Row of the pod.
    row: int
    #: Reason of the eviction, with the serial of the pod.
    why: PendingEviction


class EvictionRequests:
    """Sends evictions and processes their answers."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        counts: Counter[str],
        denied: Callable[[int], None],
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        """Start with an empty queue.

        Args:
            cluster: the cluster of the pods.
            store: evicts them.
            counts: counts answers as ``requested``, ``unknown`` and ``refused``.
            denied: called with the row of a pod that may not be evicted.
            failpoint: called before a batch is sent and after one is answered.
        """
        self._cluster = cluster
        self._store = store
        self._counts = counts
        self._denied = denied
        self._failpoint = failpoint
        self._lane: Lane[int, EvictionRequest] = Lane(store, LANE)

    def add(self, row: int, why: PendingEviction) -> None:
        """Evict a pod with the next batch, or when ``why.retry_at`` is due."""
        self._lane.put(row, EvictionRequest(row, why), why.retry_at)

    def queued(self, row: int) -> PendingEviction | None:
        """The request of a row that is not sent, or waits for a retry; ``None`` otherwise."""
        request = self._lane.queued(row)
        return None if request is None else request.why

    def withdraw(self, row: int) -> None:
        """Do not send the request of a row (again)."""
        self._lane.withdraw(row)

    def next_due(self) -> float:
        """Clock time at which the next request may be sent; infinity if the lane is full."""
        if not self._lane.queue or self._lane.capacity <= 0:
            return float("inf")
        return self._lane.next_due()

    def send(self, now: float) -> bool:
        """Send due evictions and process answers; returns whether anything happened."""
        if not (self._lane.unanswered or self._lane.queue):
            return False
        moved = self._collect(now)
        due = self._due(now)
        if due:
            self._failpoint("evictor.before-write")
            # A denied eviction voids the claims that wait for it, and this withdraws further
            # evictions.
            self._send(due)
            self._collect(now)
        return moved or bool(due)

    def _due(self, now: float) -> list[EvictionRequest]:
        """Requests to send now, within the window.

        Requests that are no longer needed are dropped.
        """
        pods, lane = self._cluster.pods, self._lane
        due: list[EvictionRequest] = []
        settled: list[int] = []
        for row, request in lane.due(now):
            why = request.why
            if len(due) >= lane.capacity:
                break
            stale = why.acknowledged or pods.serial[row] != why.serial
            if stale or (why.in_doubt and self._is_answered(row, why)):
                settled.append(row)
            else:
                due.append(request)
        for row in settled:
            lane.withdraw(row)
        return due

    def _send(self, requests: Iterable[EvictionRequest]) -> None:
        pods, lane = self._cluster.pods, self._lane
        sent = list(requests)
        for request in sent:
            lane.withdraw(request.row)
        evictions = [
            Eviction(
                pods.namespace[row],
                pods.name[row],
                pods.uid[row],
                why.reason,
                starting=not pods.running[row],
                beyond_budget=why.beyond,
            )
            for row, why in sent
        ]
        if sent:
            lane.send(Write(WriteVerb.EVICT, POD, evictions), sent)

    def _collect(self, now: float) -> bool:
        """Process the answers that have arrived; returns whether there were any."""
        answers = [
            pair
            for batch in self._lane.answers()
            for pair in zip(batch.entries, batch.replies, strict=True)
        ]
        if answers:
            self._failpoint("evictor.after-write")
        for (row, why), reply in answers:
            if self._cluster.pods.serial[row] == why.serial:  # otherwise the pod is gone
                self._take(row, why, reply, now)
        return bool(answers)

    def _is_answered(self, row: int, why: PendingEviction) -> bool:
        """Return whether a pod whose eviction was not answered is gone or being deleted."""
        pods = self._cluster.pods
        record = self._store.get(POD, pods.namespace[row], pods.name[row])
        if record is None or record.uid != pods.uid[row] or record.deleting:
            why.acknowledged = True
            return True
        return False

    def _take(self, row: int, why: PendingEviction, reply: Reply, now: float) -> None:
        """Process one answer."""
        gone = reply.code is StatusReason.NOT_FOUND or reply.outcome is WriteOutcome.CONFLICT
        if reply.outcome is WriteOutcome.OK or gone:
            why.acknowledged = True
            self._counts["requested"] += 1
        elif is_temporary(reply):
            why.in_doubt = reply.outcome is WriteOutcome.UNKNOWN
            why.retry_at = now + (reply.retry_after or RETRY_AFTER)
            self._lane.put_back(row, EvictionRequest(row, why), why.retry_at)
            self._counts["unknown"] += 1
        else:
            self._counts["refused"] += 1
            self._denied(row)
