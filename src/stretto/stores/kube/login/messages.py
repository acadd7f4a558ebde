"""Requests, responses, and the possible failures of a request."""

import os
import ssl
from typing import Final, NamedTuple

import aiohttp
import msgspec

from stretto.base.errors import StrettoError, UnreachableError

JSON: Final = "application/json"


class HttpRequest(msgspec.Struct, frozen=True, gc=False):
    """One request."""

    #: HTTP method.
    method: str
    #: Path with its query.
    path: str
    #: Body; empty for none.
    body: bytes = b""
    #: Type of the body.
    content: str = JSON


class HttpResponse(NamedTuple):
    """A response."""

    #: HTTP status.
    status: int
    #: Body.
    body: bytes
    #: Seconds to wait, from ``Retry-After``.
    retry_after: float | None = None
    #: Description of the rejected credentials after a 401.
    shown: str = ""


class NotSentError(StrettoError):
    """The request was not sent."""


class DistrustedError(UnreachableError):
    """The server's certificate is not trusted."""


class LostError(StrettoError):
    """The request may have been processed; its answer is lost."""


class SilentError(LostError):
    """No data was received for too long; the connection may be dead."""


def connection_problem(error: OSError) -> str:
    """Reason of a failed connection, in the system's words if available."""
    number = error.errno
    if number is not None and number > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(number)
    return str(error) or type(error).__name__


async def body_of(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Read a complete body within a limit.

    Raises:
        LostError: the body is longer.
    """
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > most:
            response.close()
            raise LostError(f"an answer of more than {most} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
