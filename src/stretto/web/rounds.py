"""Rounds of streams: what the tasks of streams would send is sent to all that wait at once.

Hundreds of watches wait for the same change and send the same bytes. Streams with the same contents
join a feed, which a round polls once; each chunk is created once.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from stretto.base.errors import StrettoError
from stretto.serving.chunks import ChunkWriter, chunk
from stretto.web.api.message import ApiStream, StreamFeed
from stretto.web.api.webhooks.reviews import PendingReviewsError
from stretto.web.barrier import Barrier
from stretto.web.wakeups import Wakeup, WakeupGroup

_PIECE: Final = 64 << 10
"""Bytes that are written together: TLS keeps a buffer of this size for each connection."""


class StreamRounds:
    """The streams of one event loop that are served in rounds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, barrier: Barrier) -> None:
        """Start without streams; a barrier makes events durable before they are sent."""
        #: The wake-ups that a round serves.
        self.group = WakeupGroup(loop, self._round)
        self._barrier = barrier
        self._chunks = _SharedChunks()
        self._feeds: dict[StreamFeed, _FeedSender] = {}
        self._polled: list[tuple[RoundSender, Wakeup]] = []

    def sender(self, stream: ApiStream, writer: ChunkWriter | None) -> "RoundSender":
        """Return what sends the chunks of a stream in rounds.

        Args:
            stream: the stream.
            writer: writes chunks; ``None`` if the server does not offer it.
        """
        return RoundSender(stream, writer, self._chunks, self._polled.append)

    def end(self, sender: "RoundSender") -> None:
        """Send no more chunks of a stream."""
        for each in self._feeds.values():
            each.remove(sender)
        self._drop_empty()

    @contextmanager
    def _round(self) -> Iterator[None]:
        """Enclose a round: its events are durable, and its streams share chunks."""
        self._barrier.settle()
        try:
            yield
        finally:
            self._chunks.clear()
        self._join()
        self._drop_empty()

    def _join(self) -> None:
        """Let the streams that the round has polled join feeds."""
        polled, self._polled[:] = list(self._polled), []
        for sender, wakeup in polled:
            feed = sender.stream.join() if wakeup.is_awaited else None
            if feed is None:
                continue
            if feed not in self._feeds:
                self._feeds[feed] = _FeedSender(feed, self.group, self._chunks)
                self._feeds[feed].wake()  # a change may have come since the stream was polled
            self._feeds[feed].add(sender, wakeup)

    def _drop_empty(self) -> None:
        """Forget the feeds without streams."""
        for feed in [feed for feed, each in self._feeds.items() if each.is_empty]:
            del self._feeds[feed]


class RoundSender:
    """Sends the chunks of one stream in rounds, without its task."""

    __slots__ = ("_chunks", "_failure", "_polled", "_writer", "stream")

    def __init__(
        self,
        stream: ApiStream,
        writer: ChunkWriter | None,
        chunks: "_SharedChunks",
        polled: Callable[[tuple["RoundSender", Wakeup]], None],
    ) -> None:
        """Send the chunks of a stream with a writer; ``polled`` receives it after each poll."""
        #: The stream.
        self.stream = stream
        self._writer = writer
        self._chunks = chunks
        self._polled = polled
        self._failure: Exception | None = None

    @property
    def is_ready(self) -> bool:
        """Return whether the client has received enough of the earlier chunks."""
        return self._writer is not None and self._writer.is_ready

    def poll(self) -> Sequence[bytes] | None:
        """Return the chunks of the stream, or raise the error that ended it in a round."""
        if self._failure is not None:
            raise self._failure
        return self.stream.poll()

    def write(self, pieces: Sequence[bytes]) -> bool:
        """Send the pieces of a chunk; ``False`` if the client is not ready."""
        return self._writer is not None and self._writer.write(pieces)

    def __call__(self, wakeup: Wakeup) -> bool:
        """Send the chunks that are due; return ``False`` if the task must go on."""
        if not self.is_ready:
            return False
        self.stream.call_once(wakeup.wake)  # before the poll, so that no later change is missed
        try:
            chunks = self.stream.poll()
        except PendingReviewsError:
            return False
        except Exception as error:  # noqa: BLE001 - the other streams of the round go on
            self._failure = error
            return False
        if chunks is None:
            return False
        self.write(self._chunks.of(chunks))
        if self.stream.is_due():
            return False
        self._polled((self, wakeup))
        return True


class _FeedSender:
    """Sends the chunks of one feed to the streams in it."""

    def __init__(self, feed: StreamFeed, group: WakeupGroup, chunks: "_SharedChunks") -> None:
        self._feed = feed
        self._group = group
        self._chunks = chunks
        self._members: dict[RoundSender, Wakeup] = {}

    @property
    def is_empty(self) -> bool:
        """Return whether no stream is in the feed."""
        return not self._members

    def add(self, sender: RoundSender, wakeup: Wakeup) -> None:
        """Send to a stream that has joined the feed."""
        self._members[sender] = wakeup

    def remove(self, sender: RoundSender) -> None:
        """Send no more to a stream, if it is in the feed."""
        self._members.pop(sender, None)

    def wake(self) -> None:
        """Send in the next round; any thread may call this."""
        self._group.add(self)

    def advance(self) -> None:
        """Send the next chunks; a stream that cannot send now leaves the feed before them."""
        if not self._members:
            return
        self._feed.call_once(self.wake)  # before the poll, so that no later change is missed
        try:
            chunks = self._feed.poll()
        except Exception:  # noqa: BLE001 - each stream meets the error by itself
            chunks = None
        if chunks is None:
            self._leave(list(self._members), sent=True)
        elif chunks:
            self._send(self._chunks.of(chunks))
        if self._feed.is_due:
            self.wake()

    def _send(self, pieces: Sequence[bytes]) -> None:
        members = self._members.items()
        busy = [each for each, news in members if not (news.is_awaited and each.write(pieces))]
        self._leave(busy, sent=False)

    def fail(self, error: StrettoError) -> None:
        """Raise an error in the tasks of the streams."""
        for wakeup in self._members.values():
            wakeup.fail(error)

    def _leave(self, senders: Sequence[RoundSender], *, sent: bool) -> None:
        """Let the tasks of some streams go on, after the last chunks if these were sent."""
        for sender in senders:
            sender.stream.leave(sent)
            self._members.pop(sender).set()


class _SharedChunks:
    """Chunks of one round: streams with the same events send the same bytes."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[bytes, Sequence[bytes]]] = {}

    def clear(self) -> None:
        """Forget all chunks."""
        self._kept.clear()

    def of(self, events: Sequence[bytes]) -> Sequence[bytes]:
        """Return the chunk that contains the events, in the pieces that are written."""
        if len(events) != 1:
            return _pieces(chunk(b"".join(events))) if events else ()
        (data,) = events
        found = self._kept.get(id(data))
        if found is None:
            # The data is kept with its chunk, so that its identity stays unique.
            found = self._kept[id(data)] = data, _pieces(chunk(data))
        return found[1]


def _pieces(data: bytes) -> Sequence[bytes]:
    if len(data) <= _PIECE:
        return (data,)
    return [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
