"""A dashboard that real browsers can open, on a port of this machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import uvicorn
from starlette.applications import Starlette

from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access
from stretto.web.views.parts import DashboardParts
from stretto.web.views.state import ViewSource

TOKEN = "a-token-of-tests"
ACCESS = Access(token=TOKEN)


def served(source: ViewSource, parts: DashboardParts, port: int = 0) -> AbstractContextManager[str]:
    """The address of a dashboard with its token, while the block runs."""
    return served_app(dashboard_app(source, parts, ACCESS), port)


@contextmanager
def served_app(app: Starlette, port: int = 0) -> Iterator[str]:
    """The address of an application, while the block runs."""
    listener = listening(LOOPBACK, port)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
