"""The recent changes of one kind, kept within a bound, and the watches that read them.

Nothing is kept for a watch: it is only a position in the one list of events. So a slow reader costs
no memory; once what it has not read is dropped, it is told so and must list afresh.
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from stretto.base.errors import TooOldError
from stretto.stores.store import WatchEvent

HISTORY: Final = 1 << 15
"""Events kept for each kind unless told otherwise: 40 MB of pods' heads, and two thirds of a second
at 50,000 changes a second for a reader that is busy with something else."""

_VERSION: Final = attrgetter("record.version")


class EventHistory:
    """Events of one kind, oldest first, with rising versions."""

    __slots__ = ("dropped", "events", "floor", "limit")

    def __init__(self, limit: int, floor: int) -> None:
        """Keep at least the last ``limit`` events; nothing is known of versions up to ``floor``."""
        #: The events that are still kept.
        self.events: list[WatchEvent] = []
        #: How many events came before the first that is kept.
        self.dropped = 0
        #: Version up to which changes are no longer known; a watch may start here or later.
        self.floor = floor
        #: How many events are kept at least.
        self.limit = limit

    @property
    def end(self) -> int:
        """The position behind the newest event."""
        return self.dropped + len(self.events)

    def extend(self, events: Sequence[WatchEvent]) -> None:
        """Add changes and drop the oldest; who reads after every write keeps up with any batch.

        An eighth more than the limit is kept, so that dropping is done rarely and in bulk.
        """
        excess = len(self.events) - self.limit
        if excess > self.limit >> 3:
            self.floor = self.events[excess - 1].record.version
            self.dropped += excess
            del self.events[:excess]
        self.events.extend(events)

    def forget(self, version: int) -> None:
        """Drop everything: every watch so far is too old, even one that had read it all."""
        self.dropped = self.end + 1
        self.events.clear()
        self.floor = version

    def position(self, since: int) -> int:
        """Where a watch after version ``since`` starts; before ``dropped`` where that is gone."""
        if since < self.floor:
            return self.dropped - 1
        return self.dropped + bisect_right(self.events, since, key=_VERSION)


class HistoryWatch:
    """A watch: a position in a history."""

    __slots__ = ("_closed", "_history", "_position", "_since")

    def __init__(self, history: EventHistory, since: int, position: int) -> None:
        self._history = history
        #: Version asked for, then that of the newest event read: for the message only.
        self._since = since
        self._position = position
        self._closed = False

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes, oldest first, at most ``limit``; empty when there are none now.

        Raises:
            TooOldError: the next change is no longer kept.
        """
        if self._closed:
            return []
        history = self._history
        start = self._position - history.dropped
        if start < 0:
            raise TooOldError(str(self._since), str(history.floor))
        batch = history.events[start : start + limit]
        if batch:
            self._position += len(batch)
            self._since = batch[-1].record.version
        return batch

    def close(self) -> None:
        """Stop watching."""
        self._closed = True
