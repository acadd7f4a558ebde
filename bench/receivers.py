"""Receivers of watches over TLS that count the bytes of events and do not decrypt them.

500 watches of one machine would decrypt as many bytes as its server encrypts. Real clients do that
on machines of their own.
"""

import selectors
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Final

from stretto.serving.sockets import LOOPBACK

_HEADER: Final = 5
"""Bytes before each TLS record; the last two are its length."""
_SEAL: Final = 17
"""Bytes of a record of TLS 1.3 besides its contents: their type and their tag."""
_BUFFER: Final = 256 << 10
"""Bytes that are read together; they fit in the cache of a core."""


class SealedWatch:
    """A watch whose records are counted."""

    def __init__(self, plain: socket.socket, trust: ssl.SSLContext, request: bytes) -> None:
        """Open a watch over a connection.

        Raises:
            RuntimeError: the server does not use TLS 1.3.
        """
        secured = trust.wrap_socket(plain, server_hostname=LOOPBACK)
        if secured.version() != "TLSv1.3":
            raise RuntimeError(f"TLS: got {secured.version()}, expected TLSv1.3")
        secured.sendall(request)
        #: The connection below TLS.
        self.raw = socket.socket(fileno=secured.detach())
        #: Bytes inside of the records since the last reset.
        self.size = 0
        self._left = 0
        self._header = b""

    def receive(self, buffer: bytearray) -> None:
        """Read what has arrived, at most a buffer of it.

        Raises:
            ConnectionError: the server has closed the connection.
        """
        count = self.raw.recv_into(buffer)
        if not count:
            raise ConnectionError("the server has closed a watch")
        at = min(self._left, count)
        self._left -= at
        while at < count:
            header = self._header + buffer[at : min(at + _HEADER - len(self._header), count)]
            at += len(header) - len(self._header)
            if len(header) < _HEADER:
                self._header = header
                return
            self._header, length = b"", header[3] << 8 | header[4]
            self.size += length - _SEAL
            self._left = max(0, at + length - count)
            at += length


class SealedWatches:
    """Watches that one thread receives."""

    def __init__(self, port: int, authority: str, request: bytes, count: int) -> None:
        """Open watches of a server on this machine.

        Args:
            port: port of the server.
            authority: file of the authority of its certificate.
            request: the request of each watch.
            count: number of watches.
        """
        trust = ssl.create_default_context(cafile=authority)
        self._selector = selectors.DefaultSelector()
        self._buffer = bytearray(_BUFFER)
        self._watches = []
        for _ in range(count):
            plain = socket.create_connection((LOOPBACK, port))
            watch = SealedWatch(plain, trust, request)
            self._selector.register(watch.raw, selectors.EVENT_READ, watch.receive)
            self._watches.append(watch)

    @property
    def sizes(self) -> Sequence[int]:
        """Bytes that each watch has received since the last reset."""
        return [each.size for each in self._watches]

    def reset(self) -> None:
        """Count from now on."""
        for each in self._watches:
            each.size = 0

    def receive(self, until: Callable[[], bool], latest: float = float("inf")) -> None:
        """Receive until a condition holds, which is checked every 50 ms, or until a time."""
        checked = 0.0
        while (now := time.perf_counter()) < latest:
            if now - checked > 0.05:
                if until():
                    return
                checked = now
            for key, _ in self._selector.select(0.05):
                key.data(self._buffer)
