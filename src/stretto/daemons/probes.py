"""/livez, /readyz, /healthz and /metrics over HTTP, for kubelets and for monitoring.

The probes say nothing but "ok" or what is wrong, so they may be asked from anywhere that the
address lets in; metrics are told to this machine only. The server has a thread of its own and never
touches a plane: it reads what was published last.
"""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Final, NamedTuple, Self

from stretto.base.errors import InputError

LOOPBACK: Final = ("127.0.0.1", "::1")
_LOOK: Final = 0.1
"""Seconds between looks at whether to stop serving."""
_IDLE: Final = 5.0
"""Seconds that a client has to say what it wants."""


class Page(NamedTuple):
    """What one path answers."""

    #: Whether all is well: 200, else 503.
    is_well: bool
    #: The text.
    text: str


Pages = Mapping[str, Callable[[], Page]]
"""What is served by path."""


def address_of(text: str) -> tuple[str, int]:
    """An address such as ``127.0.0.1:10259``, or ``:10259`` for every interface.

    Raises:
        InputError: it is none.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InputError("--bind-address", text, "HOST:PORT", "for example 127.0.0.1:10259")
    return host.strip("[]") or "0.0.0.0", int(port)


class Probes:
    """The server; it serves while its block is open."""

    def __init__(self, address: str, pages: Pages, guarded: frozenset[str]) -> None:
        """A server that listens from now on.

        Args:
            address: ``HOST:PORT``; port 0 takes a free one.
            pages: what is served.
            guarded: paths that only this machine may ask for.

        Raises:
            InputError: the address cannot be listened on.
        """
        handler = type("Handler", (_Handler,), {"pages": pages, "guarded": guarded})
        try:
            self._server = ThreadingHTTPServer(address_of(address), handler)
        except OSError as error:
            expected = f"an address that is free ({error.strerror})"
            raise InputError("--bind-address", address, expected) from error
        self._server.daemon_threads = True
        #: The port that it listens on.
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK,), name="stretto-probes", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the known paths and nothing else."""

    #: What is served.
    pages: ClassVar[Pages] = {}
    #: What only this machine may ask for.
    guarded: ClassVar[frozenset[str]] = frozenset()
    #: Seconds that a client has.
    timeout = _IDLE
    server_version = "stretto"
    sys_version = ""

    def do_GET(self) -> None:
        """One request."""
        path = self.path.partition("?")[0]
        page = self.pages.get(path)
        if page is None:
            self._answer(404, "no such page\n")
        elif path in self.guarded and self.client_address[0] not in LOOPBACK:
            self._answer(403, f"{path} is told to this machine only\n")
        else:
            found = page()
            self._answer(200 if found.is_well else 503, found.text)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Requests are not worth a line."""

    def _answer(self, code: int, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)
