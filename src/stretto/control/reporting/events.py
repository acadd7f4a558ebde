"""Writes about pods: conditions, and events that are created, counted up and deleted.

No component waits for the answers to events. While too many are unanswered, further events are
dropped: an event is the least important write under load. The ``Scheduled`` events of bound pods
wait in a queue that drops the oldest.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Final

from stretto.api.wire.kinds import POD
from stretto.reconcile.counted_events import CountedEvent, CountedEvents
from stretto.stores.lane import NEVER, Lane, LaneLimits, ShedPolicy
from stretto.stores.store import Deletion, Patch, Reply, Store, Write, WriteOutcome, WriteVerb

LANE: Final = LaneLimits(window=1024, queued=10_000, shed=ShedPolicy.OLDEST)
"""Maximum number of events in flight, and of bound pods that wait for their ``Scheduled`` event."""
CONDITIONS: Final = LaneLimits(window=256)
"""Maximum number of conditions in flight."""


class ConditionWriter:
    """Writes conditions of pods and waits for the answers.

    The versions of own writes must be known before the next events are read. Otherwise the
    scheduler would treat its own condition as a change of the pod.
    """

    def __init__(self, store: Store) -> None:
        """Start with no write in flight."""
        self._lane: Lane[int, int] = Lane(store, CONDITIONS)

    def write(self, rows: Sequence[int], patches: Sequence[Patch]) -> list[tuple[int, Reply]]:
        """Patch the conditions of pods; returns the answer for each row."""
        self._lane.send(Write(WriteVerb.PATCH_STATUS, POD, patches), rows)
        return [
            pair
            for batch in self._lane.answers(0)
            for pair in zip(batch.entries, batch.replies, strict=True)
        ]


class EventWriter:
    """Writes events."""

    def __init__(self, store: Store, component: str, keep: float, counts: Counter[str]) -> None:
        """Start with no event written.

        Args:
            store: the store to which events are written.
            component: name of the scheduler in the events.
            keep: seconds after which an event is deleted; infinity if the store does that.
            counts: counts ``event`` for each success and ``event <outcome>`` for each failure.
        """
        self._keep = keep
        self._counts = counts
        self._events = CountedEvents(store, component, LANE)
        #: Events to delete, by age: wall-clock time, namespace and name.
        self._written: deque[tuple[float, str, str]] = deque()

    def queue_bound(self, events: Iterable[CountedEvent]) -> None:
        """Queue the ``Scheduled`` events of pods."""
        before = self._events.shed
        for event in events:
            self._events.put(event)
        self._counts["event shed"] += self._events.shed - before

    @property
    def has_bound(self) -> bool:
        """True if pods wait for their ``Scheduled`` event."""
        return self._events.queued > 0

    def create_bound(self, most: int) -> int:
        """Create at most ``most`` of the next ``Scheduled`` events; returns their number."""
        count = self._events.send_queued(most)
        if count:
            self.collect()
        return count

    def write(self, events: Sequence[CountedEvent]) -> None:
        """Create events and count repetitions, unless too many are in flight."""
        if not events:
            return
        if self._events.capacity == 0:
            self._counts["event shed"] += len(events)
            return
        self._events.send(events)
        self.collect()

    def expire(self, wall: float, most: int) -> None:
        """Delete at most ``most`` of the oldest expired events; ``wall`` is wall-clock time."""
        gone = list[Deletion]()
        while self._written and self._written[0][0] + self._keep < wall and len(gone) < most:
            _, namespace, name = self._written.popleft()
            gone.append(Deletion(namespace, name))
        if gone:
            self._events.delete(gone)
            self.collect()

    def collect(self, *, wait: bool = False) -> None:
        """Process the answers that have arrived; with ``wait``, wait for all of them."""
        for event, reply in self._events.answers(0 if wait else NEVER):
            if reply.outcome is not WriteOutcome.OK:
                self._counts[f"event {reply.outcome.value}"] += 1
                continue
            self._counts["event"] += 1
            if event.times == 1 and self._keep < NEVER:
                self._written.append((event.at, event.record.namespace, event.name))
