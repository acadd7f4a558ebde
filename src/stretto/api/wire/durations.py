"""Durations in Go's syntax: ``1m30s``, ``500ms``."""

import re
from typing import Final

from stretto.base.errors import InputError

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?)(h|ms|us|ns|m|s)")


def seconds_of(text: str, where: str) -> float:
    """Parse a duration into seconds.

    Raises:
        InputError: the text is not a duration of 0 or more.
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InputError(where, text, "a duration such as 90s, 1m30s or 500ms")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
