"""The one configuration of uvicorn, and the protocol of its connections."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stretto.serving.chunks import WRITER

PEER: Final = "stretto.peer"
"""Key in the ``extensions`` of a scope for the client's certificate, as ``ssl`` decodes it."""
RELEASE: Final = "stretto.release"
"""Key of an entry in the ``extensions`` of a scope; encrypted connections do not have it.

The entry's function ``call`` waits until all data is sent. It returns the connection, which the
server no longer serves, or ``None`` if the client has disconnected.
"""
_HEAD_S: Final = 30.0
"""Seconds within which a client must complete the headers of a request."""
_KEEP_ALIVE_S: Final = 75
"""Seconds that an idle connection stays open; longer than usual connection pools keep one."""
_GRACE_S: Final = 1
"""Grace period in seconds for open streams at the end."""
_UNSENT_S: Final = 0.01
"""Seconds between two checks for unsent bytes."""
_HEAD: Final = 1 << 20
"""Maximum bytes of the request line and headers, as in Go."""


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of a server."""

    #: Certificate chain.
    cert: Path
    #: Key of the certificate; ``None`` if the file of the chain has it.
    key: Path | None
    #: Certificate authority of the clients; ``None``: no client certificates are requested.
    clients: Path | None = None


def server_config(app: ASGIApp, tls: TlsFiles | None = None) -> uvicorn.Config:
    """Return the configuration of an application: quiet, HTTP/1.1, limits for slow clients.

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


class _Writer:
    """Writer of chunks: a small object, because a round reads those of hundreds of connections."""

    __slots__ = ("_flow", "_transport", "on_shutdown")

    def __init__(
        self,
        flow: FlowControl,
        transport: asyncio.Transport,
        on_shutdown: Callable[[Callable[[], object]], None],
    ) -> None:
        self._flow = flow
        self._transport = transport
        self.on_shutdown = on_shutdown

    @property
    def is_ready(self) -> bool:
        """Return whether the client has received enough of the earlier bytes."""
        return not self._flow.write_paused and not self._transport.is_closing()

    def write(self, pieces: Sequence[bytes]) -> bool:
        """Send chunks, or the pieces of one; ``False`` if it is not ready."""
        transport = self._transport
        if self._flow.write_paused or transport.is_closing():
            return False
        for piece in pieces:
            transport.write(piece)
        return True


class _Connection(HttpToolsProtocol):
    """Connection that exposes the client's certificate and limits the size of request heads."""

    _extensions: dict[str, dict[object, object]]
    """Entries of the scope of each request."""
    _timer: asyncio.TimerHandle | None = None
    """Timer that closes the connection; set until the headers of a request are complete."""
    _is_head = True
    """True until the headers of the request are complete."""
    _ends: Callable[[], object] | None = None
    """Ends the last stream of this connection."""
    _is_ending = False
    """True if the server begins to stop."""
    _head: int = 0
    """Bytes received since the request began."""

    def on_shutdown(self, callback: Callable[[], object]) -> None:
        """Call a function when the server begins to stop."""
        self._ends = callback
        if self._is_ending:
            callback()

    def shutdown(self) -> None:
        """End an idle connection, or the open stream of this connection."""
        super().shutdown()
        self._is_ending = True
        if self._ends is not None:
            self._ends()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Handle a new connection."""
        super().connection_made(transport)
        self._extensions = {WRITER: {"writer": _Writer(self.flow, transport, self.on_shutdown)}}
        secured = transport.get_extra_info("ssl_object")
        if secured is None:
            self._extensions[RELEASE] = {"call": self._release}
        elif peer := secured.getpeercert():
            self._extensions[PEER] = peer
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        self._head += len(data)
        super().data_received(data)
        if not self._is_head:
            return
        if self._timer is None:  # the headers of most requests arrive complete
            self._start_timer()
        if self._head > _HEAD:
            self.send_400_response("The headers of the request are too large.")

    def on_message_begin(self) -> None:
        """Handle the start of a request."""
        super().on_message_begin()
        self._stop_timer()
        self._is_head, self._head = True, 0
        self.scope["extensions"] = self._extensions

    def on_headers_complete(self) -> None:
        """Handle the end of the headers."""
        self._is_head = False
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    async def _release(self) -> socket.socket | None:
        """Return the connection, no longer served here; ``None`` if the client has disconnected."""
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
