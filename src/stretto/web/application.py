"""The HTTP application: the API and further pages as routes of one Starlette application."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from stretto.serving.configuration import PEER
from stretto.web.api.authn.users import certificate_user
from stretto.web.api.message import Answer, ApiRequest, ApiResponse, ApiStream
from stretto.web.hosts import LOOPBACK_HOSTS, host_of

MAX_BODY: Final = 3 << 20
"""Bytes of a request body, as in kube-apiserver."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_IDLE_SECONDS: Final = 5.0
"""Seconds after which a quiet stream looks for events and for its end by itself."""

Handle = Callable[[ApiRequest], Answer]
"""Answers a request."""


def application(routes: Sequence[BaseRoute], *, loopback: bool = True) -> ASGIApp:
    """One application from the routes of its parts; the API comes last, because it takes all paths.

    Args:
        routes: pages first, then ``api_routes``.
        loopback: refuses requests that name another host than this machine, as a browser sends
            them after a name has been bound to this address.
    """
    app: ASGIApp = Starlette(routes=list(routes))
    return _LoopbackOnly(app) if loopback else app


def api_routes(handle: Handle) -> list[BaseRoute]:
    """The routes of the API."""
    return [Route("/{path:path}", _Endpoint(handle), methods=list(_METHODS))]


class _LoopbackOnly:
    """Refuses requests whose ``Host`` is not this machine."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        """Pass on a request of this machine."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            name = host_of(headers.get(b"host", b"127.0.0.1").decode("latin-1"))
            if name not in LOOPBACK_HOSTS:
                text = f"the host {name!r} is not this machine; use 127.0.0.1\n"
                await PlainTextResponse(text, 421)(scope, receive, send)
                return
            origin = headers.get(b"origin", b"").decode("latin-1").partition("//")[2]
            if origin and host_of(origin) not in LOOPBACK_HOSTS:
                await PlainTextResponse("a page of another site\n", 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Endpoint:
    """The API as an ASGI endpoint."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        """Answer one request."""
        request = Request(scope, receive)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return
        target = scope.get("raw_path", b"/").decode("latin-1")
        query = scope.get("query_string", b"").decode("latin-1")
        headers = {name: request.headers[name] for name in request.headers}
        whole = f"{target}?{query}" if query else target
        decoded = (scope.get("extensions") or {}).get(PEER)
        peer = None if decoded is None else certificate_user(decoded)
        made = ApiRequest(request.method, whole, headers, body, peer)
        answer = self._handle(made)
        await _response(answer)(scope, receive, send)


async def _body(request: Request) -> bytes:
    """The body, at most one byte more than is allowed: the API refuses it then."""
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > MAX_BODY:
            break
    return bytes(found[: MAX_BODY + 1])


def _response(answer: Answer) -> Response:
    made: Response
    if isinstance(answer, ApiStream):
        made = StreamingResponse(_events(answer), answer.status, media_type=answer.content_type)
    else:
        made = Response(answer.body, answer.status, media_type=answer.content_type or None)
    _set_headers(made, answer)
    return made


def _set_headers(made: Response, answer: ApiResponse | ApiStream) -> None:
    headers: Mapping[str, str | Sequence[str]] = answer.headers
    for name, value in headers.items():
        for each in (value,) if isinstance(value, str) else value:
            made.headers.append(name, each)
    if answer.content_type:
        made.headers["content-type"] = answer.content_type


async def _events(stream: ApiStream) -> AsyncIterator[bytes]:
    """The chunks of a stream until it ends or the client leaves."""
    loop = asyncio.get_running_loop()
    news = asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    end = stream.subscribe(wake)
    until = loop.time() + stream.timeout if stream.timeout else float("inf")
    try:
        while True:
            news.clear()
            chunks = stream.poll()
            if chunks is None or loop.time() >= until:
                return
            if chunks:
                yield b"".join(chunks)
                continue
            wait = min(_IDLE_SECONDS, until - loop.time())
            try:
                await asyncio.wait_for(news.wait(), wait)
            except TimeoutError:
                continue
    finally:
        end()
        stream.close()
