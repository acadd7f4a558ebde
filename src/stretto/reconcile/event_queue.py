"""Events about many objects: sent in batches with low priority, counted, and shed when too many.

A problem of many objects at once, such as a policy that matches no cluster, must delay neither the
controllers nor the store. Therefore recording an event costs no request. Within a period, the first
objects of a kind with one reason get one event each. One event about a representative object counts
the others. Details are in the conditions of each object.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from typing import Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.limited import LimitedMap
from stretto.reconcile.cache import Change, StoredObject
from stretto.reconcile.counted_events import CountedEvent, CountedEvents
from stretto.reconcile.events import EventText, event_name
from stretto.stores.lane import LaneLimits, ShedPolicy
from stretto.stores.store import Record, Store, WriteOutcome

EVENTS: Final = "events"
"""Name of the controller that sends events, and its only key."""
PAUSE: Final = 1.0
"""Seconds between two batches."""
_KNOWN: Final = 4096
"""Maximum number of events whose repetitions are counted."""


class EventResult(Enum):
    """Result of an event."""

    #: The event was written, or its count was incremented.
    WRITTEN = "written"
    #: Another event counts it.
    COUNTED = "counted"
    #: The queue was full.
    SHED = "shed"
    #: The store refused the event.
    LOST = "lost"


class EventLimits(msgspec.Struct, frozen=True):
    """Limits on the events of one process."""

    #: Maximum events of one reason about objects of one kind within a period.
    each: int = 20
    #: Length of a period in seconds.
    period: float = 60.0
    #: Maximum writes per batch; there is one batch per second.
    batch: int = 50
    #: Maximum number of waiting events.
    queued: int = 1000


class _FurtherEvent(NamedTuple):
    """An event that another event counts."""

    #: The object of the event.
    record: Record
    #: Level, reason and message.
    text: EventText
    #: The representative of all such objects.
    whole: Record


class _EventGroup(msgspec.Struct, frozen=True):
    """Events of one reason about objects of one kind."""

    #: Monotonic time at which the period ends.
    ends: float
    #: Number of events about single objects.
    written: int = 0
    #: Number of further events.
    more: int = 0
    #: The last further event with a representative object.
    last: _FurtherEvent | None = None


class EventQueue:
    """Controller that sends events; no other controller waits for it."""

    name = EVENTS

    def __init__(
        self,
        store: Store,
        clock: Clock,
        component: str,
        wake: Callable[[], None],
        limits: EventLimits = EventLimits(),  # noqa: B008  (frozen)
    ) -> None:
        """Create an empty queue.

        Args:
            store: receives the events.
            clock: time of events and periods.
            component: name of the reporter.
            wake: makes the only key of this controller due.
            limits: limits on events.
        """
        #: Number of events by result.
        self.counts: Counter[EventResult] = Counter()
        self._clock = clock
        self._wake = wake
        self._limits = limits
        lane = LaneLimits(2 * limits.batch, queued=limits.queued, shed=ShedPolicy.NEWEST)
        self._events = CountedEvents(store, component, lane)
        self._groups: dict[tuple[str, str], _EventGroup] = {}
        self._known = LimitedMap[str, int](_KNOWN)
        self._next_batch = float("-inf")

    def record(self, item: StoredObject, text: EventText, whole: StoredObject | None) -> None:
        """Queue an event about an object.

        Args:
            item: the object.
            text: level, reason and message.
            whole: representative of many objects like ``item``; ``None`` if there is none.
        """
        record, now = item.record, self._clock.monotonic()
        key = text.reason, record.kind.kind
        group = self._groups.setdefault(key, _EventGroup(now + self._limits.period))
        if group.written < self._limits.each:
            self._groups[key] = msgspec.structs.replace(group, written=group.written + 1)
            self._put(record, text)
        else:
            last = _FurtherEvent(record, text, whole.record) if whole is not None else group.last
            self._groups[key] = msgspec.structs.replace(group, more=group.more + 1, last=last)
            self.counts[EventResult.COUNTED] += 1
        self._wake()

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Return no keys: no change makes an event due."""
        return ()

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Send the next batch, and read the replies to earlier batches."""
        self._collect()
        self._end_groups(now)
        self._send(now)
        self._collect()
        if self._events.queued or self._events.unanswered:
            return self._next_batch - now if now < self._next_batch else PAUSE
        ends = min((each.ends for each in self._groups.values()), default=None)
        return None if ends is None else max(0.0, ends - now)

    # ---------------------------------------------------------------- internals

    def _put(self, record: Record, text: EventText) -> None:
        name = event_name(record, text.reason + text.message)
        times = self._known.get(name, 0) + 1
        kept = self._events.put(CountedEvent(name, record, text, self._clock.now(), times))
        self.counts[EventResult.SHED] += not kept

    def _end_groups(self, now: float) -> None:
        """Queue an event about the further objects of each group whose period has ended."""
        for key in [key for key, group in self._groups.items() if group.ends <= now]:
            group = self._groups.pop(key)
            if group.last is not None:
                record, text, whole = group.last
                name = f"{record.namespace}/{record.name}" if record.namespace else record.name
                also = f"{group.more} further objects, the last is {name}: {text.message}"
                self._put(whole, msgspec.structs.replace(text, message=also))

    def _send(self, now: float) -> None:
        """Send a batch, unless the pause after the last one has not ended."""
        if now < self._next_batch:
            return
        if self._events.send_queued(self._limits.batch):
            self._next_batch = now + PAUSE

    def _collect(self) -> None:
        """Read the replies that have arrived, without waiting for others."""
        for event, reply in self._events.answers():
            if reply.outcome is WriteOutcome.OK:
                self.counts[EventResult.WRITTEN] += 1
                self._known[event.name] = event.times
            else:
                self.counts[EventResult.LOST] += 1
