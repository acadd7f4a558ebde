"""The ASGI application of a master."""

import re
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from stretto.offers.master.api.http import MasterRequest
from stretto.offers.master.server.connections import (
    answer_response,
    plain_response,
    read_body,
    request_headers,
    serve_connection,
)
from stretto.offers.master.server.credentials import CHALLENGE, Authenticator
from stretto.offers.master.server.host import MasterHost
from stretto.offers.master.server.limits import RateLimiter, RequestLimits
from stretto.offers.messages import binary, text
from stretto.offers.messages.text import MessageError

_AGENT: Final = re.compile(r"^/master/mesos\.internal\.(\w+)$")
LINK: Final = "/api/v1/agent"
"""Path at which an agent of this package opens its stream."""
_OPEN: Final = frozenset({"/health", "/master/health", "/redirect", "/master/redirect"})


class MasterApp:
    """Reads requests within their limits, and writes answers and streams."""

    def __init__(
        self,
        host: MasterHost,
        authenticator: Authenticator,
        limits: RequestLimits,
        rates: RateLimiter,
    ) -> None:
        """Serve a master."""
        self._host = host
        self._authenticator = authenticator
        self._limits = limits
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of the ASGI protocol."""
        await serve_connection(self._respond, scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        principal = self._authenticator.principal(request.headers.get("authorization"))
        path: str = request.scope["path"]
        if self._authenticator.required and principal is None and path not in _OPEN:
            return plain_response(401, "401 Unauthorized.", {"WWW-Authenticate": CHALLENGE})
        if not self._rates.admits(principal or ""):
            text = "Too many requests: wait, or raise --rate-limit"
            return plain_response(429, text, {"Retry-After": "1"})
        body = await read_body(request, self._limits)
        if isinstance(body, Response):
            return body
        if path == LINK:
            return self._link(request, body)
        message = _AGENT.match(path)
        if message is not None:
            return self._from_agent(request, message.group(1), body)
        answer = await self._host.answer(
            MasterRequest(
                request.method,
                path,
                request_headers(request),
                body,
                dict(request.query_params) if request.scope["query_string"] else {},
                principal,
            )
        )
        return answer_response(answer, self._host.records)

    def _link(self, request: Request, body: bytes) -> Response:
        """Open the stream of an agent; the body is its registration."""
        pid = request.headers.get("libprocess-from", "")
        if not pid:
            return plain_response(400, "Expecting the address of the agent in Libprocess-From")
        try:
            opened = text.parse(body)
            name, message = opened["name"], opened["message"]
        except (MessageError, KeyError, TypeError):
            return plain_response(
                400, 'Expecting {"name": ..., "message": ...} with a registration'
            )
        try:
            message = text.read(f"agent.{name}", message)
        except KeyError:
            return plain_response(400, f"{name} is no message of an agent")
        except MessageError as error:
            return plain_response(400, f"Failed to read {name}: {error}")
        queue = self._host.links.open(pid)
        if not self._host.receive(pid, name, message):
            self._host.links.closed(pid, queue)
            return plain_response(400, f"{name} is no message of an agent")

        async def records() -> AsyncIterator[bytes]:
            try:
                async for record in queue.records():
                    yield record
            finally:
                self._host.links.closed(pid, queue)

        return StreamingResponse(records(), 200, {"Content-Type": "application/json"})

    def _from_agent(self, request: Request, name: str, body: bytes) -> Response:
        """Handle a message of an agent, in JSON or by default protobuf."""
        is_json = request.headers.get("content-type", "").startswith("application/json")
        try:
            message = (text.decode if is_json else binary.read)(f"agent.{name}", body)
            known = self._host.receive(request.headers.get("libprocess-from", ""), name, message)
        except KeyError:
            known = False
        except MessageError as error:
            return plain_response(400, f"Failed to read {name}: {error}")
        return Response(b"", 202) if known else plain_response(404, "404 Not Found.")
