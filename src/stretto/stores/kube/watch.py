"""Watches that outlive their connections.

A task on the event loop reads the stream into a queue; the reader polls the queue and never waits.
A connection that ends, breaks or falls silent is made anew from the version seen last, so nothing
is lost; what was seen is dropped, so nothing is doubled. When the server no longer has the
history (410), the watch says so and its reader lists afresh.
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
"""Too old; or newer than anything the server knows (it was restored): both mean list afresh."""
_GATHER: Final = 0.005
"""Seconds in which the next changes gather: waking up for one costs more than taking it."""
_FEW: Final = 64
"""Changes that came together up to which there is anything to gather."""
_FULL_PAUSE: Final = 0.02
"""Seconds between looks whether the reader has made room."""
_SHORT: Final = 1.0
"""Seconds: a server that ends its streams sooner, with nothing told, is not asked at once again."""
_SILENCES: Final = 2
"""Silent streams in a row after which a fresh list is asked for."""


class WatchTarget(NamedTuple):
    """What a watch is about."""

    #: The kind.
    kind: Kind
    #: The selected objects, and whether bookmarks are yielded.
    selection: ListOptions
    #: Called on the event loop's thread when there is something to poll.
    notify: Callable[[], None]


class KubeWatch:
    """The changes of one kind after a version."""

    def __init__(self, target: WatchTarget, since: int, line: HttpClient, rng: Rng) -> None:
        """A watch that begins when ``run`` is started on the event loop."""
        #: What is watched.
        self.kind = target.kind
        #: Why no stream could be had lately; empty while one is open.
        self.trouble = ""
        #: Whether the server does not have the kind (its CRD is not installed).
        self.is_absent = False
        #: Connections made so far.
        self.connections = 0
        #: Objects that could not be read, so far.
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
        self._asked: float | None = None
        self._running: Future[None] | None = None

    # ------------------------------------------------------------ the reader's thread

    def started(self, running: "Future[None]") -> None:
        """Its ``run`` has begun on the event loop; its end is something to poll, too."""
        self._running = running
        running.add_done_callback(lambda _: self._notify())

    def poll(self, limit: int = 4096) -> list[WatchEvent]:
        """The next changes, oldest first, at most ``limit``; empty when there are none now.

        Raises:
            TooOldError: the server no longer has the next change.
            Exception: what has ended the watch although nobody expected it.
        """
        if self._closed:
            return []
        events = self._events
        batch = [events.popleft() for _ in range(min(limit, len(events)))]
        if not batch and self._too_old:
            raise TooOldError(str(self._version), "what the server still has")
        if not batch and self._running is not None and self._running.done():
            self._running.result()
        return batch

    def close(self) -> None:
        """Stop watching, and hang up: the server need not tell a reader that has gone."""
        self._closed = True
        self._events.clear()
        if self._running is not None:
            self._running.cancel()

    @property
    def is_closed(self) -> bool:
        """Whether its reader has no more use for it."""
        return self._closed

    # ------------------------------------------------------------ the event loop

    async def run(self) -> None:
        """Keep a stream open until the watch is closed or too old."""
        backoff = Backoff(self._line.options, self._rng)
        while self._goes_on():
            before, self._asked = self._version, None
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
                await asyncio.sleep(backoff.next(self._asked) if wait is None else wait)
        self._notify()

    def _silent(self, before: int) -> float:
        """A stream without a byte for long, although bookmarks come every minute.

        Once, the line was dead. Twice, the server may be waiting for a version that it will never
        reach, because it was restored from an older state: a fresh list tells.
        """
        self._silences = 1 if self._version > before else self._silences + 1
        if self._silences >= _SILENCES:
            self._too_old = True
        return 0.0

    def _goes_on(self) -> bool:
        return not (self._closed or self._too_old)

    async def _connected(self) -> float | None:
        """One connection from beginning to end; seconds to wait before the next, if it matters."""
        options = self._line.options
        seconds = options.watch_for * (1 + self._rng.random())
        query = {
            "watch": "1",
            "resourceVersion": str(self._version),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(seconds)),
        }
        selection = self._selection
        if selection.labels:
            query["labelSelector"] = selection.labels
        if selection.fields:
            query["fieldSelector"] = selection.fields
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
                await self._room(options.held_events)
                if len(changes) < _FEW:
                    await asyncio.sleep(_GATHER)
            lasted = self._version > began or loop.time() - opened > _SHORT
            return 0.0 if lasted else None
        finally:
            response.close()

    def _refused(self, answer: HttpResponse) -> float | None:
        """A watch that the server does not open."""
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
        self._asked = answer.retry_after if answer.retry_after is not None else seconds
        return None

    def _take(self, change: WatchLine) -> None:
        """Queue one change, once."""
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
                self._events.append(event_of(self.kind, kind_of_change, change.object))
            elif change.type == "BOOKMARK" and self._selection.bookmarks:
                mark = Record(self.kind, "", "", "", version, b"{}")
                self._events.append(WatchEvent(EventType.BOOKMARK, mark))
            self._version = version
        except InputError:
            self.unreadable += 1

    async def _room(self, most: int) -> None:
        """Wait while the reader is far behind: the server keeps what is not read, or cuts us."""
        while len(self._events) >= most and not self._closed:  # noqa: ASYNC110  (another thread)
            await asyncio.sleep(_FULL_PAUSE)
