"""Kept connections: the timeout of requests, and when a connection is retired."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from stretto.stores.kube.login.access import Login
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse
from stretto.stores.kube.transport.connections import Connection, ConnectionPool, _connected_socket
from stretto.stores.kube.transport.http1 import RequestTarget
from tests.unit.stores.kube_server import QUICK

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.fixture
def deaf() -> Iterator[tuple[str, int]]:
    """An address that accepts no connection: its queue is full."""
    with socket.socket() as made, ExitStack() as callers:
        made.bind(("127.0.0.1", 0))
        made.listen(0)
        for _ in range(4):
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(made.getsockname())
        yield made.getsockname()


def test_a_request_takes_no_longer_when_a_connection_is_made_for_it(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease allows for so much, from the last look at whether we lead."""
    given: list[float] = []

    async def slowly(*_: Any) -> socket.socket:
        await asyncio.sleep(0.3)
        sock = socket.create_connection(listener.getsockname())
        sock.setblocking(False)
        return sock

    async def exchange(_: Connection, _data: bytes, seconds: float) -> HttpResponse:
        given.append(seconds)
        return HttpResponse(200, b"")

    monkeypatch.setattr("stretto.stores.kube.transport.connections._connected_socket", slowly)
    monkeypatch.setattr(Connection, "exchange", exchange)
    asyncio.run(once(Login("http://127.0.0.1:1", None)))
    assert given[0] <= QUICK.connect + QUICK.answer - 0.3


async def once(login: Login) -> None:
    """One request."""
    kept = ConnectionPool(QUICK)
    await kept.exchange(login, HttpRequest("GET", "/"))
    kept.close()


def test_a_connection_with_an_early_answer_is_not_reused() -> None:
    ours, its = socket.socketpair()

    async def request() -> bool:
        connection = Connection(ours, 1 << 20)
        its.send(OK)
        await connection.exchange(b"x" * (8 << 20), 5.0)
        return connection.is_closed

    ours.setblocking(False)
    with its:
        assert asyncio.run(request())


def test_an_address_that_does_not_answer_keeps_time_for_the_next_one(
    listener: socket.socket, deaf: tuple[str, int]
) -> None:
    assert asyncio.run(reached([deaf, listener.getsockname()])) == listener.getsockname()


def test_where_no_address_picks_up_there_is_no_connection_in_time(deaf: tuple[str, int]) -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(reached([deaf]))


async def reached(addresses: list[tuple[str, int]]) -> object:
    """The address that was connected to."""
    loop = asyncio.get_running_loop()
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", each) for each in addresses]

    async def resolved(*_: object, **__: object) -> list[Any]:
        return found

    loop.getaddrinfo = resolved  # type: ignore[assignment]
    with await _connected_socket(RequestTarget("host", 1, "", ""), 1.0) as sock:
        return sock.getpeername()
