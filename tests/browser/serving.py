"""A dashboard that real browsers can open, on a port of this machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sight import ViewSource

TOKEN = "a-token-of-tests"


@contextmanager
def served(source: ViewSource, parts: DashboardParts, port: int = 0) -> Iterator[str]:
    """The address of a dashboard with its token, while the block runs."""
    listener = listening(LOOPBACK, port)
    config = uvicorn.Config(
        dashboard_app(source, parts, Access(token=TOKEN)),
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
