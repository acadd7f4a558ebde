"""The dashboard as one ASGI application over a source of views."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from stretto.base.errors import NotFoundError, StrettoError
from stretto.web.dashboard.exports import Exports
from stretto.web.dashboard.forms import DashboardForms
from stretto.web.dashboard.guard import LOCAL, Access, Guard
from stretto.web.dashboard.live import Live
from stretto.web.dashboard.pages import Pages
from stretto.web.dashboard.pools import PoolPages
from stretto.web.dashboard.render import PAGES, Renderer
from stretto.web.dashboard.requests import frame_of
from stretto.web.dashboard.studies import StudyPages
from stretto.web.views.parts import READ_ONLY, DashboardParts
from stretto.web.views.state import ViewSource

_STATIC: Final = Path(__file__).parent / "static"


def dashboard_app(
    source: ViewSource, parts: DashboardParts = READ_ONLY, access: Access = LOCAL
) -> Starlette:
    """Return the dashboard of a source.

    Args:
        source: the state that is shown.
        parts: its optional parts beyond reading.
        access: access restrictions.
    """
    shown = {
        "/studies": parts.studies is not None,
        "/plan": parts.plan is not None,
        "/defragment": parts.defragment is not None,
        "/offers": parts.offers is not None,
        "/clusters": parts.clusters is not None,
    }
    pages = tuple(each for each in PAGES if shown.get(each[0], True))
    renderer = Renderer(source.title, pages, access.base, parts.actions)
    live = Live(source)
    routes = [
        *Pages(source, renderer, parts).routes(),
        *DashboardForms(source, parts, renderer).routes(),
        *(StudyPages(source, parts.studies, renderer).routes() if parts.studies else ()),
        *PoolPages(parts, renderer).routes(),
        *Exports(source).routes(),
        *live.routes(),
        Route("/healthz", _healthy),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]

    def failed(request: Request, error: Exception) -> Response:
        return _error_page(renderer, request, error)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        yield
        live.close()

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Guard, hosts=access.hosts, token=access.token)],
        exception_handlers={StrettoError: failed, HTTPException: failed},
    )


async def _healthy(request: Request) -> Response:
    del request
    return PlainTextResponse("ok")


def _error_page(renderer: Renderer, request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        status, text = error.status_code, error.detail
    else:
        status = HTTPStatus.NOT_FOUND if isinstance(error, NotFoundError) else HTTPStatus.CONFLICT
        text = str(error)
    values = {**frame_of(request), "status": int(status), "text": text}
    return renderer.page("error", values, int(status))
