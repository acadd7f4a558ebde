"""HTTP/1.1 for single requests: encoding of requests, decoding of responses.

No compression is requested or supported. Anything that an API server never sends (meaningful
trailers, pipelined responses) counts as a broken connection.
"""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from stretto.stores.kube.login.access import Login
from stretto.stores.kube.login.messages import JSON, HttpRequest, HttpResponse, LostError

_MOST_HEAD: Final = 1 << 16
"""Maximum bytes of a response head."""
_DIGITS: Final = 20
"""Maximum characters of a length."""
_END: Final = b"\r\n\r\n"
_PORTS: Final = {"https": 443, "http": 80}
_EMPTY: Final = (204, 304)
"""Statuses of responses without a body."""


class RequestTarget(NamedTuple):
    """Destination of the requests of one login, and their common parts."""

    #: Host to connect to.
    host: str
    #: Its port.
    port: int
    #: Prefix of every path.
    base: str
    #: Headers of every request.
    headers: str


def target_of(login: Login) -> RequestTarget:
    """The common parts of all requests of a login."""
    parts = urlsplit(login.server)
    port = parts.port or _PORTS[parts.scheme]
    lines = [f"Host: {parts.netloc.rpartition('@')[2]}", f"Accept: {JSON}", "User-Agent: stretto"]
    if login.authorization:
        lines.append(f"Authorization: {login.authorization}")
    headers = "".join(f"\r\n{line}" for line in lines)
    return RequestTarget(parts.hostname or "", port, parts.path, headers)


def bytes_of(request: HttpRequest, target: RequestTarget) -> bytes:
    """Encode a request; its path is already quoted."""
    start = f"{request.method} {target.base}{request.path} HTTP/1.1{target.headers}"
    if not request.body:
        none = "" if request.method == "GET" else "\r\nContent-Length: 0"
        return f"{start}{none}\r\n\r\n".encode("ascii")
    size = len(request.body)
    rest = f"\r\nContent-Type: {request.content}\r\nContent-Length: {size}\r\n\r\n"
    return (start + rest).encode("ascii") + request.body


class ResponseReader:
    """Decoder of the responses of one connection, one at a time."""

    def __init__(self, most: int) -> None:
        """Create the decoder; ``most`` is the maximum length of a body in bytes."""
        self._most = most
        self._data = bytearray()
        self._body = bytearray()
        self._head: _ResponseHead | None = None

    def feed(self, data: bytes) -> tuple[HttpResponse, bool] | None:
        """Process received bytes; return a complete response and whether the connection persists.

        Raises:
            LostError: the bytes are not a response, or longer than the limit.
        """
        self._data += data
        if self._head is None and not self._begin():
            return None
        head = self._head
        assert head is not None
        if head.chunked:
            return self._ended(head, self._body) if self._chunks() else None
        have = len(self._data)
        if head.length is None or have < head.length:
            self._check(have)
            return None
        if have > head.length:
            raise LostError("the response is longer than announced")
        return self._ended(head, self._data)

    def end(self) -> HttpResponse | None:
        """Handle the end of the connection; return the response if it ends this way."""
        head = self._head
        if head is None or head.chunked or head.length is not None:
            return None
        return self._ended(head, self._data)[0]

    def _ended(self, head: "_ResponseHead", body: bytearray) -> tuple[HttpResponse, bool]:
        answer = HttpResponse(head.status, bytes(body), head.retry_after)
        stays = head.stays and (body is self._data or not self._data)
        self._head, self._data, self._body = None, bytearray(), bytearray()
        return answer, stays

    def _begin(self) -> bool:
        """Read the head once it is complete; interim answers (1xx) are skipped."""
        while True:
            end = self._data.find(_END)
            if end < 0:
                if len(self._data) > _MOST_HEAD:
                    raise LostError("an answer whose head does not end")
                return False
            head = _head_of(bytes(self._data[:end]))
            del self._data[: end + len(_END)]
            if head.status >= 200:
                self._head = head
                self._check(head.length or 0)
                return True

    def _chunks(self) -> bool:
        """Process the available chunks; return whether the last one was read."""
        data = self._data
        while (line := data.find(b"\r\n")) >= 0:
            try:
                size = int(data[:line].partition(b";")[0], 16)
            except ValueError as error:
                raise LostError("a chunk without a size") from error
            start, stop = line + 2, line + 2 + size
            self._check(len(self._body) + size)
            if len(data) < stop + 2:
                return False
            if data[stop : stop + 2] != b"\r\n":
                raise LostError("an answer with a trailer" if not size else "a chunk without end")
            self._body += data[start:stop]
            del data[: stop + 2]
            if not size:
                return True
        if len(data) > _MOST_HEAD:
            raise LostError("a chunk whose size does not end")
        return False

    def _check(self, size: int) -> None:
        if size > self._most:
            raise LostError(f"an answer of more than {self._most} bytes")


class _ResponseHead(NamedTuple):
    """The head of a response."""

    #: HTTP status.
    status: int
    #: Bytes of the body; ``None`` if the body is chunked or ends with the connection.
    length: int | None
    #: True if the body is chunked.
    chunked: bool
    #: True if the connection persists.
    stays: bool
    #: Seconds to wait, from ``Retry-After``.
    retry_after: float | None


def _head_of(head: bytes) -> _ResponseHead:
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise LostError("an answer that is not HTTP/1.1")
    status, length, chunked, retry = int(rest[:3]), None, False, None
    stays = version != b"HTTP/1.0"
    for line in lines:
        name, _, value = line.partition(b":")
        match name.lower():
            case b"content-length":
                if not value.strip().isdigit() or len(value) > _DIGITS:
                    raise LostError("a response with an invalid length")
                length = int(value)
            case b"transfer-encoding":
                chunked = True
            case b"connection":
                stays = stays and value.strip().lower() != b"close"
            case b"content-encoding" if value.strip().lower() != b"identity":
                raise LostError("a response in an encoding that was not requested")
            case b"retry-after" if value.strip().isdigit():
                retry = float(value)
    if status in _EMPTY or status < 200:
        length, chunked = 0, False
    return _ResponseHead(status, None if chunked else length, chunked, stays, retry)
