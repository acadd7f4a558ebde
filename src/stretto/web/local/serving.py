"""The process of a local cluster: HTTP servers and the steps of its parts in one event loop."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Final

from starlette.types import ASGIApp

from stretto.serving.accepting import SocketServer
from stretto.serving.configuration import TlsFiles, server_config
from stretto.serving.sockets import Check, SignalledServer
from stretto.web.barrier import NO_BARRIER, Barrier
from stretto.web.local.cluster import LocalClusterProcess

_SHORTEST: Final = 0.001


@dataclass(frozen=True)
class ServedApplication:
    """An application and its socket."""

    #: The application.
    app: ASGIApp
    #: A listening socket.
    listener: socket.socket
    #: Certificate and key; ``None`` for plain HTTP.
    tls: TlsFiles | None = None


class LocalServer:
    """Server that runs applications and a cluster until it is stopped."""

    def __init__(
        self,
        applications: Sequence[ServedApplication],
        cluster: LocalClusterProcess,
        speed: float = 1.0,
        barrier: Barrier = NO_BARRIER,
        check: Check = lambda: None,
    ) -> None:
        """Serve applications.

        Args:
            applications: the applications; signals stop the first one, and all others with it.
            cluster: the cluster whose controllers run in the same loop.
            speed: cluster seconds per second, for waiting.
            barrier: makes the writes of the cluster durable.
            check: raises if a signal has arrived before the applications handle signals.
        """
        first, *others = applications
        self._main = _MainServer(server_config(first.app, first.tls), check)
        self._others = [_SecondaryServer(server_config(each.app, each.tls)) for each in others]
        self._applications = applications
        self._cluster = cluster
        self._speed = speed
        self._barrier = barrier

    def run(self, on_ready: Callable[[], None]) -> None:
        """Serve until a signal arrives, or a step of the cluster fails: then raise its error."""
        with asyncio.Runner(loop_factory=self._main.config.get_loop_factory()) as runner:
            runner.run(self._run(on_ready))

    def stop(self) -> None:
        """Stop ``run`` soon."""
        for each in (self._main, *self._others):
            each.should_exit = True

    async def _run(self, on_ready: Callable[[], None]) -> None:
        mover = asyncio.create_task(self._move())
        mover.add_done_callback(lambda _: self.stop())  # the API stops with its cluster
        main, *others = [
            asyncio.create_task(server.serve(sockets=[site.listener]))
            for server, site in zip((self._main, *self._others), self._applications, strict=True)
        ]
        on_ready()
        await main
        self.stop()
        await asyncio.gather(*others)
        mover.cancel()
        with suppress(asyncio.CancelledError):
            await mover

    async def _move(self) -> None:
        """Run the cluster when the store has changed or a part is due."""
        news = asyncio.Event()
        self._cluster.on_change(news.set)
        while True:
            news.clear()
            moved = self._cluster.step()
            await self._barrier.settled()
            if moved:
                await asyncio.sleep(0)
                continue
            wait = self._cluster.next_due() / self._speed
            await news_within(news, max(_SHORTEST, wait))


async def news_within(news: asyncio.Event, seconds: float) -> None:
    """Wait for an event, at most for some seconds.

    ``asyncio.wait_for`` of Python 3.11 loses a cancellation that arrives together with the event;
    the caller would then never end.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await news.wait()


class _MainServer(SignalledServer):
    """Server that a signal ends as usual; a second signal does not wait for open streams."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop soon."""
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


class _SecondaryServer(SocketServer):
    """Server that leaves the handling of signals to another server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not capture signals."""
        yield
