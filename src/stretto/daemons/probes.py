"""Server of /livez, /readyz, /healthz and /metrics over HTTP, for kubelets and monitoring.

On loopback every page is served over plain HTTP. Any other address requires a certificate and a
guard. A kubelet sends no token, so the probes answer every client with "ok" or "not ok" only; all
details require admission by the guard. The server has its own threads and never accesses a plane:
it reads the last published texts.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

from stretto.base.clock import WallClock
from stretto.base.errors import InputError
from stretto.daemons.access_check import AccessDecision, AccessGuard
from stretto.stores.kube.login.trust import NO_PASSPHRASE

_LOOK: Final = 0.1
"""Seconds between checks of the stop flag."""
_IDLE: Final = 5.0
"""Seconds for which a read from a client may block."""
MOST_AT_ONCE: Final = 32
"""Maximum number of concurrent clients; any further client is disconnected."""
_WITHIN: Final = 15.0
"""Time limit in seconds for the whole exchange with a client."""
_BEARER: Final = "Bearer "
_REFUSED: Final = {
    AccessDecision.UNKNOWN: "log in: send a bearer token of the cluster\n",
    AccessDecision.FORBIDDEN: "not allowed: get on the non-resource URL %s\n",
    AccessDecision.UNCLEAR: "access cannot be checked: the API server does not answer\n",
}


class ProbePage(NamedTuple):
    """The answer for one path."""

    #: True for status 200, false for 503.
    is_well: bool
    #: The text.
    text: str


Pages = Mapping[str, Callable[[], ProbePage]]
"""Pages by path."""


class ServingCertificate(NamedTuple):
    """A serving certificate as files, which are read again when they change."""

    #: The certificate and its chain, in PEM.
    cert: Path
    #: Its private key, in PEM.
    key: Path


class ServedPages(NamedTuple):
    """The pages and their access rules."""

    #: The pages, by path.
    pages: Pages
    #: Paths that require admission by the guard.
    guarded: frozenset[str] = frozenset()
    #: The serving certificate; ``None`` for plain HTTP on loopback.
    certificate: ServingCertificate | None = None
    #: Checks clients over TLS; ``None`` admits no client.
    guard: AccessGuard | None = None


def address_of(text: str) -> tuple[str, int]:
    """Parse an address such as ``127.0.0.1:10259``, or ``:10259`` for every interface.

    Raises:
        InputError: the text is not an address.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InputError("--bind-address", text, "HOST:PORT", "for example 127.0.0.1:10259")
    return host.strip("[]") or "0.0.0.0", int(port)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ProbeServer:
    """Server of pages; it serves while its block is open."""

    def __init__(self, address: str, served: ServedPages) -> None:
        """Start to listen.

        Args:
            address: ``HOST:PORT``; port 0 selects a free port.
            served: the pages and their access rules.

        Raises:
            InputError: the address is not available or needs TLS, or the certificate is unusable.
        """
        host, port = address_of(address)
        if served.certificate is None and not is_loopback(host):
            expected = "a loopback address such as 127.0.0.1, or TLS"
            hint = "add --tls-cert-file and --tls-private-key-file"
            raise InputError("--bind-address", address, expected, hint)
        try:
            self._server = _Server(host, port, served)
        except OSError as error:
            expected = f"a free address ({error.strerror})"
            raise InputError("--bind-address", address, expected) from error
        #: The port of the listening socket.
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK,), name="stretto-probes", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """One thread per client, up to a limit; the TLS handshake runs in the client's thread."""

    daemon_threads = True
    request_queue_size = 2 * MOST_AT_ONCE

    def __init__(self, host: str, port: int, served: ServedPages) -> None:
        #: The pages and their access rules.
        self.served = served
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._clock = WallClock()
        #: Deadline of each client.
        self._until: dict[socket.socket, float] = {}
        self._trust = (
            _ServerCertificate(served.certificate) if served.certificate is not None else None
        )
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client, or disconnect it above the limit."""
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
            line = end.enter_context(request.dup())  # the TLS socket owns the other descriptor
            self._until[line] = self._clock.monotonic() + _WITHIN
            end.callback(self._until.pop, line)
            super().process_request_thread(request, client_address)

    def service_actions(self) -> None:
        """Disconnect clients after their deadline; called between polls for new clients."""
        now = self._clock.monotonic()
        for line, until in list(self._until.items()):
            if until < now:
                with contextlib.suppress(OSError):  # the client has disconnected
                    line.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Do the TLS handshake if there is a certificate, then answer."""
        if self._trust is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_IDLE)
        with self._trust.context().wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of clients, such as disconnects and failed handshakes."""


class _ServerCertificate:
    """The serving certificate, read again when its files change."""

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
        """The current TLS context; if the files are unreadable, the previous one stays in use."""
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
    """Handler of GET for the known paths only; bodies are not read."""

    #: Timeout of a read, in seconds.
    timeout = _IDLE
    server_version = "stretto"
    sys_version = ""
    server: _Server
    _SHORT: ClassVar = {True: "ok\n", False: "not ok\n"}

    def do_GET(self) -> None:
        """Answer one request."""
        served = self.server.served
        path = self.path.partition("?")[0]
        page = served.pages.get(path)
        if page is None:
            self._answer(404, "not found\n")
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
        """The access of a client: unlimited without TLS, which means loopback only."""
        if served.certificate is None:
            return AccessDecision.ADMITTED
        said = self.headers.get("Authorization", "")
        token = said.removeprefix(_BEARER).strip() if said.startswith(_BEARER) else ""
        if served.guard is None or (not token and path not in served.guarded):
            return AccessDecision.UNKNOWN
        return served.guard.admits(token, path)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the library's name)
        """Do nothing: requests are not logged."""

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
