"""The API as an ASGI application: bodies, headers, streams, and protection.

It implements ASGI directly, without a framework, because it has one route for all requests.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stretto.serving.configuration import PEER
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookAnswer, WebhookCall
from stretto.web.api.authn.users import certificate_user
from stretto.web.api.message import Answer, ApiRequest, ApiResponse, ApiStream
from stretto.web.api.webhooks.reviews import (
    PendingReviews,
    PendingReviewsError,
    ReviewCall,
    ReviewMemory,
)
from stretto.web.hosts import LOOPBACK_HOSTS, host_of
from stretto.web.wakeups import Wakeup, WakeupGroup

MAX_BODY: Final = 3 << 20
"""Maximum bytes of a request body, as in kube-apiserver."""
_BODY_SECONDS: Final = 60.0
"""Seconds within which a client must send a body."""
_IDLE_SECONDS: Final = 5.0
"""Seconds after which an idle stream checks for events and for its end by itself."""
_MOST_ATTEMPTS: Final = 100
"""Maximum attempts of a request; each attempt but the last one waits for webhooks."""
_TEXT: Final = "text/plain; charset=utf-8"

Attempt = Callable[[ApiRequest], Answer | PendingReviews]
"""Answers a request, or returns the webhooks that must answer first."""
Review = Callable[[Sequence[WebhookCall]], Awaitable[Sequence[WebhookAnswer]]]
"""Calls webhooks at the same time; returns one answer for each."""
Settled = Callable[[], Awaitable[None]]
"""Waits until all previous writes are durable."""


async def at_once() -> None:
    """Return at once: writes are durable when they return."""


async def unreviewed(calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
    """Answer without calling any webhook."""
    return NO_WEBHOOKS.send(calls)


def application(
    attempt: Attempt,
    settled: Settled = at_once,
    review: Review = unreviewed,
    *,
    loopback: bool = True,
) -> ASGIApp:
    """Return the API as an application.

    Args:
        attempt: answers requests.
        settled: awaited before a response is sent, so that every answered state survives a kill of
            the process.
        review: calls webhooks; other requests are answered meanwhile.
        loopback: refuse requests with a host name of another machine, which a browser sends after
            DNS rebinding to this address.
    """
    return _Api(attempt, settled, review, loopback=loopback)


class _Api:
    """Application that answers every HTTP request."""

    def __init__(
        self, attempt: Attempt, settled: Settled, review: Review, *, loopback: bool
    ) -> None:
        self._attempt = attempt
        self._settled = settled
        self._review = review
        self._loopback = loopback
        self._wakeups: WakeupGroup | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = _headers(scope["headers"])
        refusal = _foreign(headers) if self._loopback else None
        if refusal is not None:
            await _respond(refusal, send)
            return
        try:
            body = await _body(receive)
        except TimeoutError:
            await _respond(_plain(408, "the body did not arrive in time\n"), send)
            return
        if body is None:
            return
        target = scope.get("raw_path", b"/").decode("latin-1")
        query = scope.get("query_string", b"").decode("latin-1")
        decoded = (scope.get("extensions") or {}).get(PEER)
        peer = None if decoded is None else certificate_user(decoded)
        whole = f"{target}?{query}" if query else target
        request = ApiRequest(scope["method"], whole, headers, body, peer)
        answer = await self._answered(request)
        if isinstance(answer, ApiStream):
            await self._stream(answer, request.memory, receive, send)
            return
        await self._settled()
        await _respond(answer, send)

    async def _answered(self, request: ApiRequest) -> Answer:
        """Answer a request; call the webhooks whose answers it needs."""
        for _ in range(_MOST_ATTEMPTS):
            answer = self._attempt(request)
            if not isinstance(answer, PendingReviews):
                return answer
            calls = [each.call for each in answer.calls]
            request.memory.take(answer.calls, await self._review(calls))
        return _plain(504, "the object changes faster than its webhooks answer\n")

    async def _stream(
        self, stream: ApiStream, memory: ReviewMemory, receive: Receive, send: Send
    ) -> None:
        """Send the chunks of a stream until it ends or the client disconnects.

        If the stream waits for webhooks, their answers are stored in the memory of its request.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + stream.timeout if stream.timeout else float("inf")
        news = Wakeup(self._wakeups_of(loop), _IDLE_SECONDS, until)
        left = asyncio.ensure_future(_departure(receive))
        left.add_done_callback(lambda _: news.set())
        try:
            await send(_start(stream.status, _listed(stream, None)))
            while not left.done():
                news.clear()
                stream.call_once(news.wake)  # before the poll, so that no later change is missed
                try:
                    chunks = stream.poll()
                except PendingReviewsError as pending:
                    await self._review_for(memory, pending.calls, left)
                    continue
                if chunks is None or loop.time() >= until:
                    break
                if chunks:
                    await self._settled()
                    await send(_part(b"".join(chunks), more=True))
                    if news.is_set or stream.is_due():
                        await asyncio.sleep(0)  # let other requests run
                        continue
                await news.wait()
            await send(_part(b"", more=False))
        finally:
            left.cancel()
            news.close()
            stream.close()

    def _wakeups_of(self, loop: asyncio.AbstractEventLoop) -> WakeupGroup:
        """Return the group of wake-ups of the event loop that runs the application."""
        if self._wakeups is None or self._wakeups.loop is not loop:
            self._wakeups = WakeupGroup(loop)
        return self._wakeups

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


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name; the values of a repeated header are joined by commas."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = str(name, "latin-1"), str(value, "latin-1")  # ASGI names are in lower case
        found[key] = f"{found[key]},{text}" if key in found else text
    return found


def _foreign(headers: Mapping[str, str]) -> ApiResponse | None:
    """Return the refusal of a request to another host, or from a page of another site."""
    name = host_of(headers.get("host", "127.0.0.1"))
    if name not in LOOPBACK_HOSTS:
        return _plain(421, f"the host {name!r} is not this machine; use 127.0.0.1\n")
    origin = headers.get("origin", "").partition("//")[2]
    if origin and host_of(origin) not in LOOPBACK_HOSTS:
        return _plain(403, "a page of another site\n")
    return None


async def _body(receive: Receive) -> bytes | None:
    """Read the body; ``None`` if the client disconnects.

    It has at most one byte more than the limit; the API then refuses it.

    Raises:
        TimeoutError: the body does not arrive in time.
    """
    async with asyncio.timeout(_BODY_SECONDS):
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return body[: MAX_BODY + 1]
        found = bytearray(body)
        while message.get("more_body") and len(found) <= MAX_BODY:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            found += message.get("body", b"")
    return bytes(found[: MAX_BODY + 1])


def _plain(status: int, text: str) -> ApiResponse:
    return ApiResponse(status, text.encode(), _TEXT)


async def _respond(answer: ApiResponse, send: Send) -> None:
    await send(_start(answer.status, _listed(answer, len(answer.body))))
    await send(_part(answer.body, more=False))


def _start(status: int, headers: Sequence[tuple[bytes, bytes]]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _listed(answer: ApiResponse | ApiStream, length: int | None) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response as pairs."""
    found: list[tuple[bytes, bytes]] = []
    for name, value in answer.headers.items():
        key = name.lower().encode("latin-1")
        values = (value,) if isinstance(value, str) else value
        found += [(key, each.encode("utf-8")) for each in values]
    if answer.content_type:
        found.append((b"content-type", answer.content_type.encode("latin-1")))
    if length is not None:
        found.append((b"content-length", str(length).encode()))
    return found
