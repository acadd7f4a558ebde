"""What goes over the line, and the three ways in which it fails."""

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
    """What the server said."""

    #: HTTP status.
    status: int
    #: Body.
    body: bytes
    #: Seconds that it asks us to wait.
    retry_after: float | None = None
    #: What we have shown in vain, where the login was not taken (401).
    shown: str = ""


class NotSentError(StrettoError):
    """Nobody has seen the request."""


class DistrustedError(UnreachableError):
    """The server's certificate is not one that we trust."""


class LostError(StrettoError):
    """The request may have been seen, and its answer is not known."""


class SilentError(LostError):
    """Nothing came for too long; the connection may be dead."""


def connection_problem(error: OSError) -> str:
    """Why there is no connection, in the system's words where it has any."""
    number = error.errno
    if number is not None and number > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(number)
    return str(error) or type(error).__name__


async def body_of(response: aiohttp.ClientResponse, most: int) -> bytes:
    """A whole body within its bound.

    Raises:
        LostError: it is longer.
    """
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > most:
            response.close()
            raise LostError(f"an answer of more than {most} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
