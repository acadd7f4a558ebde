"""/livez, /readyz, /healthz and /metrics over HTTP, for kubelets and for monitoring.

On loopback this machine may ask for everything, in plain HTTP. Any other address needs a
certificate and a guard: the probes then tell anybody "ok" or "not ok" and no more, because a
kubelet brings no token, and everything else is told to whom the guard admits. The server has
threads of its own and never touches a plane: it reads what was published last.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NamedTuple, Self

from stretto.base.clock import WallClock
from stretto.base.errors import InputError
from stretto.daemons.access_check import AccessDecision, AccessGuard
from stretto.stores.kube.login.access import NO_PASSPHRASE

_LOOK: Final = 0.1
"""Seconds between looks at whether to stop serving."""
_IDLE: Final = 5.0
"""Seconds that a client has to say what it wants."""
MOST_AT_ONCE: Final = 32
"""Clients that are served at once; the next one is hung up on."""
_WITHIN: Final = 15.0
"""Seconds in which a client must be done, however busily it goes on."""
_BEARER: Final = "Bearer "
_REFUSED: Final = {
    AccessDecision.UNKNOWN: "log in: send a bearer token that the cluster knows\n",
    AccessDecision.FORBIDDEN: "not allowed: get on the non-resource URL %s\n",
    AccessDecision.UNCLEAR: "nobody can say now who may see this: the API server does not answer\n",
}


class ProbePage(NamedTuple):
    """What one path answers."""

    #: Whether all is well: 200, else 503.
    is_well: bool
    #: The text.
    text: str


Pages = Mapping[str, Callable[[], ProbePage]]
"""What is served by path."""


class ServingCertificate(NamedTuple):
    """What a server proves itself with, as files; both are read again when they change."""

    #: The certificate and its chain, in PEM.
    cert: Path
    #: Its private key, in PEM.
    key: Path


class ServedPages(NamedTuple):
    """What is served, and to whom."""

    #: By path.
    pages: Pages
    #: Paths that nobody sees who is not admitted.
    guarded: frozenset[str] = frozenset()
    #: Serve over TLS with this; ``None`` for plain HTTP, which is for loopback alone.
    certificate: ServingCertificate | None = None
    #: Who decides about callers over TLS; ``None`` admits nobody.
    guard: AccessGuard | None = None


def address_of(text: str) -> tuple[str, int]:
    """An address such as ``127.0.0.1:10259``, or ``:10259`` for every interface.

    Raises:
        InputError: it is none.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InputError("--bind-address", text, "HOST:PORT", "for example 127.0.0.1:10259")
    return host.strip("[]") or "0.0.0.0", int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host's address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ProbeServer:
    """The server; it serves while its block is open."""

    def __init__(self, address: str, served: ServedPages) -> None:
        """A server that listens from now on.

        Args:
            address: ``HOST:PORT``; port 0 takes a free one.
            served: what, and to whom.

        Raises:
            InputError: the address cannot be listened on, or would be open to others without TLS;
                the certificate cannot be used.
        """
        host, port = address_of(address)
        if served.certificate is None and not is_loopback(host):
            expected = "a loopback address such as 127.0.0.1, or TLS"
            hint = "add --tls-cert-file and --tls-private-key-file"
            raise InputError("--bind-address", address, expected, hint)
        try:
            self._server = _Server(host, port, served)
        except OSError as error:
            expected = f"an address that is free ({error.strerror})"
            raise InputError("--bind-address", address, expected) from error
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


class _Server(ThreadingHTTPServer):
    """One thread a client, a bounded number of them; TLS is spoken in the client's own thread."""

    daemon_threads = True
    request_queue_size = 2 * MOST_AT_ONCE

    def __init__(self, host: str, port: int, served: ServedPages) -> None:
        #: What is served, and to whom.
        self.served = served
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._clock = WallClock()
        #: Until when each client must be done.
        self._until: dict[socket.socket, float] = {}
        self._trust = (
            _ServerCertificate(served.certificate) if served.certificate is not None else None
        )
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client, or hang up where too many are served."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a client in its thread."""
        with contextlib.ExitStack() as end:
            end.callback(self._places.release)
            line = end.enter_context(request.dup())  # TLS takes the other one over
            self._until[line] = self._clock.monotonic() + _WITHIN
            end.callback(self._until.pop, line)
            super().process_request_thread(request, client_address)

    def service_actions(self) -> None:
        """Hang up on clients whose time is over; called between looks for new ones."""
        now = self._clock.monotonic()
        for line, until in list(self._until.items()):
            if until < now:
                with contextlib.suppress(OSError):  # it has gone by itself
                    line.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands where TLS is spoken, then answer."""
        if self._trust is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_IDLE)
        with self._trust.context().wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up or speaks no TLS is not worth a line."""


class _ServerCertificate:
    """The server's certificate, read again when its files change."""

    def __init__(self, certificate: ServingCertificate) -> None:
        self._certificate = certificate
        self._seen: tuple[int, ...] = ()
        self._lock = threading.Lock()
        try:
            self._context = self._read()
        except (OSError, ValueError) as error:
            named = f"{certificate.cert}, {certificate.key}"
            expected = f"a certificate and its key in PEM, without a passphrase ({error})"
            raise InputError("--tls-cert-file", named, expected) from error

    def context(self) -> ssl.SSLContext:
        """What to shake hands with now; files that cannot be used leave what was."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._changed() != self._seen:
                self._context = self._read()
        return self._context

    def _changed(self) -> tuple[int, ...]:
        return tuple(each.stat().st_mtime_ns for each in self._certificate)

    def _read(self) -> ssl.SSLContext:
        seen = self._changed()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        cert, key = self._certificate
        context.load_cert_chain(cert, key, password=NO_PASSPHRASE)
        self._seen = seen
        return context


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the known paths and nothing else; bodies are not read."""

    #: Seconds that a client has.
    timeout = _IDLE
    server_version = "stretto"
    sys_version = ""
    server: _Server
    _SHORT: ClassVar = {True: "ok\n", False: "not ok\n"}

    def do_GET(self) -> None:
        """One request."""
        served = self.server.served
        path = self.path.partition("?")[0]
        page = served.pages.get(path)
        if page is None:
            self._answer(404, "no such page\n")
            return
        said = self._admission(served, path)
        if said is AccessDecision.ADMITTED:
            found = page()
            self._answer(200 if found.is_well else 503, found.text)
        elif path in served.guarded:
            self._answer(said.value, _REFUSED[said].replace("%s", path))
        else:
            is_well = page().is_well
            self._answer(200 if is_well else 503, self._SHORT[is_well])

    def _admission(self, served: ServedPages, path: str) -> AccessDecision:
        """What the caller may see: all of it without TLS, which is for this machine alone."""
        if served.certificate is None:
            return AccessDecision.ADMITTED
        said = self.headers.get("Authorization", "")
        token = said.removeprefix(_BEARER).strip() if said.startswith(_BEARER) else ""
        if served.guard is None or (not token and path not in served.guarded):
            return AccessDecision.UNKNOWN
        return served.guard.admits(token, path)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Requests are not worth a line."""

    def _answer(self, code: int, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if code == AccessDecision.UNKNOWN.value:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)
