"""The events of one reporter on their way to a store.

A repetition increments the count of the existing event. An event that exists from before a restart
is counted up, and an event that has expired is created again. Events that may wait are queued; no
caller waits for an answer.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, EVENT
from stretto.base.clock import timestamp
from stretto.reconcile.events import MOST, EventText, event_fields
from stretto.stores.lane import NEVER, Lane, LaneLimits
from stretto.stores.store import (
    Deletion,
    Patch,
    Record,
    Reply,
    StatusReason,
    Store,
    Write,
    WriteVerb,
)


class CountedEvent(NamedTuple):
    """An occurrence of an event."""

    #: Name of the event; equal events have the same name.
    name: str
    #: The object of the event.
    record: Record
    #: Level, reason and message.
    text: EventText
    #: Wall-clock time in seconds.
    at: float
    #: Number of occurrences; 1 if the event is new.
    times: int = 1


class CountedEvents:
    """Creates events, counts their repetitions and deletes them, without waiting for answers."""

    def __init__(self, store: Store, component: str, limits: LaneLimits) -> None:
        """Start with no event.

        Args:
            store: the store that receives the events.
            component: name of the reporter.
            limits: limits on events in flight and on queued events.
        """
        self._component = component
        self._lane: Lane[str, CountedEvent | None] = Lane(store, limits)

    @property
    def capacity(self) -> int:
        """Number of events that may be sent now."""
        return max(0, self._lane.capacity)

    @property
    def queued(self) -> int:
        """Number of events in the queue."""
        return len(self._lane)

    @property
    def unanswered(self) -> int:
        """Number of events that are sent and not answered."""
        return self._lane.unanswered

    @property
    def shed(self) -> int:
        """Number of events that the full queue has dropped so far."""
        return self._lane.shed

    def put(self, event: CountedEvent) -> bool:
        """Queue an event; it replaces an equal one. Return False if it was shed."""
        return self._lane.put(event.name, event)

    def send_queued(self, most: int) -> int:
        """Send at most this many events of the queue, within the capacity; return their number."""
        due = list(islice(self._lane.due(NEVER), max(0, min(most, self.capacity))))
        for name, _ in due:
            self._lane.withdraw(name)
        self.send([event for _, event in due if event is not None])
        return len(due)

    def send(self, events: Sequence[CountedEvent]) -> None:
        """Create new events and count repetitions."""
        if fresh := [each for each in events if each.times == 1]:
            bodies = [self._body(each) for each in fresh]
            self._lane.send(Write(WriteVerb.CREATE, EVENT, bodies), fresh)
        if again := [each for each in events if each.times > 1]:
            self._lane.send(Write(WriteVerb.PATCH, EVENT, list(map(_count, again))), again)

    def delete(self, events: Sequence[Deletion]) -> None:
        """Delete events; the answers do not count."""
        self._lane.send(Write(WriteVerb.DELETE, EVENT, events), [None] * len(events))

    def answers(self, most: float = NEVER) -> Iterator[tuple[CountedEvent, Reply]]:
        """Yield the events that are answered, with their count.

        Waits for the oldest batch while more than ``most`` events are unanswered.
        """
        for batch in self._lane.answers(most):
            again = list[CountedEvent]()
            for event, reply in zip(batch.entries, batch.replies, strict=True):
                if event is None:
                    continue
                if event.times == 1 and reply.code is StatusReason.ALREADY_EXISTS:
                    again.append(event._replace(times=2))  # its count from before is unknown
                elif event.times > 1 and reply.code is StatusReason.NOT_FOUND:
                    again.append(event._replace(times=1))
                else:
                    yield event, reply
            self.send(again)

    def _body(self, event: CountedEvent) -> bytes:
        at = timestamp(event.at)
        fields = event_fields(event.record, event.name, event.text, self._component, at)
        return msgspec.json.encode(fields)


def _count(event: CountedEvent) -> Patch:
    """Return the patch that sets the count and the message of an event."""
    change = {
        "message": event.text.message[:MOST],
        "count": event.times,
        "lastTimestamp": timestamp(event.at),
    }
    return Patch(event.record.namespace or DEFAULT_NAMESPACE, event.name, change)
