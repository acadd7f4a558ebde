"""Pages of run records: the list, and several records side by side with downloads."""

import csv
import io
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.explain.inventory.run_comparison import MOST_RUNS, RunComparison
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import frame_of, read
from stretto.web.views.parts import Studies
from stretto.web.views.plots import curve_plot
from stretto.web.views.sight import ViewSource

_FORMS: Final = {"csv": "text/csv", "json": "application/json", "png": "image/png"}
"""Download formats of a comparison, with their media types."""


class StudyPages:
    """Handlers of the pages of run records."""

    def __init__(self, source: ViewSource, studies: Studies, renderer: Renderer) -> None:
        """Serve run records in addition to a source."""
        self._source = source
        self._studies = studies
        self._renderer = renderer

    def routes(self) -> list[Route]:
        """The routes of these pages."""
        downloads = [Route(f"/studies/compare.{form}", self._download(form)) for form in _FORMS]
        return [
            Route("/studies", self._list),
            Route("/studies/compare", self._compare),
            *downloads,
        ]

    async def _list(self, request: Request) -> Response:
        rows = await read(self._source, self._studies.rows)
        return self._page("studies", request, {"runs": rows, "most": MOST_RUNS})

    async def _compare(self, request: Request) -> Response:
        found = await self._comparison(request)
        values = {"found": found, "query": request.url.query, "plot": curve_plot(found.curves)}
        return self._page("comparison", request, values)

    def _download(self, form: str) -> Callable[[Request], Awaitable[Response]]:
        async def handler(request: Request) -> Response:
            found = await self._comparison(request)
            return Response(
                await read(self._source, self._written, found, form), 200, None, _FORMS[form]
            )

        return handler

    def _written(self, found: RunComparison, form: str) -> bytes:
        if form == "json":
            return msgspec.json.encode(found)
        if form == "csv":
            return _csv(found).encode()
        picture = self._studies.picture(found)
        if not picture:
            raise HTTPException(HTTPStatus.NOT_FOUND, "no report of these runs has a curve")
        return picture

    async def _comparison(self, request: Request) -> RunComparison:
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        return await read(self._source, self._studies.compare, names)

    def _page(self, template: str, request: Request, values: dict[str, object]) -> Response:
        return self._renderer.page(template, {**frame_of(request), **values})


def _csv(found: RunComparison) -> str:
    """Format a comparison as CSV: one row per figure, one column per run."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["figure", *(run.name for run in found.runs)])
    writer.writerows([figure.name, *figure.values] for figure in found.figures)
    return text.getvalue()
