"""A dashboard over a small cluster, and what a browser sends to it."""

import asyncio
from collections.abc import Mapping

import httpx
from starlette.applications import Starlette

from stretto.testing import Harness, make_node, make_pod
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import COOKIE, LOCAL, Access
from stretto.web.views.parts import READ_ONLY, DashboardParts
from stretto.web.views.sources import PlaneSource

ADDRESS = "http://127.0.0.1:8421"


def small_cluster() -> Harness:
    """Two nodes and a pod that is too large; a pod that fits is placed by ``small_dashboard``."""
    harness = Harness(nodes=[make_node("n1", cpu="4", zone="a"), make_node("n2", cpu="8")])
    harness.submit(make_pod("dream", cpu="64"))
    harness.settle()
    return harness


def source_of(harness: Harness) -> PlaneSource:
    """The source of a harness."""
    return PlaneSource("a small cluster", harness.plane)


def small_dashboard(parts: DashboardParts = READ_ONLY, access: Access = LOCAL) -> Starlette:
    """The dashboard of a small cluster."""
    harness = small_cluster()
    source = source_of(harness)
    harness.submit(make_pod("web", cpu="2"))
    harness.settle()
    return dashboard_app(source, parts, access)


def get(app: Starlette, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """The answer to one GET request."""
    return _sent(app, "GET", path, headers or {}, None)


def cookie_of(app: Starlette) -> str:
    """The cookie of a session, as the address with the token sets it."""
    (guard,) = app.user_middleware
    return f"{COOKIE}={guard.kwargs['token']}"


def post(
    app: Starlette, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """The answer to a submitted form of the dashboard's own page."""
    return _sent(app, "POST", path, {"origin": ADDRESS, **(headers or {})}, form)


def _sent(
    app: Starlette,
    method: str,
    path: str,
    headers: Mapping[str, str],
    form: Mapping[str, str] | None,
) -> httpx.Response:
    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
            return await client.request(method, path, headers=headers, data=form)

    return asyncio.run(sent())
