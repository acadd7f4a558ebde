"""Pages: each reads the source once and renders a template or a part of one."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stretto.api.wire.kinds import POD
from stretto.base.errors import NotFoundError
from stretto.explain.inventory.overviews import explain_pending_pods
from stretto.explain.why.on_node import explain_pod_on
from stretto.explain.why.why import explain_pod
from stretto.web.dashboard.render import Renderer
from stretto.web.dashboard.requests import frame_of, read
from stretto.web.views.details import node_details
from stretto.web.views.parts import DashboardParts
from stretto.web.views.shares import queue_board
from stretto.web.views.state import ViewedState, ViewSource
from stretto.web.views.tables import (
    matching_pods,
    node_table,
    pod_table,
    sorted_nodes,
    sorted_pods,
    unit_table,
)

ROWS: Final = 200
"""Number of rows per page of a table."""

Values = Mapping[str, Any]


class PageRows(NamedTuple):
    """One page of a table."""

    #: The rows.
    rows: list[Any]
    #: Number of all rows.
    total: int
    #: Number of the page, from 1.
    number: int
    #: Number of the last page.
    last: int


class Pages:
    """Handlers of the pages that read the source."""

    def __init__(self, source: ViewSource, renderer: Renderer, parts: DashboardParts) -> None:
        """Serve the pages of a source.

        Args:
            source: the state.
            renderer: renders the templates.
            parts: the optional parts to which pages link.
        """
        self._source = source
        self._renderer = renderer
        self._parts = parts

    def routes(self) -> list[Route]:
        """The routes of these pages."""
        return [
            Route("/", self._page("nodes", self._nodes)),
            Route("/nodes", self._page("node_table", self._node_table)),
            Route("/nodes/{name}", self._page("node", self._node)),
            Route("/pods", self._page("pods", self._pods)),
            Route("/pods/{namespace}/{name}", self._page("pod", self._pod)),
            Route("/pods/{namespace}/{name}/on", self._page("pod_on", self._pod_on)),
            Route("/queues", self._page("queues", self._queues)),
            Route("/units", self._page("units", self._units)),
            Route("/shards", self._page("shards", self._shards)),
        ]

    def _page(
        self, template: str, values_of: Callable[[ViewedState, Request], Values]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that reads the source in a thread and renders a template."""

        def rendered(request: Request) -> Response:
            frame = frame_of(request, self._source)
            with self._source.open() as state:
                values = values_of(state, request)
            return self._renderer.page(template, {**frame, **values})

        async def handler(request: Request) -> Response:
            return await read(self._source, rendered, request)

        return handler

    # ---------------------------------------------------------------- nodes

    def _nodes(self, state: ViewedState, request: Request) -> Values:
        cluster = state.scene.cluster
        pods = cluster.pods
        rows = pods.rows()
        placed = int((pods.slot[rows] >= 0).sum())
        return {
            "nodes": len(cluster.nodes),
            "placed": placed,
            "pending": len(rows) - placed,
            "find": request.query_params.get("find", ""),
            "pod": request.query_params.get("pod", ""),
        }

    def _node_table(self, state: ViewedState, request: Request) -> Values:
        text = request.query_params.get("find", "")
        sort = request.query_params.get("sort", "")
        found = sorted_nodes(node_table(state, text), sort)
        resources = dict.fromkeys(name for row in found for name in row.resources)
        return {
            "table": _page_of(found, request),
            "find": text,
            "sort": sort,
            "sorts": ("status", *resources),
        }

    def _node(self, state: ViewedState, request: Request) -> Values:
        found = node_details(state, request.path_params["name"])
        return {**found._asdict(), "drains": self._parts.drain is not None}

    # ---------------------------------------------------------------- pods

    def _pods(self, state: ViewedState, request: Request) -> Values:
        text = request.query_params.get("find", "")
        status = request.query_params.get("status", "")
        state.complete()
        pods = state.records(POD)
        rows = pod_table(state)
        states = sorted({each.status for each in rows})
        sort = request.query_params.get("sort", "")
        found = sorted_pods(matching_pods(rows, text, status), sort)
        return {
            "overview": explain_pending_pods(state.scene, pods),
            "table": _page_of(found, request),
            "find": text,
            "status": status,
            "states": states,
            "sort": sort,
            "sorts": ("pending", "age", "priority"),
        }

    def _pod(self, state: ViewedState, request: Request) -> Values:
        key = _key(request)
        state.complete()
        answer = explain_pod(state.scene, key)
        try:
            story = self._source.story(key)
        except NotFoundError:
            story = None
        return {
            "answer": answer,
            "story": story,
            "estimates": self._parts.start is not None,
            "node_names": sorted(state.scene.cluster.nodes.by_name)[:ROWS],
        }

    def _pod_on(self, state: ViewedState, request: Request) -> Values:
        node = request.query_params.get("node", "")
        state.complete()
        return {"answer": explain_pod_on(state.scene, _key(request), node)}

    # ---------------------------------------------------------------- queues, units, shards

    def _queues(self, state: ViewedState, request: Request) -> Values:
        del request
        return queue_board(state)._asdict()

    def _units(self, state: ViewedState, request: Request) -> Values:
        return {"table": _page_of(unit_table(state), request)}

    def _shards(self, state: ViewedState, request: Request) -> Values:
        del request
        return {"shards": state.shards()}


def _key(request: Request) -> str:
    return f"{request.path_params['namespace']}/{request.path_params['name']}"


def _page_of(rows: list[Any], request: Request) -> PageRows:
    last = max(1, -(-len(rows) // ROWS))
    given = request.query_params.get("page", "1")
    number = min(max(int(given) if given.isdigit() and len(given) < 8 else 1, 1), last)
    return PageRows(rows[(number - 1) * ROWS : number * ROWS], len(rows), number, last)
