"""Pages of run records: the list, and several records side by side with downloads."""

import csv
import io
from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.explain.inventory.run_comparison import MOST_RUNS, RunComparison
from stretto.explain.records.curves import CurvePlot
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import frame_of, read
from stretto.web.views.parts import Studies
from stretto.web.views.plots import ROWS, plot_table
from stretto.web.views.state import ViewSource

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
        tables = [plot_table(plot, ROWS) for plot in found.plots]
        plots = list(zip(found.plots, tables, strict=True))
        values = {"found": found, "query": request.url.query, "plots": plots}
        return self._page("comparison", request, values)

    def _download(self, form: str) -> Callable[[Request], Awaitable[Response]]:
        async def handler(request: Request) -> Response:
            found = await self._comparison(request)
            number = request.query_params.get("plot")
            if form == "json":
                content = msgspec.json.encode(found)
            elif form == "csv":
                content = _csv(
                    _figure_rows(found) if number is None else _curve_rows(_plot(found, number))
                )
            else:
                plot = _plot(found, number or "0")
                content = await read(self._source, self._studies.picture, plot)
            return Response(content, 200, None, _FORMS[form])

        return handler

    async def _comparison(self, request: Request) -> RunComparison:
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        return await read(self._source, self._studies.compare, names)

    def _page(self, template: str, request: Request, values: dict[str, object]) -> Response:
        return self._renderer.page(template, {**frame_of(request), **values})


def _plot(found: RunComparison, number: str) -> CurvePlot:
    """Return a plot by its number, from 0.

    Raises:
        HTTPException: the comparison has no such plot.
    """
    if not (number.isdecimal() and len(number) < 8 and int(number) < len(found.plots)):
        text = f"plot {number!r} was not found: the comparison has {len(found.plots)} plots"
        raise HTTPException(HTTPStatus.NOT_FOUND, text)
    return found.plots[int(number)]


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _figure_rows(found: RunComparison) -> list[Sequence[object]]:
    """Return one row per figure, one column per run."""
    heading = ["figure", *(run.name for run in found.runs)]
    return [heading, *([figure.name, *figure.values] for figure in found.figures)]


def _curve_rows(plot: CurvePlot) -> list[Sequence[object]]:
    """Return one row per position, one column per curve."""
    table = plot_table(plot)
    return [[plot.texts.x, *table.names], *([x, *values] for x, values in table.rows)]
