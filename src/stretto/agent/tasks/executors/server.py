"""The ASGI application of an agent: its executors, on the loopback address."""

import re
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stretto.agent.tasks.executors.api import ExecutorApi
from stretto.offers.master.api.http import MasterRequest
from stretto.offers.master.server.connections import (
    answer_response,
    plain_response,
    read_body,
    serve_connection,
)
from stretto.offers.master.server.limits import RequestLimits

_EXECUTOR: Final = re.compile(r"^(/slave\(\d+\))?/api/v1/executor/?$")
_HEALTH: Final = re.compile(r"^(/slave\(\d+\))?/health/?$")


class AgentApp:
    """Application that limits requests, and writes answers and streams."""

    def __init__(self, api: ExecutorApi, limits: RequestLimits) -> None:
        """Serve executors."""
        self._api = api
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of the ASGI protocol."""
        await serve_connection(self._respond, scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path = request.url.path
        if _HEALTH.match(path):
            return Response(status_code=200)
        if not _EXECUTOR.match(path):
            return plain_response(404, "404 Not Found.")
        body = await read_body(request, self._limits)
        if isinstance(body, Response):
            return body
        headers = {key.lower(): value for key, value in request.headers.items()}
        answer = self._api.answer(MasterRequest(request.method, path, headers, body))
        return answer_response(answer, self._api.records)
