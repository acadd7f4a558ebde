"""Listening sockets, and an application on one of them until it is interrupted."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from stretto.base.errors import InputError
from stretto.serving.accepting import SocketServer
from stretto.serving.configuration import server_config

LOOPBACK: Final = "127.0.0.1"
"""The served address: other machines reach it through an authenticated proxy or a tunnel."""
Check = Callable[[], None]
"""Raises if a signal has arrived."""
_BACKLOG: Final = 1024
_KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 9}
"""Seconds and counts after which a connection without an answer to probes ends, as in Go."""


def listening(address: str, port: int, option: str = "--port", hint: str = "") -> socket.socket:
    """Return a listening socket; port 0 selects a free port.

    Args:
        address: the address.
        port: the port.
        option: the option that states the port.
        hint: remedy if the port cannot be used; empty: that the kernel can choose one.

    Raises:
        InputError: the port is in use or not permitted.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        _probe(listener)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        expected = f"a free port ({error.strerror})"
        hint = hint or f"{option} 0 selects any free port"
        raise InputError(option, port, expected, hint) from error
    return listener


def _probe(listener: socket.socket) -> None:
    """End the connections of clients that vanish; an idle watch would otherwise stay open."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):  # Linux; other systems have other names
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def serve(app: ASGIApp, listener: socket.socket, check: Check) -> None:
    """Serve an application until the process is interrupted.

    Args:
        app: the application.
        listener: a listening socket.
        check: raises if a signal has arrived before the server handles signals.
    """
    SignalledServer(server_config(app), check).run(sockets=[listener])


class SignalledServer(SocketServer):
    """Server that a signal ends, even if the signal arrived before the server handles signals."""

    def __init__(self, config: uvicorn.Config, check: Check) -> None:
        """Serve as configured; ``check`` raises if a signal has already arrived."""
        super().__init__(config)
        self._check = check

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals from now on; none is lost in between."""
        with super().capture_signals():
            self._check()
            yield
