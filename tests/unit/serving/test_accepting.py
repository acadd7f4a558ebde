"""Connections that wait are accepted many at a time, also while the event loop is busy."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import uvloop

from stretto.serving import accepting
from stretto.serving.accepting import Acceptor
from stretto.serving.sockets import LOOPBACK, listening

CLIENTS = 100


@contextmanager
def waiting_clients(listener: socket.socket) -> Iterator[None]:
    """Clients that have connected, and that nothing has accepted."""
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            stack.enter_context(socket.create_connection(listener.getsockname()))
        yield


async def turns_until_accepted(listener: socket.socket) -> int:
    """Turns of a loop that always has other work, until every client is accepted."""
    made: list[socket.socket] = []
    acceptor, turns = Acceptor(listener, made.append), 0
    while len(made) < CLIENTS:
        turned: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turned.set_result, None)
        await turned
        turns += 1
    acceptor.close()
    for each in made:
        each.close()
    return turns


def test_a_busy_loop_accepts_many_connections_in_a_turn() -> None:
    with listening(LOOPBACK, 0) as listener, waiting_clients(listener):
        assert uvloop.run(turns_until_accepted(listener)) < CLIENTS / 5


class Exhausted:
    """A listening socket of a process without free descriptors, for one connection."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._failures = 1
        self.fileno, self.setblocking = listener.fileno, listener.setblocking

    def accept(self) -> tuple[socket.socket, object]:
        """Fail once."""
        if self._failures:
            self._failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listener.accept()


def test_a_process_without_descriptors_accepts_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting, "_PAUSE_S", 0.0)
    with listening(LOOPBACK, 0) as listener, waiting_clients(listener):
        exhausted = Exhausted(listener)
        assert asyncio.run(turns_until_accepted(exhausted)) < CLIENTS  # type: ignore[arg-type]


def test_a_connection_whose_client_vanishes_ends() -> None:
    with listening(LOOPBACK, 0) as listener, waiting_clients(listener):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < 60
