"""How handlers read a source and a request."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import from_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from stretto.web.views.sight import ViewSource

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
    """Call a function in the event loop from one of its threads, and wait for the answer."""
    return from_thread.run_sync(function)


def page_path(request: Request) -> str:
    """The path of a page below the place where the dashboard is mounted."""
    path: str = request.scope["path"]
    return path.removeprefix(request.scope.get("root_path", ""))
