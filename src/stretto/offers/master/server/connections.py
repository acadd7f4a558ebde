"""Connections of the ASGI protocol: bodies within limits, answers and streams."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from stretto.offers.master.api.http import HttpAnswer
from stretto.offers.master.server.limits import RequestLimits
from stretto.offers.master.state.outbox import ClientStream

_DIGITS: Final = 18
"""Digits of a Content-Length that are read; more than any body needs."""
Respond = Callable[[Request], Awaitable[Response]]
"""Function that answers a request."""


async def serve_connection(respond: Respond, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the request of a connection, unless the client has disconnected."""
    if scope["type"] != "http":
        return
    try:
        response = await respond(Request(scope, receive))
    except ClientDisconnect:
        return
    await response(scope, receive, send)


def answer_response(
    answer: HttpAnswer, records: Callable[[ClientStream], AsyncIterator[bytes]]
) -> Response:
    """Convert an answer of an API to a response; ``records`` returns those of its stream."""
    headers = dict(answer.headers)
    if answer.content_type:
        headers["Content-Type"] = answer.content_type
    if answer.stream is None:
        return Response(answer.body, answer.status, headers)
    return StreamingResponse(records(answer.stream), answer.status, headers)


def request_headers(request: Request) -> dict[str, str]:
    """The headers of a request by name in lower case, as in the protocol."""
    pairs = request.scope["headers"]
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}


async def read_body(request: Request, limits: RequestLimits) -> bytes | Response:
    """The body within its limits, or an error response for a larger or slower body."""
    parts: list[bytes] = []
    size = 0
    stated = request.headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:_DIGITS]) > limits.body:
        return _too_large(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body:
                    return _too_large(limits)
                parts.append(part)
    except TimeoutError:
        return plain_response(408, f"The body is not complete after {limits.seconds:g} s")
    return b"".join(parts)


def _too_large(limits: RequestLimits) -> Response:
    return plain_response(413, f"The body is larger than {limits.body:,} bytes")


def plain_response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """An answer with a text."""
    return Response(text, status, headers, "text/plain; charset=utf-8")
