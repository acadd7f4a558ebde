"""Taking a recording: a store is listed, then listened to, and everything goes to a file.

The store is only read. A watch that is too old (the server forgot, the network was away) is made
good by a fresh list, and what differs is written as changes of that second.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from stretto.api.kinds.table import recorded_kinds, word_of
from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.errors import TooOldError
from stretto.inputs.objects.recordings import ChangeType, RecordingWriter
from stretto.stores.render import render
from stretto.stores.store import EventType, Record, Store, Watch

NAP: Final = 0.2
"""Seconds between looks at watches that had nothing to say."""

Told = Callable[[float, int], None]
"""Told of the seconds so far and of the changes kept."""

_Entry = tuple[ChangeType, Kind, dict[str, Any]]


class RecordingSession:
    """One recording in the making."""

    def __init__(self, store: Store, writer: RecordingWriter, clock: Clock) -> None:
        """Keep what the store holds now."""
        self._store, self._writer, self._clock = store, writer, clock
        self._start = clock.monotonic()
        self._known: dict[Kind, dict[str, Record]] = {}
        self._watches: dict[Kind, Watch] = {}
        #: Objects that were there at the start.
        self.objects: int = 0
        #: Changes kept so far.
        self.changes: int = 0
        self._kinds = recorded_kinds()
        for kind in self._kinds:
            listing = store.list(kind)
            self._known[kind] = {record.uid: record for record in listing.records}
            writer.there((kind, _body(record)) for record in listing.records)
            self.objects += len(listing.records)
            self._watches[kind] = store.watch(kind, listing.version)
        writer.begun()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock.monotonic() - self._start

    def run(self, longest: float, told: Told, check: Callable[[], None] = lambda: None) -> None:
        """Listen for so many seconds, or until ``check`` raises; the end is written either way."""
        try:
            while (left := longest - self.seconds) > 0:
                check()
                if not self.look():
                    self._clock.sleep(min(NAP, left))
                told(self.seconds, self.changes)
            self.look()
        finally:
            self._writer.end(self.seconds)
            for watch in self._watches.values():
                watch.close()

    def look(self) -> int:
        """Keep what has changed since the last look; returns how many changes."""
        entries = [entry for kind in self._kinds for entry in self._news(kind)]
        if entries:
            self._writer.changed(self.seconds, entries)
        self.changes += len(entries)
        return len(entries)

    def _news(self, kind: Kind) -> list[_Entry]:
        try:
            events = self._watches[kind].poll()
        except TooOldError:
            return list(self._relisted(kind))
        known, found = self._known[kind], list[_Entry]()
        for event in events:
            record = event.record
            if event.type is EventType.BOOKMARK:
                continue
            if event.type is EventType.DELETED:
                known.pop(record.uid, None)
            else:
                known[record.uid] = record
            found.append((ChangeType(event.type.name), kind, _body(record)))
        return found

    def _relisted(self, kind: Kind) -> Iterator[_Entry]:
        """What a fresh list says that was missed, and a watch from there."""
        listing = self._store.list(kind)
        before, now = self._known[kind], {record.uid: record for record in listing.records}
        for uid in before.keys() - now.keys():
            yield ChangeType.DELETED, kind, _body(before[uid])
        for uid, record in now.items():
            if uid not in before:
                yield ChangeType.ADDED, kind, _body(record)
            elif record.version != before[uid].version:
                yield ChangeType.MODIFIED, kind, _body(record)
        self._known[kind] = now
        self._watches[kind].close()
        self._watches[kind] = self._store.watch(kind, listing.version)


def _body(record: Record) -> dict[str, Any]:
    """An object as its clients see it."""
    body: dict[str, Any] = msgspec.json.decode(render(record))
    return body


def recorded_words() -> list[str]:
    """Names of the recorded kinds, for the first line of a recording."""
    return [word_of(kind) for kind in recorded_kinds()]
