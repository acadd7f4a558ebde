"""Chunks of HTTP/1.1, which responses with the same contents share."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

WRITER: Final = "stretto.writer"
"""Key of an entry in the ``extensions`` of a scope; its ``writer`` is a ``ChunkWriter``."""


class ChunkWriter(Protocol):
    """Writer of chunks of a response that has begun without a length."""

    @property
    def is_ready(self) -> bool:
        """Return whether the client has received enough of the earlier bytes."""
        ...

    def write(self, pieces: Sequence[bytes]) -> bool:
        """Send chunks with their lengths, or the pieces of one; ``False`` if it is not ready."""
        ...

    def on_shutdown(self, callback: Callable[[], object]) -> None:
        """Call a function when the server begins to stop, so that the response ends whole."""
        ...


def chunk(data: bytes) -> bytes:
    """Return the chunk that contains the data, of which there is at least one byte."""
    return b"%x\r\n%b\r\n" % (len(data), data)
