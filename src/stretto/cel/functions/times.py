"""Functions of times and durations."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from stretto.cel.running.values import CelDuration, CelTime, EvaluationError

_NANOS: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET: Final = re.compile(r"([+-]?)(\d\d?):(\d\d)", re.ASCII)


def _zone(name: str) -> tzinfo:
    match = _OFFSET.fullmatch(name)
    if match is not None:
        minutes = int(match[2]) * 60 + int(match[3])
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise EvaluationError(f"unknown time zone {name}") from error


def _moment(value: CelTime, zone: str) -> datetime:
    moment = _EPOCH + timedelta(seconds=value.nanos // _NANOS)
    return moment.astimezone(_zone(zone))


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda value, zone="": read(_moment(value, zone))


def _part_or_whole(read: Callable[[datetime], int], unit: int) -> Callable[..., int]:
    """Return a function of a part of a time, or of a duration in whole units."""

    def part(value: CelTime | CelDuration, zone: str = "") -> int:
        if isinstance(value, CelTime):
            return read(_moment(value, zone))
        whole = abs(value.nanos) // unit
        return -whole if value.nanos < 0 else whole

    return part


def _milliseconds(value: CelTime | CelDuration, zone: str = "") -> int:
    """The milliseconds within the second of a time, or those of a duration."""
    if isinstance(value, CelTime):
        _zone(zone)
        return value.nanos % _NANOS // 10**6
    whole = abs(value.nanos) // 10**6
    return -whole if value.nanos < 0 else whole


TIMES: Final[Mapping[str, Any]] = {
    "getFullYear": _part(lambda each: each.year),
    "getMonth": _part(lambda each: each.month - 1),
    "getDate": _part(lambda each: each.day),
    "getDayOfMonth": _part(lambda each: each.day - 1),
    "getDayOfWeek": _part(lambda each: each.isoweekday() % 7),
    "getDayOfYear": _part(lambda each: each.timetuple().tm_yday - 1),
    "getHours": _part_or_whole(lambda each: each.hour, 3600 * _NANOS),
    "getMinutes": _part_or_whole(lambda each: each.minute, 60 * _NANOS),
    "getSeconds": _part_or_whole(lambda each: each.second, _NANOS),
    "getMilliseconds": _milliseconds,
}
"""Functions of times and durations by name."""
