"""Watches that survive their connections.

A task on the event loop reads the stream into a queue; the reader polls the queue and never blocks.
A connection that ends, breaks or falls silent is replaced from the last version. Therefore nothing
is lost, and duplicates are dropped. If the server no longer has the history (410), the watch is too
old and its reader lists again.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, NamedTuple

from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError, StrettoError, TooOldError
from stretto.base.rng import Rng
from stretto.stores.kube.login.messages import HttpResponse, SilentError
from stretto.stores.kube.paths import collection_path, with_query
from stretto.stores.kube.records import event_of, version_of
from stretto.stores.kube.selections import is_foreign, selection_query
from stretto.stores.kube.transport.answers import forbidden, status_of
from stretto.stores.kube.transport.client import HttpClient
from stretto.stores.kube.transport.options import Backoff
from stretto.stores.kube.transport.streams import WatchLine, changes_of, refusal_of
from stretto.stores.store import EventType, ListOptions, Record, WatchEvent

_TYPES: Final = {
    "ADDED": EventType.ADDED,
    "MODIFIED": EventType.MODIFIED,
    "DELETED": EventType.DELETED,
}
_GONE: Final = (410, 504)
"""Statuses of a version that is too old, or newer than any version of a restored server.

Both require a fresh list.
"""
_GATHER: Final = 0.005
"""Seconds in which changes accumulate: one wake-up costs more than processing one change."""
_FEW: Final = 64
"""Size from which batches are not delayed."""
_FULL_PAUSE: Final = 0.02
"""Seconds between checks whether the reader has emptied the queue."""
_SHORT: Final = 1.0
"""Seconds: a shorter stream without events is not reopened at once."""
_SILENCES: Final = 2
"""Number of silent streams in a row before a fresh list is required."""


class WatchTarget(NamedTuple):
    """Target of a watch."""

    #: The kind.
    kind: Kind
    #: The selected objects, and whether bookmarks are yielded.
    selection: ListOptions
    #: Called on the event loop's thread when changes are available.
    notify: Callable[[], None]


class KubeWatch:
    """Watch of one kind after a version."""

    def __init__(self, target: WatchTarget, since: int, line: HttpClient, rng: Rng) -> None:
        """Create a watch; it begins when ``run`` starts on the event loop."""
        #: The kind.
        self.kind = target.kind
        #: Reason why no stream is open; empty while one is open.
        self.trouble = ""
        #: True if the server does not serve the kind (its CRD is not installed).
        self.is_absent = False
        #: Number of connections so far.
        self.connections = 0
        #: Number of unreadable objects so far.
        self.unreadable = 0
        self._line = line
        self._rng = rng
        self._notify = target.notify
        self._selection = target.selection
        self._version = since
        self._events: deque[WatchEvent] = deque()
        self._too_old = False
        self._closed = False
        self._silences = 0
        self._retry_after: float | None = None
        self._running: Future[None] | None = None

    # ------------------------------------------------------------ the reader's thread

    def started(self, running: "Future[None]") -> None:
        """Record the started ``run``; its end counts as a change to poll."""
        self._running = running
        running.add_done_callback(lambda _: self._notify())

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """Return the next changes, oldest first, at most ``limit``; empty if there are none.

        Raises:
            TooOldError: the server no longer has the next change.
            Exception: an unexpected error that ended the watch.
        """
        if self._closed:
            return []
        events = self._events
        batch = [events.popleft() for _ in range(min(limit, len(events)))]
        if not batch and self._too_old:
            raise TooOldError(str(self._version), "the history of the server")
        if not batch and self._running is not None and self._running.done():
            self._running.result()
        return batch

    def close(self) -> None:
        """Stop watching and close the connection."""
        self._closed = True
        self._events.clear()
        if self._running is not None:
            self._running.cancel()

    @property
    def is_closed(self) -> bool:
        """Return whether the watch is closed."""
        return self._closed

    # ------------------------------------------------------------ the event loop

    async def run(self) -> None:
        """Keep a stream open until the watch is closed or too old."""
        backoff = Backoff(self._line.options, self._rng)
        while self._goes_on():
            before, self._retry_after = self._version, None
            try:
                wait = await self._connected()
            except SilentError as error:
                self.trouble = str(error)
                wait = self._silent(before)
            except StrettoError as error:
                self.trouble = str(error)
                wait = None
            if self._version > before:
                backoff.reset()
            if self._goes_on():
                await asyncio.sleep(backoff.next(self._retry_after) if wait is None else wait)
        self._notify()

    def _silent(self, before: int) -> float:
        """Handle a stream without a byte for long, although bookmarks are sent every minute.

        After the first silence, the connection counts as dead. After the second, the server may be
        waiting for a version that it will never reach, because it was restored from an older state:
        a fresh list is required.
        """
        self._silences = 1 if self._version > before else self._silences + 1
        if self._silences >= _SILENCES:
            self._too_old = True
        return 0.0

    def _goes_on(self) -> bool:
        return not (self._closed or self._too_old)

    async def _connected(self) -> float | None:
        """Run one connection; return the seconds before the next, ``None`` for back-off."""
        options = self._line.options
        seconds = options.watch_for * (1 + self._rng.random())
        query = {
            "watch": "1",
            "resourceVersion": str(self._version),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(seconds)),
        }
        selection = self._selection
        query |= selection_query(selection)
        path = with_query(collection_path(self.kind, selection.namespace), query)
        response = await self._line.open(path, options.watch_idle)
        try:
            if response.status != 200:
                return self._refused(await refusal_of(response, options.answer))
            self.trouble, self.is_absent = "", False
            self.connections += 1
            began, loop = self._version, asyncio.get_running_loop()
            opened = loop.time()
            async for changes in changes_of(response, options.most_line):
                for change in changes:
                    self._take(change)
                if changes:
                    self._notify()
                if not self._goes_on():
                    return 0.0
                await self._wait_until_below(options.held_events)
                if len(changes) < _FEW:
                    await asyncio.sleep(_GATHER)
            lasted = self._version > began or loop.time() - opened > _SHORT
            return 0.0 if lasted else None
        finally:
            response.close()

    def _refused(self, answer: HttpResponse) -> float | None:
        """Handle a response that refuses the watch; return the seconds before the next attempt."""
        status = status_of(answer)
        if answer.status == 404:
            self.trouble = ""
            self.is_absent = True
            return self._line.options.absent_every
        if answer.status in _GONE or "resource version" in status.message.lower():
            self._too_old = True
            return 0.0
        if answer.status in (401, 403):
            self.trouble = forbidden(f"watch {self.kind.resource}", status)
            return self._line.options.longest_wait
        self.trouble = status.message
        seconds = status.more.retry_after_seconds
        self._retry_after = answer.retry_after if answer.retry_after is not None else seconds
        return None

    def _take(self, change: WatchLine) -> None:
        """Queue one change, without duplicates."""
        if change.type == "ERROR":
            answer = HttpResponse(
                status_of(HttpResponse(0, bytes(change.object))).code, bytes(change.object)
            )
            self._refused(answer)
            return
        try:
            version = version_of(change.object)
            if version <= self._version:
                return
            kind_of_change = _TYPES.get(change.type)
            if kind_of_change is not None:
                self._queue(kind_of_change, change)
            elif change.type == "BOOKMARK" and self._selection.bookmarks:
                mark = Record(self.kind, "", "", "", version, b"{}")
                self._events.append(WatchEvent(EventType.BOOKMARK, mark))
            self._version = version
        except InputError:
            self.unreadable += 1

    def _queue(self, kind_of_change: EventType, change: WatchLine) -> None:
        """Queue one change of an object.

        A server that does not filter shards sends the objects of all. The label of a changed object
        may have left the shard, so its reader must forget it.

        Raises:
            InputError: the object is malformed.
        """
        shard = self._selection.shard
        if is_foreign(shard, change.object):
            assert shard is not None
            if not shard.label or kind_of_change is EventType.ADDED:
                return
            kind_of_change = EventType.DELETED
        self._events.append(event_of(self.kind, kind_of_change, change.object))

    async def _wait_until_below(self, most: int) -> None:
        """Wait while the reader is far behind: unread events stay on the server."""
        while len(self._events) >= most and not self._closed:  # noqa: ASYNC110  (another thread)
            await asyncio.sleep(_FULL_PAUSE)
