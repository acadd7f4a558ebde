"""The list-and-watch loop: delivers each change of one kind once and in order.

A reflector lists, then watches from the version of the list. Events at or below the last version
are duplicates and are dropped. The reflector lists again if the history of the watch is gone or the
periodic comparison is due. Then objects missing from the list are delivered as deletions, and the
others as changes if they are new or newer. A list older than the last version is ignored and
retried. If all lists are older for a long time, the server was restored from a backup and
``WentBackError`` is raised.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter, lt
from typing import Final, Protocol

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.errors import TooOldError, WentBackError
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.stores.store import (
    EVERYTHING,
    EventType,
    Listing,
    ListOptions,
    Record,
    Store,
    Watch,
    WatchEvent,
)

LIST_BATCH: Final = 1 << 13
"""Number of records of a list applied at once: a million of them must not be in memory twice."""
RETRY_LIST_AFTER: Final = 1.0
"""Seconds before a list that was too old is requested again."""
WENT_BACK_AFTER: Final = 15.0
"""Seconds of lists that are all too old before the server counts as restored."""
WENT_BACK_TIMES: Final = 8
"""Minimum number of such lists."""
_BOOKMARK: Final = EventType.BOOKMARK
"""A module constant, because a look-up of the enum member costs as much as the rest of an event."""


class ReflectorTarget(Protocol):
    """Target that a reflector keeps up to date."""

    def known(self) -> Mapping[str, Record]:
        """Map each uid of a known object to its last record."""
        ...

    def apply(self, events: Sequence[WatchEvent], now: float) -> None:
        """Apply changes, in the order of versions, at a clock time."""
        ...

    def listed(self, listing: Listing) -> None:
        """Handle a complete list, which has been applied."""
        ...


class ReflectorSettings(msgspec.Struct, frozen=True):
    """Settings of a reflector."""

    #: Seconds between comparisons with a fresh list, which repair lost events; infinity if the
    #: store cannot lose events.
    compare_every: float = float("inf")
    #: Name of its failpoints: ``<name>.polled`` and ``<name>.listed``.
    name: str = "reflector"
    #: Called at each failpoint.
    failpoint: Failpoint = no_failpoint
    #: The followed objects of the kind.
    selection: ListOptions = EVERYTHING


DEFAULTS: Final = ReflectorSettings()
"""No comparison, no failpoints."""


class Reflector:
    """Follows the objects of one kind in a store."""

    def __init__(
        self,
        store: Store,
        kind: Kind,
        target: ReflectorTarget,
        settings: ReflectorSettings = DEFAULTS,
    ) -> None:
        """Create a reflector; the first ``poll`` lists."""
        #: The kind.
        self.kind = kind
        #: Receiver of the changes.
        self.target = target
        #: The open watch, or ``None`` before the first list and after ``close``.
        self.watch: Watch | None = None
        #: Last version seen.
        self.version = 0
        #: Clock time of the next list.
        self.list_at = 0.0
        #: True if the watch may have events; a store that notifies sets it through ``mark``.
        self.is_dirty = True
        #: Number of events applied so far.
        self.applied = 0
        #: Number of lists after the first.
        self.relists = 0
        self._store = store
        self._may_end = store.capabilities.answers_later
        self._settings = settings
        self._always = not store.capabilities.notifies
        self._behind = 0
        self._behind_since = 0.0

    @property
    def synced(self) -> bool:
        """Return whether the kind has been listed and is being watched."""
        return self.watch is not None

    def mark(self) -> None:
        """Record that the watch may have events; any thread may call it."""
        self.is_dirty = True

    def is_due(self, now: float) -> bool:
        """Return whether ``poll`` has work."""
        return self.is_dirty or self.watch is None or now >= self.list_at

    def poll(self, now: float, limit: int = 4096) -> int:
        """Apply the next changes, at most ``limit`` of a watch; return the number read.

        Raises:
            WentBackError: the versions went back; the target must be rebuilt from nothing.
        """
        watch = self.watch
        if watch is None or now >= self.list_at:
            return self.relist(now)
        self.is_dirty = self._always  # before the poll: an event during the poll marks it again
        try:
            events = watch.poll(limit)
        except TooOldError:
            # After a list that was too old, the next list waits until its time.
            return 0 if self._behind else self.relist(now)
        if not events:
            return 0
        # A watch on a server may have ended after its last events; the next poll reports that.
        self.is_dirty = self.is_dirty or self._may_end or len(events) >= limit
        self._settings.failpoint(f"{self._settings.name}.polled")
        fresh = _newer(events, self.version)
        if fresh:
            self.version = fresh[-1].record.version
            changes = [event for event in fresh if event.type is not _BOOKMARK]
            if changes:
                self.target.apply(changes, now)
                self.applied += len(changes)
        return len(fresh)

    def relist(self, now: float) -> int:
        """List, apply the difference and watch from there; return the number of changes.

        Raises:
            WentBackError: as ``poll``.
        """
        listing = self._store.list(self.kind, self._settings.selection)
        if listing.version < self.version:
            self._note_behind(listing, now)
            return 0
        self._behind = 0
        if self.watch is not None:
            self.watch.close()
            self.relists += 1
        applied = 0
        for events in difference(self.target.known(), listing):
            self.target.apply(events, now)
            applied += len(events)
        self.target.listed(listing)
        self.version = listing.version
        self.watch = self._store.watch(self.kind, listing.version, self._settings.selection)
        self.is_dirty = True
        self.list_at = now + self._settings.compare_every
        self._settings.failpoint(f"{self._settings.name}.listed")
        self.applied += applied
        return applied

    def close(self) -> None:
        """Stop watching; a later ``poll`` lists again."""
        if self.watch is not None:
            self.watch.close()
            self.watch = None

    def _note_behind(self, listing: Listing, now: float) -> None:
        """Schedule a retry after a list older than the last version, within bounds."""
        self.list_at = now + RETRY_LIST_AFTER
        if not self._behind:
            self._behind_since = now
        self._behind += 1
        if self._behind >= WENT_BACK_TIMES and now - self._behind_since >= WENT_BACK_AFTER:
            raise WentBackError(
                f"{self.kind.resource}: the server's versions went back from {self.version} to "
                f"{listing.version}: it was restored from an older state"
            )


def follow(store: Store, reflectors: Sequence[Reflector]) -> Callable[[], None]:
    """Mark reflectors when the store notifies; return a function that ends the notifications."""
    by_kind: dict[Kind, list[Reflector]] = {}
    for reflector in reflectors:
        by_kind.setdefault(reflector.kind, []).append(reflector)

    def mark(kind: Kind) -> None:
        for reflector in by_kind.get(kind, ()):
            reflector.mark()

    return store.subscribe(mark)


def difference(known: Mapping[str, Record], listing: Listing) -> Iterator[list[WatchEvent]]:
    """Yield a list as batches of changes: deletions, then new and newer objects by version.

    Stores list by name; queues order by age, which versions reflect. A known record that is newer
    than the list was written after it.
    """
    if known:
        present = {record.uid for record in listing.records}
        gone = [
            WatchEvent(EventType.DELETED, record)
            for uid, record in known.items()
            if uid not in present and record.version <= listing.version
        ]
        if gone:
            yield gone
    records = sorted(listing.records, key=attrgetter("version"))
    for first in range(0, len(records), LIST_BATCH):
        changed = [
            WatchEvent(EventType.MODIFIED if record.uid in known else EventType.ADDED, record)
            for record in records[first : first + LIST_BATCH]
            if record.uid not in known or record.version > known[record.uid].version
        ]
        if changed:
            yield changed


def _newer(events: Sequence[WatchEvent], version: int) -> list[WatchEvent]:
    """Return the events newer than a version, each version once."""
    versions = [event.record.version for event in events]
    if versions[0] > version and all(map(lt, versions, versions[1:])):
        return list(events)
    fresh = []
    for event in events:
        if event.record.version > version:
            fresh.append(event)
            version = event.record.version
    return fresh
