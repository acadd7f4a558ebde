"""Pages outside a scheduler: offers of a master, clusters of a federation."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.base.errors import StrettoError
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import frame_of
from stretto.web.views.parts import DashboardParts


class PoolPages:
    """Handlers of these pages; each reads a snapshot in a thread."""

    def __init__(self, parts: DashboardParts, renderer: Renderer) -> None:
        """Serve the pages with data."""
        self._parts = parts
        self._renderer = renderer

    def routes(self) -> list[Route]:
        """Return the routes of the offered pages."""
        readers = (("offers", self._parts.offers), ("clusters", self._parts.clusters))
        return [Route(f"/{name}", self._page(name, read)) for name, read in readers if read]

    def _page(self, name: str, read: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
        """Return a page that shows a snapshot, or why there is none."""

        async def handler(request: Request) -> Response:
            found, error = None, ""
            try:
                found = await run_in_threadpool(read)
            except StrettoError as refused:
                error = str(refused)
            return self._renderer.page(name, {**frame_of(request), "found": found, "error": error})

        return handler
