"""The recent changes of one kind, within a bound, and the watches that read them.

A watch is only a position in the shared list of events, so a slow reader costs no memory. Once an
unread event is dropped, the watch raises ``TooOldError`` and its reader must list again.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec.structs import replace

from stretto.api.wire.kinds import Kind
from stretto.base.errors import TooOldError
from stretto.stores.store import EventType, Record, WatchEvent

HISTORY: Final = 1 << 15
"""Default number of events kept for each kind: 40 MB of pod heads, and two thirds of a second at
50,000 changes a second for a reader that is busy elsewhere."""

_VERSION: Final = attrgetter("record.version")


class EventHistory:
    """Events of one kind, oldest first, with increasing versions."""

    __slots__ = ("dropped", "events", "floor", "limit", "olds")

    def __init__(self, limit: int, floor: int) -> None:
        """Keep at least the last ``limit`` events; changes up to version ``floor`` are unknown."""
        #: The kept events.
        self.events: list[WatchEvent] = []
        #: For each event, the record that it replaced or deleted; ``None`` if it added one.
        self.olds: list[Record | None] = []
        #: Number of events dropped before the first kept one.
        self.dropped = 0
        #: Version up to which changes are unknown; a watch may start here or later.
        self.floor = floor
        #: Minimum number of kept events.
        self.limit = limit

    @property
    def end(self) -> int:
        """The position after the newest event."""
        return self.dropped + len(self.events)

    def extend(self, events: Sequence[WatchEvent], olds: Sequence[Record | None]) -> None:
        """Add changes with the records that they replaced, and drop the oldest ones.

        A watch that polls after every write keeps up with batches of any size. The history keeps an
        eighth more than the limit, so that events are dropped rarely and in bulk.
        """
        excess = len(self.events) - self.limit
        if excess > self.limit >> 3:
            self.floor = self.events[excess - 1].record.version
            self.dropped += excess
            del self.events[:excess], self.olds[:excess]
        self.events.extend(events)
        self.olds.extend(olds)

    def forget(self, version: int) -> None:
        """Drop all events: every open watch is then too old, even one that has read all events."""
        self.dropped = self.end + 1
        self.events.clear()
        self.olds.clear()
        self.floor = version

    def position(self, since: int) -> int:
        """Return the start position of a watch after version ``since``.

        The position is less than ``dropped`` if the version is too old.
        """
        if since < self.floor:
            return self.dropped - 1
        return self.dropped + bisect_right(self.events, since, key=_VERSION)


class HistoryWatch:
    """A watch of all objects: a position in a history."""

    __slots__ = ("_closed", "_history", "_position", "_since")

    def __init__(self, history: EventHistory, since: int, position: int) -> None:
        self._history = history
        #: Requested version, later the version of the newest event read; for the error message.
        self._since = since
        self._position = position
        self._closed = False

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """Return the next changes, oldest first, at most ``limit``; empty if there are none.

        Raises:
            TooOldError: the next change is no longer kept.
        """
        if self._closed:
            return []
        start = self._start()
        batch = self._history.events[start : start + limit]
        if batch:
            self._advance(batch)
        return batch

    def close(self) -> None:
        """Stop watching."""
        self._closed = True

    def _start(self) -> int:
        """Index of the next event.

        Raises:
            TooOldError: the next change is no longer kept.
        """
        start = self._position - self._history.dropped
        if start < 0:
            raise TooOldError(str(self._since), str(self._history.floor))
        return start

    def _advance(self, batch: Sequence[WatchEvent]) -> None:
        self._position += len(batch)
        self._since = batch[-1].record.version


class Selected(NamedTuple):
    """Output of a watch of a selection."""

    #: The watched kind.
    kind: Kind
    #: Returns whether a record is selected.
    matches: Callable[[Record], bool]
    #: Returns the current version of the store, for bookmarks; ``None``: no bookmarks.
    newest: Callable[[], int] | None = None


class SelectedWatch(HistoryWatch):
    """A watch of selected objects, with bookmarks if requested."""

    __slots__ = ("_bookmark", "_kind", "_matches", "_newest")

    def __init__(
        self, history: EventHistory, since: int, position: int, selected: Selected
    ) -> None:
        super().__init__(history, since, position)
        self._kind = selected.kind
        self._matches = selected.matches
        self._newest = selected.newest
        self._bookmark = self._since

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes of selected objects; empty if there are none.

        Raises:
            TooOldError: the next change is no longer kept.
        """
        found: list[WatchEvent] = []
        while not self._closed and len(found) < limit:
            start = self._start()
            history = self._history
            stop = start + limit - len(found)
            batch = history.events[start:stop]
            if not batch:
                break
            for event, old in zip(batch, history.olds[start:stop], strict=True):
                seen = selected_event(event, old, self._matches)
                if seen is not None:
                    found.append(seen)
            self._advance(batch)
        if not found and self._newest is not None and not self._closed:
            return self._bookmarks(self._newest())
        return found

    def _bookmarks(self, version: int) -> list[WatchEvent]:
        """A bookmark at the store's version, unless the last bookmark has this version."""
        if version <= self._bookmark:
            return []
        self._bookmark = version
        return [WatchEvent(EventType.BOOKMARK, Record(self._kind, "", "", "", version, b"{}"))]


def selected_event(
    event: WatchEvent, old: Record | None, matches: Callable[[Record], bool]
) -> WatchEvent | None:
    """A change as a watch of a selection sees it; ``None`` if it does not affect the selection."""
    before = old is not None and matches(old)
    after = event.type is not EventType.DELETED and matches(event.record)
    if event.type is EventType.DELETED:
        return event if before else None
    if before and after:
        return event
    if after:
        return WatchEvent(EventType.ADDED, event.record, event.head)
    if before and old is not None:
        return WatchEvent(EventType.DELETED, replace(old, version=event.record.version))
    return None
