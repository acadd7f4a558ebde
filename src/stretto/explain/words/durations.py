"""Durations as text for people."""

from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def short_duration(seconds: float | None) -> str:
    """Format a duration in at most two units; ``-`` if it is unknown.

    >>> [short_duration(s) for s in (None, 0.4, 12, 75, 3_660, 99_301.59, 1_000_000)]
    ['-', '0.4s', '12s', '1m15s', '1h1m', '27h35m', '11d13h']
    """
    if seconds is None:
        return "-"
    if seconds < 10:
        return f"{round(seconds, 1):g}s"
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return _joined(whole // _MINUTE, "m", whole % _MINUTE, "s")
    if whole < 2 * _DAY:
        return _joined(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "m")
    return _joined(whole // _DAY, "d", whole % _DAY // _HOUR, "h")


def _joined(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large}{unit}{small}{smaller}" if small else f"{large}{unit}"
