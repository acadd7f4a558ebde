"""Connections to the server: one request, one response or a classified failure.

Three failures are distinguished, because they differ for a write: it was not sent; it may have been
executed; the server is not trusted. Redirects are not followed (they would leak the token), and
responses are bounded.
"""

import asyncio
import contextlib
import socket
import ssl
import weakref
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import aiohttp
from yarl import URL

from stretto.base.errors import InputError, StrettoError
from stretto.stores.kube.login.access import Login, LoginSource
from stretto.stores.kube.login.messages import (
    JSON,
    DistrustedError,
    HttpRequest,
    HttpResponse,
    LostError,
    NotSentError,
    body_of,
    connection_problem,
)
from stretto.stores.kube.transport.connections import ConnectionPool
from stretto.stores.kube.transport.options import KubeOptions

T = TypeVar("T")

_UNSIGNED: Final = (
    "the kubeconfig's certificate-authority (in a pod, the service account's ca.crt) "
    "must have signed the server's certificate"
)
"""Remedy if the server's certificate is not trusted."""
_NO_TLS: Final = "does this address speak TLS, and a version of it that is not too old?"
"""Remedy if the TLS handshake does not reach a certificate."""
_CLOSE_ATTEMPTS: Final = 100
_CLOSE_WAIT: Final = 0.01
"""Number of checks, and seconds between them, until closed connections are gone."""


