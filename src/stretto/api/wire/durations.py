"""Durations in Go's syntax: ``1m30s``, ``500ms``."""

import re
from typing import Final

from stretto.base.errors import InputError

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_GO_UNITS: Final = (*_UNITS, "µs", "μs")
_NUMBER: Final = re.compile(r"\d+\.?\d*|\.\d+")
_UNIT: Final = re.compile(r"[^.0-9]+")
_PART: Final = re.compile(r"(?<!\d)(\d++(?:\.\d*)?)(h|ms|us|ns|m|s)")


def seconds_of(text: str, where: str) -> float:
    """Parse a duration into seconds.

    Raises:
        InputError: the text is not a duration of 0 or more.
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InputError(where, text, "a duration such as 90s, 1m30s or 500ms")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def duration_problem(text: str) -> str:
    """Return the error of Go's parser for a duration; empty if it is valid."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return ""
    invalid = f'time: invalid duration "{text}"'
    if not rest:
        return invalid
    place = 0
    while place < len(rest):
        number = _NUMBER.match(rest, place)
        if number is None:
            return invalid
        unit = _UNIT.match(rest, number.end())
        if unit is None:
            return f'time: missing unit in duration "{text}"'
        if unit[0] not in _GO_UNITS:
            return f'time: unknown unit "{unit[0]}" in duration "{text}"'
        place = unit.end()
    return ""
