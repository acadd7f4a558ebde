"""Time as a dependency: the only module that reads the machine's clock.

There are two kinds of time, and code never mixes them. `now` is the wall clock; it may jump, and
only displayed values and human-readable fields use it. `monotonic` never goes back; every duration,
lease and deadline uses it. Code that takes a `Clock` runs unchanged in a simulator.
"""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, Protocol

from stretto.base.errors import InputError

BEGIN: Final = 1_767_225_600
"""Wall time in whole seconds at which virtual runs begin: 2026-01-01. Schedules depend on it."""
SecondsOf = Callable[[float], float]
"""Maps a clock time to a second of a run."""


class Clock(Protocol):
    """Source of time."""

    def now(self) -> float:
        """Wall-clock seconds since the epoch; for display only, because it may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since a fixed point; never goes back. For every duration."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep; a duration of 0 or less returns at once."""
        ...


class WallClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since a fixed point, at the best resolution of the machine."""
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        """Block the thread for a duration."""
        if seconds > 0:
            time.sleep(seconds)


class ManualClock:
    """A clock that advances only by explicit calls, for virtual time and tests.

    The wall clock starts at the monotonic time and advances with it. `jump_wall` moves only the
    wall clock, as an administrator or NTP would.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._monotonic = start
        self._wall_offset = 0.0

    def now(self) -> float:
        """Monotonic time plus all wall-clock jumps so far."""
        return self._monotonic + self._wall_offset

    def monotonic(self) -> float:
        """The virtual time."""
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        """Advance virtual time by the duration, without blocking."""
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Advance the time.

        Raises:
            ValueError: the duration is negative.
        """
        self.set(self._monotonic + seconds)

    def set(self, t: float) -> None:
        """Move to a point of monotonic time.

        Raises:
            ValueError: the point lies in the past.
        """
        if t < self._monotonic:
            raise ValueError(f"monotonic time cannot go back from {self._monotonic} to {t}")
        self._monotonic = t

    def jump_wall(self, seconds: float) -> None:
        """Move only the wall clock, forwards or backwards; durations do not change."""
        self._wall_offset += seconds


class PacedClock:
    """A clock that runs faster or slower than another one."""

    def __init__(self, inner: Clock, speed: float) -> None:
        """Start at the time of ``inner``.

        Args:
            inner: the clock to follow.
            speed: seconds of this clock per second of ``inner``.
        """
        self._inner = inner
        self._speed = speed
        self._wall = inner.now()
        self._start = inner.monotonic()

    def now(self) -> float:
        """Seconds since the epoch; both clocks agree at the start."""
        return self._wall + self.monotonic() - self._start

    def monotonic(self) -> float:
        """Seconds since a fixed point."""
        return self._start + (self._inner.monotonic() - self._start) * self._speed

    def sleep(self, seconds: float) -> None:
        """Block the thread for a duration of this clock."""
        self._inner.sleep(seconds / self._speed)


def seconds_since(start: float) -> SecondsOf:
    """Return a function that maps clock times to seconds since ``start``."""
    return lambda time: time - start


def timestamp(seconds: float) -> str:
    """Format seconds since the epoch like Kubernetes: RFC 3339 in UTC, with microseconds if any.

    >>> timestamp(0)
    '1970-01-01T00:00:00Z'
    >>> timestamp(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    fraction, whole = math.modf(seconds)
    count, rest = divmod(int(whole) * _MICRO + round(fraction * _MICRO), _MICRO)
    return f"{_second(count)}.{rest:06d}Z" if rest else f"{_second(count)}Z"


_MICRO: Final = 10**6
"""Microseconds per second."""


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """Format whole seconds without the offset; all times of one second share the result."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix("+00:00")


def parse_timestamp(text: str, where: str = "timestamp") -> float:
    """Parse an RFC 3339 time into seconds since the epoch.

    Any offset and any number of decimals are valid.

    Raises:
        InputError: the text is not such a time, or has no offset.

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


def timestamp_or_none(text: str | None) -> float | None:
    """Parse a time that another client may have written; ``None`` if it is missing or malformed."""
    try:
        return parse_timestamp(text) if text else None
    except InputError:
        return None
