"""Streams of the API over HTTP: one task for each, and rounds that send to all that wait.

Hundreds of watches wait for the same change and send the same bytes. A round therefore sends to all
of them without their tasks, and creates each chunk once. The task of a stream does the rest: the
first objects, slow clients, webhooks and the end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from starlette.types import Receive, Send

from stretto.base.errors import StrettoError
from stretto.serving.chunks import ChunkWriter, chunk
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto.web.api.message import ApiStream
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall, ReviewMemory
from stretto.web.asgi import part, start
from stretto.web.barrier import Barrier
from stretto.web.wakeups import Wake, Wakeup, WakeupGroup

_IDLE_SECONDS: Final = 5.0
"""Seconds after which an idle stream checks for events and for its end by itself."""
_PIECE: Final = 64 << 10
"""Bytes that are written together: TLS keeps a buffer of this size for each connection."""

Review = Callable[[Sequence[WebhookCall]], Awaitable[Sequence[WebhookAnswer]]]
"""Calls webhooks at the same time; returns one answer for each."""


class HttpStreams:
    """The open streams of an application."""

    def __init__(self, barrier: Barrier, review: Review) -> None:
        """Start without streams.

        Args:
            barrier: makes events durable before they are sent.
            review: calls webhooks; other streams go on meanwhile.
        """
        self._barrier = barrier
        self._review = review
        self._chunks = _SharedChunks()
        self._wakeups: WakeupGroup | None = None

    async def serve(
        self,
        stream: ApiStream,
        memory: ReviewMemory,
        receive: Receive,
        send: Send,
        writer: ChunkWriter | None,
    ) -> None:
        """Send the chunks of a stream to its end or that of the client, the server or the store.

        Args:
            stream: the stream.
            memory: receives the answers of webhooks for which the stream waits.
            receive: receives the messages of the client.
            send: sends the messages of the response.
            writer: writes chunks; ``None`` if the server does not offer it.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + stream.timeout if stream.timeout else float("inf")
        direct = _DirectSender(stream, writer, self._chunks)
        news = Wakeup(self._wakeups_of(loop), _IDLE_SECONDS, until, direct)
        left = asyncio.ensure_future(_departure(receive))
        left.add_done_callback(lambda _: news.set())
        if writer is not None:
            writer.on_shutdown(left.cancel)
        try:
            await send(start(stream))
            while not left.done():
                news.clear()
                stream.call_once(news.wake)  # before the poll, so that no later change is missed
                try:
                    chunks = direct.poll()
                except PendingReviewsError as pending:
                    await self._review_for(memory, pending.calls, left)
                    continue
                if chunks is None or loop.time() >= until:
                    break
                if chunks:
                    await self._barrier.settled()
                    await send(part(b"".join(chunks), more=True))
                    if news.is_set or stream.is_due():
                        await asyncio.sleep(0)  # let other requests run
                        continue
                await news.wait()
            await send(part(b"", more=False))
        except StrettoError:  # the events may be lost, and the process ends with this error
            await send(part(b"", more=False))
        finally:
            left.cancel()
            news.close()
            stream.close()

    def _wakeups_of(self, loop: asyncio.AbstractEventLoop) -> WakeupGroup:
        """Return the group of wake-ups of the event loop that runs the application."""
        if self._wakeups is None or self._wakeups.loop is not loop:
            self._wakeups = WakeupGroup(loop, self._round)
        return self._wakeups

    @contextmanager
    def _round(self) -> Iterator[None]:
        """Enclose a round: its events are durable, and its streams share chunks."""
        self._barrier.settle()
        try:
            yield
        finally:
            self._chunks.clear()

    async def _review_for(
        self, memory: ReviewMemory, calls: Sequence[ReviewCall], left: asyncio.Future[None]
    ) -> None:
        """Call webhooks and store their answers in a memory, unless the client disconnects."""
        review = asyncio.ensure_future(self._review([each.call for each in calls]))
        waits: set[asyncio.Future[Any]] = {review, left}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if review.done():
            memory.take(calls, review.result())
        else:
            review.cancel()


class _SharedChunks:
    """Chunks of one round: streams with the same events send the same bytes."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[bytes, Sequence[bytes]]] = {}

    def clear(self) -> None:
        """Forget all chunks."""
        self._kept.clear()

    def of(self, data: bytes) -> Sequence[bytes]:
        """Return the chunk that contains the data, in the pieces that are written."""
        found = self._kept.get(id(data))
        if found is None:
            # The data is kept with its chunk, so that its identity stays unique.
            found = self._kept[id(data)] = data, _pieces(chunk(data))
        return found[1]


class _DirectSender:
    """Sends the events of one stream in rounds, without its task."""

    def __init__(
        self, stream: ApiStream, writer: ChunkWriter | None, chunks: _SharedChunks
    ) -> None:
        self._stream = stream
        self._writer = writer
        self._chunks = chunks
        self._failure: Exception | None = None

    def poll(self) -> Sequence[bytes] | None:
        """Return the events of the stream, or raise the error that ended it in a round."""
        if self._failure is not None:
            raise self._failure
        return self._stream.poll()

    def __call__(self, wake: Wake) -> bool:
        """Send the events that are due; return ``False`` if the task must go on."""
        if self._writer is None or not self._writer.is_ready:
            return False
        self._stream.call_once(wake)  # before the poll, so that no later change is missed
        try:
            chunks = self._stream.poll()
        except PendingReviewsError:
            return False
        except Exception as error:  # noqa: BLE001 - the other streams of the round go on
            self._failure = error
            return False
        if not chunks:
            return chunks is not None
        whole = b"".join(chunks)
        pieces = self._chunks.of(whole) if len(chunks) == 1 else _pieces(chunk(whole))
        for piece in pieces:
            self._writer.write(piece)
        return not self._stream.is_due()


def _pieces(data: bytes) -> Sequence[bytes]:
    if len(data) <= _PIECE:
        return (data,)
    return [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]


async def _departure(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
