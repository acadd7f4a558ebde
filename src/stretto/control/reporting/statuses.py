"""Statuses of Queues and PodGroups.

Once per second the statuses are computed and compared with the last written ones. Changes are
written in a bounded batch; final states of groups come first. No component waits for the answers: a
later call processes them. A status that does not fit into a batch, or fails, is written with a
later one.
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock, timestamp
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.reporting.group_status import GroupStatuses, is_passing
from stretto.control.reporting.queue_status import WrittenStatuses, queue_patches
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.units import Units
from stretto.stores.lane import NEVER, Lane, LaneLimits
from stretto.stores.store import StatusReason, Store, Write, WriteOutcome, WriteVerb

EVERY: Final = 1.0
"""Seconds between two batches: statuses are for people and slow controllers."""
AT_ONCE: Final = 256
"""Maximum number of patches of one batch."""
LANE: Final = LaneLimits(window=AT_ONCE)
"""One round of patches in flight: the next is computed after all are answered."""
LONGEST_PAUSE: Final = 60.0
"""Maximum seconds between attempts at a status that is refused repeatedly; the first wait is one
second.

A namespace may be deleted before its groups, or a webhook may refuse the status.
"""
_FOR_GOOD: Final = frozenset({StatusReason.NOT_FOUND, StatusReason.INVALID, StatusReason.FORBIDDEN})
"""Refusals that depend on the content and not on the time."""


class _StatusWrite(NamedTuple):
    """A status write in flight."""

    #: Kind of the object.
    kind: Kind
    #: Uid of the object.
    uid: str
    #: The status, for later comparisons.
    content: dict[str, Any]


class StatusWriter:
    """Writes the statuses of Queues and PodGroups."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        dispatcher: Dispatcher,
        store: Store,
        unanswered_rows: Callable[[], AbstractSet[int]] = frozenset,
    ) -> None:
        """Start with no status written.

        ``unanswered_rows`` gives the rows of claims whose binds have no answer yet; the statuses of
        their groups wait.
        """
        #: Answers by kind and outcome.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._dispatcher = dispatcher
        self._unanswered_rows = unanswered_rows
        #: Last written status, by uid.
        self._reported: WrittenStatuses = {}
        #: Refused statuses by uid: clock time of the next attempt, and the delay in seconds.
        self._refused: dict[str, tuple[float, float]] = {}
        self._lane: Lane[str, _StatusWrite] = Lane(store, LANE)
        self._groups = GroupStatuses(cluster, units, dispatcher, store, self._reported)
        self._next = float("-inf")
        self._more = False

    def next_due(self) -> float:
        """Clock time of the next batch; infinity if there is nothing to write."""
        return self._next if self._more and not self._lane.unanswered else float("inf")

    def report(self, now: float, clock: Clock, *, at_once: bool = False) -> int:
        """Write the next batch if it is due; returns the number of objects written."""
        self._more = bool(self._cluster.queues or self._cluster.groups)
        self._collect(now, wait=at_once)
        if self._lane.unanswered or not self._more or (now < self._next and not at_once):
            return 0
        self._next = now + EVERY
        stamp = timestamp(clock.now())
        self._forget()
        queues = queue_patches(self._cluster, self._dispatcher, self._reported, stamp)
        groups = self._groups.patches(now, stamp, self._unanswered_rows())
        news = [*queues, *sorted(groups, key=is_passing)]
        wanted = [each for each in news if self._may_write(each[1].uid, now)][:AT_ONCE]
        for kind in dict.fromkeys(kind for kind, _, _ in wanted):
            batch = [(patch, content) for each, patch, content in wanted if each is kind]
            entries = [_StatusWrite(kind, patch.uid, content) for patch, content in batch]
            patches = [patch for patch, _ in batch]
            self._lane.send(Write(WriteVerb.PATCH_STATUS, kind, patches), entries)
            self._collect(now, wait=at_once)
        self._more = bool(news)
        return len(wanted)

    def _collect(self, now: float, *, wait: bool) -> None:
        """Process the answers that have arrived; with ``wait``, wait for all of them."""
        for batch in self._lane.answers(0 if wait else NEVER):
            for (kind, uid, content), reply in zip(batch.entries, batch.replies, strict=True):
                self.counts[f"{kind.kind} {reply.outcome.value}"] += 1
                if reply.outcome is WriteOutcome.OK:
                    self._reported[uid] = content
                    self._refused.pop(uid, None)
                elif reply.code in _FOR_GOOD:
                    _, pause = self._refused.get(uid, (now, EVERY / 2))
                    pause = min(2 * pause, LONGEST_PAUSE)
                    self._refused[uid] = now + pause, pause

    def _may_write(self, uid: str, now: float) -> bool:
        """Return whether no recent refusal delays the status of an object."""
        return uid not in self._refused or now >= self._refused[uid][0]

    def _forget(self) -> None:
        """Drop entries of deleted objects once they are the majority."""
        cluster, entries = self._cluster, len(self._reported) + len(self._refused)
        if entries <= 2 * (len(cluster.queues) + len(cluster.groups)) + AT_ONCE:
            return
        there = {queue.metadata.uid for queue in cluster.queues.values()}
        there.update(group.metadata.uid for group in cluster.groups.values())
        for entries_by_uid in (self._reported, self._refused):
            for uid in entries_by_uid.keys() - there:
                del entries_by_uid[uid]
        self._groups.forget(there)
