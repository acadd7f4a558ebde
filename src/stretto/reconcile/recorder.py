"""Writer of a controller's events."""

from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE, EVENT
from stretto.base.clock import Clock, timestamp
from stretto.base.limited import LimitedMap
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.correlation import KNOWN, EventCorrelator
from stretto.reconcile.events import (
    MOST,
    NO_ORIGIN,
    EventLevel,
    EventOrigin,
    EventText,
    event_fields,
    numbered_name,
)
from stretto.stores.store import Patch, Record, StatusReason, Store

_NANOSECONDS: Final = 1_000_000_000
_ATTEMPTS: Final = 16
"""Maximum number of names that are tried for one event."""


class _CountedText(NamedTuple):
    """An event and its number of occurrences."""

    #: Level, reason and message of the last occurrence.
    text: EventText
    #: Number of occurrences.
    times: int
    #: Name of the written event; empty before it is written.
    name: str = ""


class EventRecorder:
    """Writer of a component's events; a repetition increments the count of the existing event.

    The name of an event ends with the time of its first occurrence, so that a list shows the events
    about an object in their order.
    """

    def __init__(self, store: Store, clock: Clock, component: str) -> None:
        """Write events of one component.

        Args:
            store: the store that receives the events.
            clock: wall time.
            component: name of the reporter.
        """
        self._store = store
        self._clock = clock
        self._component = component
        self._correlator = EventCorrelator(clock)
        self._known = LimitedMap[Hashable, _CountedText](KNOWN)
        self._last_number = 0

    def record(
        self, item: StoredObject, *texts: EventText, origin: EventOrigin = NO_ORIGIN
    ) -> None:
        """Write events about an object; events that the store refuses are lost."""
        record = item.record
        due: dict[Hashable, _CountedText] = {}
        for each in texts:
            key, text = self._correlator.combined(record, each, origin)
            before = self._known.get(key, _CountedText(text, 0))
            self._known[key] = _CountedText(text, before.times + 1, before.name)
            if self._correlator.allows(record, origin):
                due[key] = self._known[key]
        missing = self._count(record, {key: each for key, each in due.items() if each.name})
        for key, event in due.items():
            if not event.name or event.name in missing:
                name = self._create(record, event, origin)
                self._known[key] = event._replace(name=name)

    def warn(self, item: StoredObject, reason: str, message: str) -> None:
        """Write one event about a problem of an object."""
        self.record(item, EventText(EventLevel.WARNING, reason, message))

    def _count(self, record: Record, due: Mapping[Hashable, _CountedText]) -> set[str]:
        """Write the counts of existing events; return the names of those that have expired."""
        namespace, at = record.namespace or DEFAULT_NAMESPACE, timestamp(int(self._clock.now()))
        patches = [
            Patch(
                namespace,
                each.name,
                {"count": each.times, "lastTimestamp": at, "message": each.text.message[:MOST]},
            )
            for each in due.values()
        ]
        replies = self._store.patch(EVENT, patches) if patches else ()
        return {
            patch.name
            for patch, reply in zip(patches, replies, strict=True)
            if reply.code is StatusReason.NOT_FOUND
        }

    def _create(self, record: Record, event: _CountedText, origin: EventOrigin) -> str:
        """Create an event; return its name."""
        at = timestamp(int(self._clock.now()))
        name = ""
        for _ in range(_ATTEMPTS):
            name = numbered_name(record, self._number())
            fields = event_fields(record, name, event.text, self._component, at)
            body = _from({**fields, "count": event.times}, origin)
            reply = self._store.create(EVENT, [msgspec.json.encode(body)])[0]
            if reply.code is not StatusReason.ALREADY_EXISTS:
                break
        return name

    def _number(self) -> int:
        """The current time in nanoseconds, or the next unused number."""
        number = max(self._last_number + 1, int(self._clock.now() * _NANOSECONDS))
        self._last_number = number
        return number


def _from(fields: dict[str, Any], origin: EventOrigin) -> dict[str, Any]:
    """Return an event with its origin."""
    if origin.host:
        fields["source"] = {**fields["source"], "host": origin.host}
        fields["reportingInstance"] = origin.host
    if origin.field_path:
        fields["involvedObject"] = {**fields["involvedObject"], "fieldPath": origin.field_path}
    return fields
