"""Access of handlers to a source and to a request."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final, ParamSpec, TypeVar
from urllib.parse import parse_qs

from anyio import from_thread
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from stretto.web.views.state import ViewSource

_MOST_BYTES: Final = 1 << 20
"""Maximum bytes of a form."""

Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


async def read(
    source: ViewSource,
    function: Callable[Arguments, Answer],
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> Answer:
    """Call a function that reads a source, in a thread if the source permits it."""
    if source.capability.threaded:
        return await run_in_threadpool(function, *args, **kwargs)
    return function(*args, **kwargs)


def from_event_loop(function: Callable[[], Answer]) -> Answer:
    """Call a function in the event loop from one of its threads, and wait for the result."""
    return from_thread.run_sync(function)


def page_path(request: Request) -> str:
    """Return the path of a page relative to the mount point of the dashboard."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))


def frame_of(request: Request, source: ViewSource | None = None) -> dict[str, object]:
    """Return the values of the frame around a page. Call it before the state is read.

    Args:
        request: the request for the page.
        source: the state whose changes the page follows; ``None`` for none.
    """
    is_live = source is not None and source.capability.live and request.method == "GET"
    return {
        "path": page_path(request),
        "bare": "part" in request.query_params,
        "live": is_live,  # the result of a submitted form stays
        "version": source.version if source is not None else 0,
    }


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form.

    Raises:
        HTTPException: the form is too large.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            text = f"the form has more than {_MOST_BYTES >> 20} MiB"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}
