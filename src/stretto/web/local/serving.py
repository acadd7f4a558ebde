"""The process of a local cluster: an HTTP server and the steps of its parts in one event loop."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from stretto.web.local.cluster import LocalClusterProcess

_SHORTEST: Final = 0.001


class LocalServer:
    """Serves an application and moves a cluster until it is stopped."""

    def __init__(self, app: ASGIApp, cluster: LocalClusterProcess, speed: float = 1.0) -> None:
        """Serve an application.

        Args:
            app: the pages and the API.
            cluster: what moves besides.
            speed: cluster seconds per second, for waiting.
        """
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            date_header=True,
            timeout_keep_alive=60,
            h11_max_incomplete_event_size=64 << 10,
        )
        self._server = uvicorn.Server(config)
        self._cluster = cluster
        self._speed = speed

    def run(self, listener: socket.socket, on_ready: Callable[[], None]) -> None:
        """Serve until a signal arrives."""
        asyncio.run(self._run(listener, on_ready))

    def stop(self) -> None:
        """End ``run`` soon."""
        self._server.should_exit = True

    async def _run(self, listener: socket.socket, on_ready: Callable[[], None]) -> None:
        mover = asyncio.create_task(self._move())
        serving = asyncio.create_task(self._server.serve(sockets=[listener]))
        on_ready()
        await serving
        mover.cancel()
        with suppress(asyncio.CancelledError):
            await mover

    async def _move(self) -> None:
        """Move the cluster when the store has changed or a part is due."""
        news = asyncio.Event()
        self._cluster.on_change(news.set)
        while True:
            news.clear()
            if self._cluster.step():
                await asyncio.sleep(0)
                continue
            wait = self._cluster.next_due() / self._speed
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), max(_SHORTEST, wait))
