"""Functions of times and durations."""

import re
from collections.abc import Callable, Mapping
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from stretto.api.checks.fields.errors import quoted
from stretto.cel.running.values import CelDuration, CelTime, EvaluationError

_NANOS: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_YEARS: Final = 400
_CYCLE: Final = timedelta(days=146_097)
"""The years after which the days of the calendar and of the week repeat."""
_UTC_NAMES: Final = ("", "UTC", "Local")
"""Names of the zone of the server, which is UTC."""


def _zone(name: str) -> tzinfo:
    if ":" in name:
        return _fixed_zone(name)
    if name in _UTC_NAMES:
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise EvaluationError(f"unknown time zone {name}") from error


def _fixed_zone(name: str) -> tzinfo:
    """The zone of an offset from UTC in hours and minutes."""
    hours, _, minutes = name.partition(":")
    for each in (hours, minutes):
        if not _WHOLE.fullmatch(each):
            problem = f"strconv.Atoi: parsing {quoted(each)}: invalid syntax"
            raise EvaluationError(problem)
    late = -int(minutes) if name.startswith("-") else int(minutes)
    try:
        return timezone(timedelta(minutes=int(hours) * 60 + late))
    except (ValueError, OverflowError) as error:
        raise EvaluationError(f"offset out of range: {name}") from error


def _moment(value: CelTime, zone: str) -> tuple[datetime, int]:
    """Return the time in a zone, and the years to add to it.

    The offset of a zone can lead to the years 0 and 10000, which a ``datetime`` cannot hold.
    """
    moment = _EPOCH + timedelta(seconds=value.nanos // _NANOS)
    where = _zone(zone)
    if moment.year == MINYEAR:
        return (moment + _CYCLE).astimezone(where), -_YEARS
    if moment.year == MAXYEAR:
        return (moment - _CYCLE).astimezone(where), _YEARS
    return moment.astimezone(where), 0


def _year(value: CelTime, zone: str = "") -> int:
    moment, more = _moment(value, zone)
    return moment.year + more


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda value, zone="": read(_moment(value, zone)[0])


def _part_or_whole(read: Callable[[datetime], int], unit: int) -> Callable[..., int]:
    """Return a function of a part of a time, or of a duration in whole units."""

    def part(value: CelTime | CelDuration, zone: str = "") -> int:
        if isinstance(value, CelTime):
            return read(_moment(value, zone)[0])
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
    "getFullYear": _year,
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
