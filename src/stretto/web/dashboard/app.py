"""The dashboard as one ASGI application over a source of views."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from stretto.base.errors import NotFoundError, StrettoError
from stretto.web.dashboard.exports import Exports
from stretto.web.dashboard.forms import DashboardForms
from stretto.web.dashboard.frames import INTERVAL, FrameHub
from stretto.web.dashboard.guard import Guard
from stretto.web.dashboard.pages import Pages
from stretto.web.dashboard.render import PAGES, Renderer
from stretto.web.dashboard.requests import page_path
from stretto.web.dashboard.studies import StudyPages
from stretto.web.hosts import LOOPBACK_HOSTS
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sight import ViewSource

_STATIC: Final = Path(__file__).parent / "static"
_QUIET: Final = 5.0
"""Seconds after which a comment is sent to an idle reader of events."""


class Access(NamedTuple):
    """Who may open the dashboard."""

    #: Names, without port, by which a browser may reach it.
    hosts: Collection[str] = LOOPBACK_HOSTS
    #: What a browser must present once; empty where another layer authenticates.
    token: str = ""
    #: Path below which another application mounts the dashboard; empty for its own server.
    base: str = ""


LOCAL: Final = Access()
"""Browsers of this machine, without a token."""
READ_ONLY: Final = DashboardParts()
"""No studies, plans or actions."""


def dashboard_app(
    source: ViewSource, parts: DashboardParts = READ_ONLY, access: Access = LOCAL
) -> Starlette:
    """The dashboard of a source.

    Args:
        source: the state that is shown.
        parts: what it offers beyond reading.
        access: who may open it.
    """
    shown = {
        "/studies": parts.studies is not None,
        "/plan": parts.plan is not None,
        "/defragment": parts.defragment is not None,
    }
    pages = tuple(each for each in PAGES if shown.get(each[0], True))
    renderer = Renderer(source.title, pages, access.base)
    live = Live(source)
    routes = [
        *Pages(source, renderer).routes(),
        *DashboardForms(source, parts, renderer).routes(),
        *(StudyPages(source, parts.studies, renderer).routes() if parts.studies else ()),
        *Exports(source).routes(),
        *live.routes(),
        Route("/healthz", _healthy),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]

    def failed(request: Request, error: Exception) -> Response:
        return _error_page(renderer, request, error)

    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=access.hosts, token=access.token)],
        exception_handlers={StrettoError: failed, HTTPException: failed},
    )


class Live:
    """What browsers read continuously: the layout and frames of nodes, and changes."""

    def __init__(self, source: ViewSource) -> None:
        """Serve the changes of a source."""
        self._source = source
        self._hub = FrameHub(source)

    def routes(self) -> list[Route]:
        """The routes of the streams."""
        return [
            Route("/live/layout", self._layout),
            Route("/live/frames", self._frames),
            Route("/live/changes", self._changes),
        ]

    async def _layout(self, request: Request) -> Response:
        del request
        layout = await self._hub.layout()
        return Response(msgspec.json.encode(layout), media_type="application/json")

    async def _frames(self, request: Request) -> Response:
        frames = self._hub.frames(request.query_params.get("column", "cpu"))
        return StreamingResponse(frames, media_type="application/octet-stream")

    async def _changes(self, request: Request) -> Response:
        del request
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[bytes]:
        """A server-sent event per change, with the decisions since the last one."""
        clock = asyncio.get_running_loop().time
        version, position, sent_at = -1, 0, 0.0
        while True:
            now = self._source.version
            if now != version:
                position, found = self._source.decisions(position)
                version, sent_at = now, clock()
                event = {"version": version, "decisions": [msgspec.to_builtins(d) for d in found]}
                yield b"data: " + json.dumps(event).encode() + b"\n\n"
            elif clock() - sent_at > _QUIET:
                sent_at = clock()
                yield b": idle\n\n"
            await asyncio.sleep(INTERVAL)


async def _healthy(request: Request) -> Response:
    del request
    return PlainTextResponse("ok")


def _error_page(renderer: Renderer, request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        status, text = error.status_code, error.detail
    else:
        status = HTTPStatus.NOT_FOUND if isinstance(error, NotFoundError) else HTTPStatus.CONFLICT
        text = str(error)
    values = {"path": page_path(request), "bare": "part" in request.query_params, "live": False}
    return renderer.page("error", {**values, "status": int(status), "text": text}, int(status))
