"""Downloads of the contents of pages, as CSV and JSON."""

import csv
import io
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.web.dashboard.requests import read
from stretto.web.views.state import ViewedState, ViewSource
from stretto.web.views.tables import node_table, pod_table, unit_table

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""First characters that a spreadsheet interprets as a formula."""

Rows = Callable[[ViewedState], Sequence[msgspec.Struct]]


class Exports:
    """Downloads of a source."""

    def __init__(self, source: ViewSource) -> None:
        """Offer the tables of a source as downloads."""
        self._source = source

    def routes(self) -> list[Route]:
        """Return one route per table and format."""
        tables: dict[str, Rows] = {
            "pods": pod_table,
            "nodes": node_table,
            "queues": lambda state: state.scene.queues,
            "units": unit_table,
            "shards": lambda state: state.shards(),
            "decisions": lambda _: self._source.decisions(0)[1],
        }
        return [
            Route(f"/export/{name}.{form}", self._handler(rows, form))
            for name, rows in tables.items()
            for form in ("csv", "json")
        ]

    def _handler(self, rows: Rows, form: str) -> Callable[[Request], Awaitable[Response]]:
        def written() -> Response:
            with self._source.open() as state:
                found = rows(state)
            if form == "json":
                return Response(msgspec.json.encode(found), media_type="application/json")
            return Response(_csv(found), media_type="text/csv")

        async def handler(request: Request) -> Response:
            del request
            return await read(self._source, written)

        return handler


def _csv(rows: Sequence[msgspec.Struct]) -> str:
    """Format rows as CSV; nested values are JSON in one cell."""
    text = io.StringIO()
    writer = csv.writer(text)
    if rows:
        writer.writerow(rows[0].__struct_fields__)
    for row in rows:
        writer.writerow([_cell(value) for value in msgspec.to_builtins(row).values()])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(value).decode()
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
