"""A server that accepts many waiting connections in each turn of the event loop.

The loop of uvloop accepts one connection per turn. If every turn has other work, the last of a
thousand new connections waits for a thousand turns.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn

ACCEPTED: Final = 64
"""Maximum number of connections that one turn accepts; then the open ones are served first."""
_PAUSE_S: Final = 1.0
"""Seconds without new connections after the process runs out of descriptors or memory."""
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
Accepted = Callable[[socket.socket], None]
"""Receives a non-blocking connection."""


class Acceptor:
    """Accepts the connections of one listening socket on the running event loop."""

    def __init__(self, listener: socket.socket, accepted: Accepted) -> None:
        """Start to accept; ``accepted`` receives each connection."""
        self._listener = listener
        self._accepted = accepted
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._begin()

    def close(self) -> None:
        """Stop accepting; the socket stays open."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)

    def _begin(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._loop.remove_reader(self._listener)
                self._pause = self._loop.call_later(_PAUSE_S, self._begin)
                return
            connection.setblocking(False)
            self._accepted(connection)


class SocketServer(uvicorn.Server):
    """Server of uvicorn on listening sockets."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Serve as configured."""
        super().__init__(config)
        self._acceptors: list[Acceptor] = []
        self._opening: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve the connections of these sockets."""
        await super().startup(sockets=[])
        self._acceptors = [Acceptor(each, self._open) for each in sockets or ()]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and end the open connections."""
        for each in self._acceptors:
            each.close()
        await super().shutdown(sockets)

    def _open(self, connection: socket.socket) -> None:
        task = asyncio.create_task(self._serve_connection(connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _serve_connection(self, connection: socket.socket) -> None:
        """Serve a connection; close it if its TLS handshake fails."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            await loop.connect_accepted_socket(self._protocol, connection, ssl=self.config.ssl)

    def _protocol(self) -> asyncio.Protocol:
        made = self.config.http_protocol_class
        assert not isinstance(made, str)
        return made(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
