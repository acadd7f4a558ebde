"""Persistent connections: one request at a time on each, directly on the socket.

A bind is a few hundred bytes in each direction, so the overhead of a general client (objects for
URL, headers, timers and streams) is most of its cost. Single requests use these connections;
streams and proxies use the general client.
"""

import asyncio
import contextlib
import select
import socket
import ssl
from typing import Final

from stretto.stores.kube.login.access import Login
from stretto.stores.kube.login.messages import (
    HttpRequest,
    HttpResponse,
    LostError,
    NotSentError,
    connection_problem,
)
from stretto.stores.kube.transport.http1 import RequestTarget, ResponseReader, bytes_of, target_of
from stretto.stores.kube.transport.options import KubeOptions

_AT_ONCE: Final = 1 << 16
"""Maximum number of bytes per read."""
_KEPT: Final = 60.0
"""Seconds after which an idle connection is not reused; servers close idle connections."""
_NOT_NOW: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Connection:
    """One connection to one server; used only on the event loop."""

    def __init__(self, sock: socket.socket, most: int) -> None:
        """Use a connected socket."""
        #: Time of its last use.
        self.idle_since = 0.0
        #: True if the connection is unusable.
        self.is_closed = False
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._reader = ResponseReader(most)
        self._waiter: asyncio.Future[HttpResponse] | None = None
        self._left = memoryview(b"")
        self._loop.add_reader(sock, self._readable)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def is_good(self) -> bool:
        """Return whether the connection is usable; detect that the server has just closed it.

        A request on a closed connection would count as possibly executed.
        """
        if not self.is_closed and self._poll.poll(0):
            self._readable()
        return not self.is_closed

    async def exchange(self, data: bytes, seconds: float) -> HttpResponse:
        """Send a request and read its response.

        Raises:
            LostError: the connection broke or was closed, or nothing arrived in time.
        """
        waiter = self._waiter = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._lost, "the answer did not arrive in time")
        try:
            self._send(memoryview(data))
            answer: HttpResponse = await waiter
            return answer
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
            self._waiter = None
            self.idle_since = self._loop.time()

    def close(self) -> None:
        """Close the connection; a pending request is lost."""
        if self.is_closed:
            return
        self.is_closed = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        self._lost("the connection was closed")

    def _send(self, data: memoryview) -> None:
        """Send as much as the socket accepts now, and the rest later."""
        while data:
            try:
                data = data[self._sock.send(data) :]
            except _NOT_NOW:
                self._left = data
                self._loop.add_writer(self._sock, self._writable)
                return
            except OSError as error:
                self._lost(connection_problem(error))
                return
        self._left = data

    def _writable(self) -> None:
        self._loop.remove_writer(self._sock)
        self._send(self._left)

    def _readable(self) -> None:
        """Receive the available bytes."""
        while not self.is_closed:
            try:
                data = self._sock.recv(_AT_ONCE)
            except _NOT_NOW:
                return
            except OSError as error:
                self._lost(connection_problem(error))
                self.close()
                return
            if not self._take(data):
                return

    def _take(self, data: bytes) -> bool:
        """Receive some bytes; return whether more may be available."""
        waiter = self._waiter
        if waiter is None or waiter.done():  # closed while idle, or unexpected data
            self.close()
            return False
        try:
            if not data:
                answer = self._reader.end()
                self._gone(answer)
                return False
            found = self._reader.feed(data)
        except LostError as error:
            self._lost(str(error))
            self.close()
            return False
        if found is None:
            return True
        answer, stays = found
        waiter.set_result(answer)
        if not stays or self._left:  # the rest of the request would follow
            self.close()
        return False

    def _gone(self, answer: HttpResponse | None) -> None:
        """Handle the end of the connection by the server."""
        if answer is not None and self._waiter is not None:
            self._waiter.set_result(answer)
        self._lost("the server closed the connection")
        self.close()

    def _lost(self, why: str) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(LostError(why))


