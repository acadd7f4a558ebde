"""Times as Go reads and writes them: RFC 3339 with or without microseconds, in UTC.

``go_time`` follows ``Parse`` in ``time/format.go`` of Go, element by element, because its messages
quote the element that does not fit.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

_PLAIN: Final = (
    r"^(?!0000)[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
PLAIN_SECONDS: Final = rf"{_PLAIN}Z\Z"
"""Pattern of most times with seconds that Go does not change; the 29th of February is missing."""
PLAIN_MICROSECONDS: Final = rf"{_PLAIN}\.[0-9]{{6}}Z\Z"
"""Pattern of most times with microseconds that Go does not change."""
_ARE_PLAIN: Final = {False: re.compile(PLAIN_SECONDS), True: re.compile(PLAIN_MICROSECONDS)}


class TimeTextError(Exception):
    """A text is no time; the message is that of Go."""


class _Element(NamedTuple):
    """An element of a layout."""

    #: The element in the notation of Go.
    shown: str
    #: Pattern of its text.
    pattern: re.Pattern[str]
    #: Its name in messages about its range; empty without a range.
    name: str = ""
    #: Its values.
    values: range = range(0)


def _element(shown: str, pattern: str, name: str = "", values: range = range(0)) -> _Element:
    return _Element(shown, re.compile(pattern, re.ASCII | re.DOTALL), name, values)


_DATE: Final = (
    _element("2006", r"(\d{4})"),
    _element("-", "-()"),
    _element("01", r"(\d\d)", "month", range(1, 13)),
    _element("-", "-()"),
    _element("02", r"(\d\d)"),
    _element("T", "T()"),
    _element("15", r"(\d\d?)", "hour", range(24)),
    _element(":", ":()"),
    _element("04", r"(\d\d)", "minute", range(60)),
    _element(":", ":()"),
)
_ZONE: Final = re.compile(r"Z|(.)(\d\d):(\d\d)", re.ASCII | re.DOTALL)
_SHOWN_ZONE: Final = "Z07:00"
_LAYOUTS: Final[dict[bool, Sequence[_Element]]] = {
    # A fraction has no meaning in a layout without one.
    False: (*_DATE, _element("05", r"(\d\d)(?:[.,]\d+)?", "second", range(60))),
    True: (
        *_DATE,
        _element("05", r"(\d\d)", "second", range(60)),
        _element(".000000", r"[.,](\d{6})"),
    ),
}
"""Elements before the zone, of layouts with or without microseconds."""


def go_time(text: str, *, micro: bool) -> str:
    """Return a time in UTC as Go writes it.

    Args:
        text: a time in RFC 3339.
        micro: whether it has microseconds.

    Raises:
        TimeTextError: the text is no such time.
    """
    if _ARE_PLAIN[micro].match(text):
        return text
    layout = _LAYOUTS[micro]
    shown = "".join(each.shown for each in layout) + _SHOWN_ZONE
    at, found = 0, list[int]()
    for each in layout:
        match = each.pattern.match(text, at)
        if match is None:
            raise _unexpected(text, shown, text[at:], each.shown)
        if match[1] and each.name and int(match[1]) not in each.values:
            raise TimeTextError(f"parsing time {_quoted(text)}: {each.name} out of range")
        found += [int(match[1])] if match[1] else []
        at = match.end()
    zone = _ZONE.match(text, at)
    if zone is None:
        raise _unexpected(text, shown, text[at:], _SHOWN_ZONE)
    minutes = _offset(zone, text, shown)
    if zone.end() < len(text):
        rest = _quoted(text[zone.end() :])
        raise TimeTextError(f"parsing time {_quoted(text)}: extra text: {rest}")
    return _in_utc(text, found, minutes)


def _offset(zone: re.Match[str], text: str, layout: str) -> int:
    """Return the minutes of a zone before UTC."""
    if zone[0] == "Z":
        return 0
    hours, minutes = int(zone[2]), int(zone[3])
    for value, most, name in ((minutes, 60, "minute"), (hours, 24, "hour")):
        if value > most:
            problem = f"time zone offset {name} out of range"
            raise TimeTextError(f"parsing time {_quoted(text)}: {problem}")
    if zone[1] not in "+-":
        raise _unexpected(text, layout, text[zone.start() :], _SHOWN_ZONE)
    return (60 * hours + minutes) * (1 if zone[1] == "+" else -1)


def _in_utc(text: str, parts: Sequence[int], minutes: int) -> str:
    """Return a time of some parts and a zone in UTC, in the years 1 to 9999."""
    year, month, day, hour, minute, second, *fraction = parts
    if not 1 <= day <= monthrange(year or _LEAP_YEAR, month)[1]:
        raise TimeTextError(f"parsing time {_quoted(text)}: day out of range")
    try:
        time = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        time -= timedelta(minutes=minutes)
    except (ValueError, OverflowError) as error:
        raise TimeTextError(f"parsing time {_quoted(text)}: year out of range") from error
    rest = "".join(f".{each:06d}" for each in fraction)
    return f"{time.year:04d}-{time:%m-%dT%H:%M:%S}{rest}Z"


_LEAP_YEAR: Final = 4
"""A year with the months of the year 0."""


def _unexpected(text: str, layout: str, rest: str, element: str) -> TimeTextError:
    parts = f"cannot parse {_quoted(rest)} as {_quoted(element)}"
    return TimeTextError(f"parsing time {_quoted(text)} as {_quoted(layout)}: {parts}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_UNPRINTED.sub(_escaped, escaped)}"'


_UNPRINTED: Final = re.compile(r"[^ -\x7f]")
"""Characters whose bytes Go quotes."""


def _escaped(character: re.Match[str]) -> str:
    return "".join(f"\\x{each:02x}" for each in character[0].encode("utf-8", "surrogatepass"))
