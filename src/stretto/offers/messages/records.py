"""RecordIO: the framing of event streams, a decimal length, a newline and the record."""

from collections.abc import Iterator
from typing import Final

MAX_RECORD: Final = 1 << 26
"""Maximum size in bytes of a record that a reader accepts."""
_MAX_DIGITS: Final = len(str(MAX_RECORD))


def frame(record: bytes) -> bytes:
    """One record with its length, for sending as one chunk."""
    return b"%d\n%b" % (len(record), record)


class RecordReader:
    """Splits a stream of bytes, in pieces of any size, into records."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The records that these bytes complete.

        Raises:
            ValueError: a length is not a number, or is too large.
        """
        self._rest += data
        while True:
            digits, newline, rest = self._rest.partition(b"\n")
            if not newline:
                if len(digits) > _MAX_DIGITS:
                    raise ValueError(f"no length of a record: {digits[:20]!r}")
                return
            if not digits.isdigit() or int(digits) > MAX_RECORD:
                raise ValueError(f"no length of a record: {digits[:20]!r}")
            size = int(digits)
            if len(rest) < size:
                return
            self._rest = rest[size:]
            yield rest[:size]
