"""Records a store to a file: the list of its objects, then their changes.

The store is only read. If a watch expires (the server has compacted its history, or the network
failed), the differences from a new list are written as changes of that second.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec

from stretto.api.kinds.table import recorded_kinds, word_of
from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.inputs.objects.recordings import ChangeType, RecordingWriter
from stretto.stores.reflector import Reflector, follow
from stretto.stores.render import render
from stretto.stores.store import EventType, Listing, Record, Store, WatchEvent

POLL_INTERVAL: Final = 0.2
"""Seconds between polls of idle watches."""

OnProgress = Callable[[float, int], None]
"""Receives the seconds since the start and the number of changes written."""

_Entry = tuple[ChangeType, Kind, dict[str, Any]]


class _KindTape:
    """The records of one kind, and its changes since the last poll."""

    def __init__(self, kind: Kind) -> None:
        #: The kind.
        self.kind = kind
        #: Latest record of each object, by uid.
        self.records: dict[str, Record] = {}
        #: Changes since the last ``take``; none before ``begin``.
        self.changes: list[_Entry] = []
        self._has_begun = False

    def begin(self) -> list[Record]:
        """Collect changes from now on; return the records by namespace and name."""
        self._has_begun = True
        return sorted(self.records.values(), key=attrgetter("namespace", "name"))

    def known(self) -> Mapping[str, Record]:
        """The latest record of each object, by uid."""
        return self.records

    def apply(self, events: Sequence[WatchEvent], now: float) -> None:
        """Update the records and collect the changes."""
        del now
        for event in events:
            record = event.record
            if event.type is EventType.DELETED:
                self.records.pop(record.uid, None)
            else:
                self.records[record.uid] = record
            if self._has_begun:
                self.changes.append((ChangeType(event.type.name), self.kind, _body(record)))

    def listed(self, listing: Listing) -> None:
        """Do nothing, because the differences have been applied."""

    def take(self) -> list[_Entry]:
        """The changes since the last call."""
        taken, self.changes = self.changes, []
        return taken


class RecordingSession:
    """One recording in progress."""

    def __init__(self, store: Store, writer: RecordingWriter, clock: Clock) -> None:
        """Write the current objects of the store."""
        self._writer, self._clock = writer, clock
        self._start = clock.monotonic()
        self._tapes = [_KindTape(kind) for kind in recorded_kinds()]
        self._reflectors = [Reflector(store, tape.kind, tape) for tape in self._tapes]
        self._unsubscribe = follow(store, self._reflectors)
        #: Objects that existed at the start.
        self.objects: int = 0
        #: Changes written so far.
        self.changes: int = 0
        for tape, reflector in zip(self._tapes, self._reflectors, strict=True):
            reflector.poll(0.0)
            records = tape.begin()
            writer.there((tape.kind, _body(record)) for record in records)
            self.objects += len(records)
        writer.begun()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock.monotonic() - self._start

    def run(
        self, longest: float, on_progress: OnProgress, check: Callable[[], None] = lambda: None
    ) -> None:
        """Record for ``longest`` seconds or until ``check`` raises; the end is always written."""
        try:
            while (remaining := longest - self.seconds) > 0:
                check()
                if not self.poll():
                    self._clock.sleep(min(POLL_INTERVAL, remaining))
                on_progress(self.seconds, self.changes)
            self.poll()
        finally:
            self._writer.end(self.seconds)
            self._unsubscribe()
            for reflector in self._reflectors:
                reflector.close()

    def poll(self) -> int:
        """Write the changes since the last poll; return their number."""
        for reflector in self._reflectors:
            if reflector.is_due(0.0):
                reflector.poll(self.seconds)
        entries = [entry for tape in self._tapes for entry in tape.take()]
        if entries:
            self._writer.changed(self.seconds, entries)
        self.changes += len(entries)
        return len(entries)


def _body(record: Record) -> dict[str, Any]:
    """The object as the API serves it."""
    body: dict[str, Any] = msgspec.json.decode(render(record))
    return body


def recorded_words() -> list[str]:
    """Names of the recorded kinds, for the header of a recording."""
    return [word_of(kind) for kind in recorded_kinds()]