class ConnectionPool:
    """The connections of one client, as many as the maximum of concurrent requests so far."""

    def __init__(self, options: KubeOptions) -> None:
        """Create an empty pool."""
        self._options = options
        self._login: Login | None = None
        self._target: RequestTarget | None = None
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()

    async def exchange(self, login: Login, request: HttpRequest) -> HttpResponse:
        """Send a request on an idle connection or a new one.

        Raises:
            NotSentError: no connection could be made.
            LostError: the connection broke, or the response did not arrive in time.
            ssl.SSLError: the server is not trusted.
        """
        target, loop = self._target_of(login), asyncio.get_running_loop()
        until = loop.time() + self._options.connect + self._options.answer
        data = bytes_of(request, target)
        connection = self._free() or await self._connected(login, target)
        try:
            return await connection.exchange(data, until - loop.time())
        finally:
            if connection.is_closed or login is not self._login:
                connection.close()
                self._open.discard(connection)
            else:
                self._idle.append(connection)

    async def prepare(self, login: Login, count: int) -> None:
        """Open ``count`` connections; if this fails, the first request reports why."""
        target = self._target_of(login)
        with contextlib.suppress(OSError, NotSentError):
            for _ in range(count - len(self._open)):
                self._idle.append(await self._connected(login, target))

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._idle.clear()

    def _target_of(self, login: Login) -> RequestTarget:
        """Destination of the requests of a login; each login has its own connections."""
        if self._target is not None and login is self._login:
            return self._target
        target, known = target_of(login), self._login
        if known is None or (known.server, known.context, known.server_name) != (
            login.server,
            login.context,
            login.server_name,
        ):
            for connection in self._idle:
                connection.close()
            self._open.difference_update(self._idle)
            self._idle.clear()
        self._login, self._target = login, target
        return target

    def _free(self) -> Connection | None:
        """The most recently used idle connection, if it is still open."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if now - connection.idle_since < _KEPT and connection.is_good():
                return connection
            connection.close()
            self._open.discard(connection)
        return None

    async def _connected(self, login: Login, target: RequestTarget) -> Connection:
        seconds = self._options.connect
        try:
            async with asyncio.timeout(seconds):
                sock = await _connected_socket(target, seconds)
                if login.context is not None:
                    name = login.server_name or target.host
                    sock = await _trusted(sock, login.context, name)
        except TimeoutError as error:
            raise NotSentError(f"no connection within {seconds:g} s") from error
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise NotSentError(connection_problem(error)) from error
        except ssl.SSLError:
            raise
        except OSError as error:
            raise NotSentError(connection_problem(error)) from error
        connection = Connection(sock, self._options.most_bytes)
        connection.idle_since = asyncio.get_running_loop().time()
        self._open.add(connection)
        return connection


async def _connected_socket(target: RequestTarget, seconds: float) -> socket.socket:
    """Connect a socket to the first reachable address; the time is divided among the addresses."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    wrong: OSError = OSError(f"{target.host} has no address")
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(seconds / len(found)):
                await loop.sock_connect(sock, address)
        except OSError as error:  # includes TimeoutError
            sock.close()
            wrong = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise wrong


async def _trusted(sock: socket.socket, context: ssl.SSLContext, name: str) -> ssl.SSLSocket:
    """Return the socket with TLS, after the handshake."""
    try:
        safe = context.wrap_socket(sock, server_hostname=name, do_handshake_on_connect=False)
    except BaseException:
        sock.close()
        raise
    try:
        while True:
            try:
                safe.do_handshake()
            except ssl.SSLWantReadError:
                await _ready(safe, writing=False)
            except ssl.SSLWantWriteError:
                await _ready(safe, writing=True)
            else:
                return safe
    except BaseException:
        safe.close()
        raise


async def _ready(sock: ssl.SSLSocket, *, writing: bool) -> None:
    """Wait until a socket is readable or writable."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def on_ready() -> None:
        with contextlib.suppress(asyncio.InvalidStateError):
            ready.set_result(None)

    (loop.add_writer if writing else loop.add_reader)(sock, on_ready)
    try:
        await ready
    finally:
        (loop.remove_writer if writing else loop.remove_reader)(sock)
