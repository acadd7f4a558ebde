"""Watch streams: decoding of changes, one JSON object per line."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import aiohttp
import msgspec

from stretto.stores.kube.login.messages import HttpResponse, LostError, SilentError
from stretto.stores.kube.transport.client import retry_after_header

_INITIAL_END: Final = b'"k8s.io/initial-events-end"'


class WatchLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch."""

    #: ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``.
    type: str
    #: The object, or a Status for an error.
    object: msgspec.Raw

    @property
    def ends_the_list(self) -> bool:
        """Return whether this bookmark ends the initial list."""
        return self.type == "BOOKMARK" and _INITIAL_END in bytes(self.object)


_DECODER: Final = msgspec.json.Decoder(WatchLine)
_REFUSAL: Final = 4096
"""Maximum bytes read of a response that refuses a stream."""


async def refusal_of(response: aiohttp.ClientResponse, seconds: float) -> HttpResponse:
    """Read the response received instead of a stream, up to a limit.

    Raises:
        LostError: the response did not arrive completely in time.
    """
    body = b""
    try:
        async with asyncio.timeout(seconds):
            async for part in response.content.iter_any():
                body += part
                if len(body) >= _REFUSAL:
                    break
    except (aiohttp.ClientError, OSError) as error:  # includes TimeoutError
        text = str(error) or type(error).__name__
        raise LostError(f"HTTP status {response.status}, and no more of it: {text}") from error
    return HttpResponse(response.status, body[:_REFUSAL], retry_after_header(response))


async def changes_of(
    response: aiohttp.ClientResponse, most_line: int
) -> AsyncIterator[list[WatchLine]]:
    """Yield the changes of a stream in batches as they arrive, until the server ends it.

    Raises:
        SilentError: nothing arrived for too long.
        LostError: the connection broke, or sent something that is not a change.
    """
    rest = b""
    try:
        async for chunk in response.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield [change for line in lines if line and (change := _change_of(line))]
            if len(rest) > most_line:
                raise LostError(f"a line of more than {most_line} bytes")
    except TimeoutError as error:
        raise SilentError(str(error) or "no data for too long") from error
    except (aiohttp.ClientError, OSError) as error:
        raise LostError(str(error) or type(error).__name__) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LostError(f"an invalid stream: {error}") from error


def _change_of(line: bytes) -> WatchLine | None:
    """Decode the change in a line; ``None`` for an object nested too deeply to decode.

    A server accepts ten thousand levels in free-form fields. Such an object is skipped; otherwise
    the stream would end there every time.
    """
    try:
        return _DECODER.decode(line)
    except RecursionError:
        return None
