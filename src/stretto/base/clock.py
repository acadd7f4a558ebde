"""Time as an argument: the only file that touches the machine's clock.

Two kinds of time, never mixed: `now` is the wall clock, which may jump, and is for display and
for fields that people read; `monotonic` never goes back and is what every duration, lease and
deadline is made of. Code that takes a `Clock` runs unchanged in a simulator.
"""

import time
from datetime import UTC, datetime
from typing import Protocol

from stretto.base.errors import InputError


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> float:
        """Seconds since the epoch by the wall clock: for display only; it may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed point; never goes back. For every duration."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; a duration of 0 or less returns at once."""
        ...


class WallClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some fixed point, at the best resolution that the machine has."""
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        """Give the processor away for a while."""
        if seconds > 0:
            time.sleep(seconds)


class ManualClock:
    """A clock that moves only when it is told to: virtual time, and tests.

    The wall starts where the monotonic clock does and runs along; `jump_wall` moves it alone,
    as an administrator or a time server would.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._monotonic = start
        self._wall_offset = 0.0

    def now(self) -> float:
        """The wall: monotonic time and all jumps so far."""
        return self._monotonic + self._wall_offset

    def monotonic(self) -> float:
        """The virtual time."""
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        """Virtual time passes at once."""
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: time was asked to go back.
        """
        self.set(self._monotonic + seconds)

    def set(self, t: float) -> None:
        """Go on to a point of monotonic time.

        Raises:
            ValueError: the point lies in the past.
        """
        if t < self._monotonic:
            raise ValueError(f"monotonic time cannot go back from {self._monotonic} to {t}")
        self._monotonic = t

    def jump_wall(self, seconds: float) -> None:
        """Move the wall clock alone, forwards or backwards; durations must not notice."""
        self._wall_offset += seconds


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as Kubernetes writes them: RFC 3339 in UTC, microseconds if any.

    >>> timestamp(0)
    '1970-01-01T00:00:00Z'
    >>> timestamp(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def parse_timestamp(text: str, where: str = "timestamp") -> float:
    """Seconds since the epoch of an RFC 3339 text; any offset, any number of decimals.

    Raises:
        InputError: the text is no such time, or names no offset.

    >>> parse_timestamp("1970-01-01T01:00:00+01:00")
    0.0
    """
    expected = "a time like 2024-05-01T12:00:00Z (RFC 3339, with Z or an offset)"
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InputError(where, text, expected) from error
    if moment.tzinfo is None or "T" not in text.upper():
        raise InputError(where, text, expected)
    return moment.timestamp()
