"""Routing of paths to interfaces: with or without ``/master``, with or without a final slash.

Paths below an interface belong to it, and the longest match wins, as in Mesos.
"""

from collections.abc import Mapping
from typing import Final

from stretto.offers.master.api import legacy, operator, scheduler, standing
from stretto.offers.master.api.http import HttpAnswer, MasterRequest, RequestError, plain
from stretto.offers.master.api.legacy import Endpoint
from stretto.offers.master.core.state import MasterState

ROUTES: Final[Mapping[str, Endpoint]] = {
    "/api/v1/scheduler": scheduler.handle,
    "/api/v1": operator.handle,
    "/offers": standing.handle,
    **legacy.ENDPOINTS,
}
"""Interfaces by path."""


def route(path: str) -> str | None:
    """The path of the interface that answers; ``None`` if there is none."""
    path = path.removeprefix("/master").rstrip("/")
    while path:
        if path in ROUTES:
            return path
        path = path.rpartition("/")[0]
    return None


def answer(master: MasterState, request: MasterRequest) -> HttpAnswer:
    """Answer a request."""
    found = route(request.path)
    if found is None:
        return plain(404)
    try:
        return ROUTES[found](master, request)
    except RequestError as error:
        return error.answer
