"""The one configuration of uvicorn, and the protocol of its connections."""

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

PEER: Final = "stretto.peer"
"""Key of the client's certificate in the ``extensions`` of a scope, as ``ssl`` decodes it."""
RELEASE: Final = "stretto.release"
"""Key of an entry in the ``extensions`` of a scope; absent from encrypted connections.

Its function ``call`` waits until everything that was sent has left, and returns the connection,
which the server no longer serves; ``None`` if the client has left.
"""
_HEAD_S: Final = 30.0
"""Seconds in which a client must complete the headers of a request."""
_KEEP_ALIVE_S: Final = 75
"""Seconds that an idle connection stays open; longer than the pools of usual clients keep one."""
_GRACE_S: Final = 1
"""Seconds that open streams get to end."""
_UNSENT_S: Final = 0.01
"""Seconds between two looks at bytes that have not left."""
_HEAD: Final = 1 << 20
"""Bytes of the line and the headers of a request, as in Go."""


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of a server."""

    #: Certificate chain.
    cert: Path
    #: Key of the certificate; ``None`` if the file of the chain has it.
    key: Path | None
    #: Certificate that signs those of clients; ``None`` asks clients for none.
    clients: Path | None = None


def server_config(app: ASGIApp, tls: TlsFiles | None = None) -> uvicorn.Config:
    """How an application is served: quiet, over HTTP/1.1, with limits for slow clients.

    Args:
        app: the application.
        tls: certificate and key; ``None`` for plain HTTP.
    """
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="auto",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    if tls is not None:
        config.ssl_certfile, config.ssl_keyfile = tls.cert, tls.key
        config.ssl_ca_certs = tls.clients
        config.ssl_cert_reqs = ssl.CERT_NONE if tls.clients is None else ssl.CERT_OPTIONAL
    return config


class _Connection(HttpToolsProtocol):
    """A connection that states the client's certificate and limits the heads of requests."""

    _is_encrypted = False
    _peer: dict[object, object] | None = None
    _timer: asyncio.TimerHandle | None = None
    """Ends the connection; set while the headers of a request are awaited or incomplete."""
    _is_head = True
    """Whether headers are awaited or incomplete."""
    _head: int = 0
    """Bytes since the request began."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        secured = transport.get_extra_info("ssl_object")
        self._is_encrypted = secured is not None
        self._peer = None if secured is None else secured.getpeercert()
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        self._head += len(data)
        super().data_received(data)
        if not self._is_head:
            return
        if self._timer is None:  # the headers of most requests are complete when they arrive
            self._start_timer()
        if self._head > _HEAD:
            self.send_400_response("The headers of the request are too large.")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._stop_timer()
        self._is_head, self._head = True, 0
        if self._peer:
            self.scope["extensions"] = {PEER: self._peer}
        elif not self._is_encrypted:
            self.scope["extensions"] = {RELEASE: {"call": self._release}}

    def on_headers_complete(self) -> None:
        """The headers of a request are complete."""
        self._is_head = False
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has left."""
        self._stop_timer()
        super().connection_lost(exc)

    async def _release(self) -> socket.socket | None:
        """The connection, which this server serves no longer; ``None`` if the client has left."""
        wait = 0.0
        while True:
            await asyncio.sleep(wait)
            if self.transport.is_closing():
                return None
            if not self.transport.get_write_buffer_size():
                break
            wait = _UNSENT_S
        served = self.transport.get_extra_info("socket")
        released = socket.socket(fileno=os.dup(served.fileno()))
        self.transport.abort()
        return released

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(_HEAD_S, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
