"""Streams of the API over HTTP: one task for each, and rounds that send to all that wait.

The task of a stream does what a round does not: the first objects, slow clients, webhooks and the
end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from starlette.types import Receive, Send

from stretto.base.errors import StrettoError
from stretto.serving.chunks import ChunkWriter
from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto.web.api.message import ApiStream
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall, ReviewMemory
from stretto.web.asgi import part, start
from stretto.web.barrier import Barrier
from stretto.web.rounds import StreamRounds
from stretto.web.wakeups import Wakeup

_IDLE_SECONDS: Final = 5.0
"""Seconds after which an idle stream checks for events and for its end by itself."""

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
        self._rounds: StreamRounds | None = None

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
        rounds = self._rounds_of(loop)
        until = loop.time() + stream.timeout if stream.timeout else float("inf")
        direct = rounds.sender(stream, writer)
        news = Wakeup(rounds.group, _IDLE_SECONDS, until, direct)
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
                    if body := b"".join(chunks):
                        await self._barrier.settled()
                        await send(part(body, more=True))
                    if news.is_set or stream.is_due():
                        await asyncio.sleep(0)  # let other requests run
                        continue
                await news.wait()
            await send(part(b"", more=False))
        except StrettoError:  # the events may be lost, and the process ends with this error
            await send(part(b"", more=False))
        finally:
            left.cancel()
            rounds.end(direct)
            news.close()
            stream.close()

    def _rounds_of(self, loop: asyncio.AbstractEventLoop) -> StreamRounds:
        """Return the rounds of the event loop that runs the application."""
        if self._rounds is None or self._rounds.group.loop is not loop:
            self._rounds = StreamRounds(loop, self._barrier)
        return self._rounds

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


async def _departure(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
