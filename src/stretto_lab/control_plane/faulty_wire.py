"""A TCP proxy between a client and a server with network faults: latency, cuts, lost replies.

It forwards bytes without interpreting them, so TLS passes through. Clients connect to ``server``;
faults are attributes that may be set at any time.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final, Self

from stretto.stores.kube.transport.event_loop import LoopThread

_CHUNK: Final = 1 << 16


class FaultyWire:
    """A proxy from one loopback port to another."""

    def __init__(self, port: int) -> None:
        """Start a proxy to a port, without faults."""
        #: Delay of all replies in seconds.
        self.latency = 0.0
        #: Seconds after which each connection is cut; 0 for never.
        self.cut_every = 0.0
        #: True if replies are lost and end the connection.
        self.loses_replies = False
        #: True if replies are dropped while connections stay open.
        self.drops_replies = False
        #: True if new connections are refused.
        self.is_down = False
        self._target = port
        self._lines: set[asyncio.Task[None]] = set()
        self._loop = LoopThread("stretto-wire")
        self._server = self._loop.run(self._listen())
        own = self._server.sockets[0].getsockname()[1]
        #: Address for clients of an API server.
        self.server = f"https://127.0.0.1:{own}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> None:
        """Close all connections now."""
        self._loop.run(self._cut())

    def heal(self) -> None:
        """Stop all faults; open connections stay open."""
        self.latency = self.cut_every = 0.0
        self.loses_replies = self.is_down = self.drops_replies = False

    def close(self) -> None:
        """Close all connections and stop listening."""

        async def last() -> None:
            self._server.close()
            await asyncio.sleep(
                0
            )  # tasks of new connections must have started before they can be cancelled
            lines = list(self._lines)
            for line in lines:
                line.cancel()
            await asyncio.gather(*lines, return_exceptions=True)

        self._loop.close(last)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def _cut(self) -> None:
        for line in list(self._lines):
            line.cancel()

    async def _serve(self, near: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._lines.add(task)
            task.add_done_callback(self._lines.discard)
        with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
            if not self.is_down:
                await self._forward(near, out)
        out.transport.abort()

    async def _forward(self, near: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        far, on = await asyncio.open_connection("127.0.0.1", self._target)
        ways: tuple[Coroutine[Any, Any, None], ...] = (self._there(near, on), self._back(far, out))
        tasks = [asyncio.ensure_future(way) for way in ways]
        try:
            limit = self.cut_every or None
            await asyncio.wait(tasks, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            on.transport.abort()  # must precede the cancellation, which ends the wait below
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _there(self, near: asyncio.StreamReader, on: asyncio.StreamWriter) -> None:
        while data := await near.read(_CHUNK):
            on.write(data)
            await on.drain()

    async def _back(self, far: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        while data := await far.read(_CHUNK):
            if self.loses_replies:
                return
            if self.latency:
                await asyncio.sleep(self.latency)
            if self.drops_replies:
                continue
            out.write(data)
            await out.drain()