class HttpClient:
    """Persistent connections to one API server; used only on the event loop."""

    def __init__(self, access: LoginSource, options: KubeOptions) -> None:
        """Create a client; it connects with its first request."""
        #: Timeouts and limits.
        self.options = options
        self._access = access
        self._login: Login | None = None
        self._read_at = 0.0
        self._lock = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._kept = ConnectionPool(options)
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    async def login(self, refused: Login | None = None) -> Login:
        """Return the login to use; ``refused`` is the login that the server rejected."""
        loop = asyncio.get_running_loop()
        known = self._login
        if refused is None and known is not None and self._is_fresh(loop.time()):
            return known
        async with self._lock:
            known = self._login
            renew = refused is not None and refused is known
            if known is None or renew or not self._is_fresh(loop.time()):
                try:
                    self._login = known = await self._access.login(renew=renew)
                except InputError:
                    if known is None:
                        raise
                    # A file is being replaced: the current login may still be valid.
                self._read_at = loop.time()
        return known

    def _is_fresh(self, now: float) -> bool:
        return now - self._read_at <= self.options.token_every

    async def exchange(
        self, request: HttpRequest, may_send: Callable[[], bool] = lambda: True
    ) -> HttpResponse:
        """Send a request and read its response; renew a rejected token once.

        ``may_send`` is called immediately before each sending, because a login may take long.

        Raises:
            NotSentError: no connection could be made, or the request may not be sent any more.
            LostError: the connection broke, or the response did not arrive in time.
            DistrustedError: the server's certificate is not trusted.
        """
        login, answer = await self._trusted(lambda login: self._once(login, request, may_send))
        if answer.status == 401:
            renewed = await self.login(refused=login)
            if renewed.authorization != login.authorization or renewed.context is not login.context:
                answer = await self._once(renewed, request, may_send)
            if answer.status == 401:
                answer = answer._replace(shown=renewed.shown)
        return answer

    async def prepare(self, count: int) -> None:
        """Connect before the first request, so that a burst need not wait."""
        login = await self.login()
        if not login.proxy:
            await self._kept.prepare(login, count)

    async def open(self, path: str, idle: float) -> aiohttp.ClientResponse:
        """Start to read a stream; the caller reads and closes it.

        Args:
            path: the path to read.
            idle: seconds without a byte after which the stream is dead.

        Raises:
            NotSentError, LostError, DistrustedError: as ``exchange``.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.options.connect, sock_read=idle
        )
        login, response = await self._trusted(lambda login: self._stream(login, path, timeout))
        if response.status == 401:
            response.close()
            login = await self.login(refused=login)
            response = await self._stream(login, path, timeout)
        return response

    async def close(self) -> None:
        """Close all connections."""
        self._kept.close()
        if self._session is not None:
            await self._session.close()
            self._session = None
        for each in list(self._sockets):
            with contextlib.suppress(OSError):  # closed already, or never connected
                each.shutdown(socket.SHUT_RDWR)
        for _ in range(_CLOSE_ATTEMPTS):  # an orderly shutdown may never end
            if all(each.fileno() < 0 for each in list(self._sockets)):
                return
            await asyncio.sleep(_CLOSE_WAIT)

    async def _trusted(self, send: Callable[[Login], Awaitable[T]]) -> tuple[Login, T]:
        """Return the response to a request, and the login used.

        Authorities are rotated. If the server's certificate is not trusted, the authorities are
        read again, and the request is repeated once if they have changed. The request has not been
        sent at that point.
        """
        login = await self.login()
        try:
            return login, await send(login)
        except DistrustedError:
            renewed = await self.login(refused=login)
            if renewed.context is login.context:
                raise
            return renewed, await send(renewed)

    async def _stream(
        self, login: Login, path: str, times: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        try:
            return await self._request(login, HttpRequest("GET", path), times)
        except Exception as error:
            raise self._wrapped_error(error, login) from error

    async def _once(
        self, login: Login, request: HttpRequest, may_send: Callable[[], bool]
    ) -> HttpResponse:
        if not may_send():
            raise NotSentError("the request may not be sent any more")
        if not login.proxy:
            try:
                return await self._kept.exchange(login, request)
            except Exception as error:
                raise self._wrapped_error(error, login) from error
        options = self.options
        timeout = aiohttp.ClientTimeout(
            total=options.answer + options.connect, sock_connect=options.connect
        )
        try:
            async with await self._request(login, request, timeout) as response:
                body = await body_of(response, options.most_bytes)
                return HttpResponse(response.status, body, retry_after_header(response))
        except Exception as error:
            raise self._wrapped_error(error, login) from error

    async def _request(
        self, login: Login, request: HttpRequest, times: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": JSON}
        if login.authorization:
            headers["Authorization"] = login.authorization
        if request.body:
            headers["Content-Type"] = request.content
        return await self._sessions().request(
            request.method,
            URL(login.server + request.path, encoded=True),
            data=request.body or None,
            headers=headers,
            timeout=times,
            allow_redirects=False,
            ssl=login.context if login.context is not None else True,
            server_hostname=login.server_name or None,
            proxy=login.proxy or None,
        )

    def _sessions(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(  # without a limit: the gates limit connections
                limit=0, keepalive_timeout=60.0, socket_factory=self._socket
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "stretto"},
            )
            # If the library repeated a PUT or DELETE, the repetition would conflict with its own
            # first success.
            self._session._retry_connection = False  # noqa: SLF001
        return self._session

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """Create a tracked socket, so that it is certainly closed."""
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    def _wrapped_error(self, error: Exception, login: Login) -> StrettoError:
        """Convert an error of the library to one of this module."""
        text = str(error) or type(error).__name__
        if isinstance(error, StrettoError):
            return error
        if isinstance(error, aiohttp.ClientHttpProxyError):  # its text contains the password
            text = f"its proxy answered {error.status} {error.message}".rstrip()
        if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
            is_of_it = isinstance(error, ssl.CertificateError)
            return DistrustedError(login.server, text, _UNSIGNED if is_of_it else _NO_TLS)
        if isinstance(error, aiohttp.ClientConnectorError):
            return NotSentError(connection_problem(error.os_error))
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return NotSentError(text)
        if isinstance(error, aiohttp.ClientError | TimeoutError | OSError):
            return LostError(text)
        raise error


def retry_after_header(response: aiohttp.ClientResponse) -> float | None:
    """The ``Retry-After`` header, if it is a number of seconds."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None
