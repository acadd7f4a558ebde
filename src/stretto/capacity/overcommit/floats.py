"""Floats in texts of annotations, as Go's ``strconv`` reads."""

import re
from typing import Final

_DIGITS: Final = "[0-9](?:_?[0-9])*"
_HEX: Final = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_POWER: Final = f"[+-]?{_DIGITS}"
_DECIMAL: Final = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE]{_POWER})?"
)
_HEXADECIMAL: Final = re.compile(rf"[+-]?0[xX](?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP]{_POWER}")
_SPECIAL: Final = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)


def parse_float(text: str) -> float | None:
    """Parse a float like ``strconv.ParseFloat`` of Go.

    Unlike ``float``, it refuses spaces and digits outside ASCII, and accepts hexadecimal numbers.
    Both accept underscores between digits.

    Returns:
        The nearest float, which may be infinite or NaN if the text says so; ``None`` for other
        texts and for numbers that are too large.
    """
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    if _SPECIAL.fullmatch(text):
        return float(text)
    if not _HEXADECIMAL.fullmatch(text):
        return None
    try:
        return float.fromhex(text.replace("_", ""))
    except OverflowError:
        return None
