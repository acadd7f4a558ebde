"""The API as an ASGI application: bodies, headers, streams, and protection.

It implements ASGI directly, without a framework, because it has one route for all requests.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from stretto.base.errors import StrettoError
from stretto.serving.chunks import WRITER
from stretto.serving.configuration import PEER
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookAnswer, WebhookCall
from stretto.web.api.authn.users import certificate_user
from stretto.web.api.message import Answer, ApiRequest, ApiResponse, ApiStream
from stretto.web.api.webhooks.reviews import PendingReviews
from stretto.web.asgi import part, start
from stretto.web.barrier import NO_BARRIER, Barrier
from stretto.web.hosts import LOOPBACK_HOSTS, host_of
from stretto.web.streaming import HttpStreams, Review

MAX_BODY: Final = 3 << 20
"""Maximum bytes of a request body, as in kube-apiserver."""
_BODY_SECONDS: Final = 60.0
"""Seconds within which a client must send a body."""
_MOST_ATTEMPTS: Final = 100
"""Maximum attempts of a request; each attempt but the last one waits for webhooks."""
_TEXT: Final = "text/plain; charset=utf-8"

Attempt = Callable[[ApiRequest], Answer | PendingReviews]
"""Answers a request, or returns the webhooks that must answer first."""


async def unreviewed(calls: Sequence[WebhookCall]) -> Sequence[WebhookAnswer]:
    """Answer without calling any webhook."""
    return NO_WEBHOOKS.send(calls)


def application(
    attempt: Attempt,
    barrier: Barrier = NO_BARRIER,
    review: Review = unreviewed,
    *,
    loopback: bool = True,
) -> ASGIApp:
    """Return the API as an application.

    Args:
        attempt: answers requests.
        barrier: makes writes durable before a response is sent, so that every answered state
            survives a kill of the process.
        review: calls webhooks; other requests are answered meanwhile.
        loopback: refuse requests with a host name of another machine, which a browser sends after
            DNS rebinding to this address.
    """
    return _Api(attempt, barrier, review, loopback=loopback)


class _Api:
    """Application that answers every HTTP request."""

    def __init__(
        self, attempt: Attempt, barrier: Barrier, review: Review, *, loopback: bool
    ) -> None:
        self._attempt = attempt
        self._barrier = barrier
        self._review = review
        self._loopback = loopback
        self._streams = HttpStreams(barrier, review)

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
        extensions = scope.get("extensions") or {}
        decoded = extensions.get(PEER)
        peer = None if decoded is None else certificate_user(decoded)
        whole = f"{target}?{query}" if query else target
        request = ApiRequest(scope["method"], whole, headers, body, peer)
        answer = await self._answered(request)
        if isinstance(answer, ApiStream):
            writer = extensions.get(WRITER, {}).get("writer")
            await self._streams.serve(answer, request.memory, receive, send, writer)
            return
        try:
            await self._barrier.settled()
        except StrettoError as error:
            answer = _plain(500, f"{error}\n")
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
    await send(start(answer))
    await send(part(answer.body, more=False))
