"""Go's text of a quantity, from the fields that its decoder sets (``resource.ParseQuantity``)."""

import re
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.wire.quantity import canonical, notation_of

_TEXT: Final = re.compile(r"(-?)([0-9]*)\.?([0-9]*)([A-Za-z][A-Za-z0-9+-]*)?")
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_NANO: Final = 9
_DIGITS: Final = 18
"""Decimal digits that a 64-bit integer always holds (``maxInt64Factors``)."""
_WORD: Final = 1 << 64
_NO_DECIMAL: Final = "<nil>"


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a decoded quantity."""

    #: Number of a small quantity; its value is ``number * 10**scale``.
    number: int = 0
    #: Power of ten.
    scale: int = 0
    #: Text of the decimal number of a large quantity.
    decimal: str = _NO_DECIMAL
    #: Text that the decoder keeps.
    text: str = ""


def dumped_quantity(value: Any) -> str:
    """The text of a quantity; ``None`` is a quantity that is absent."""
    found, notation = _Fields(), ""
    if value is not None:
        text = canonical(str(value))
        found, notation = _decoded(text), notation_of(text).value
    return (
        f"{{i:(resource.int64Amount){{value:(int64){found.number} "
        f"scale:(resource.Scale){found.scale}}} "
        f"d:(resource.infDecAmount){{Dec:(*inf.Dec){found.decimal}}} "
        f"s:(string){found.text} Format:(resource.Format){notation}}}"
    )


def _decoded(text: str) -> _Fields:
    """The fields of a quantity with a canonical text, which is a whole number with a suffix."""
    if text == "0":
        return _Fields(text=text)
    match = _TEXT.fullmatch(text)
    assert match is not None, text
    sign, digits, suffix = -1 if match[1] else 1, match[2], match[4] or ""
    value = int(digits)
    if suffix in _BINARY:
        power = 10 * (1 + _BINARY.index(suffix))
        if 15 - len(digits) - power * 3 // 10 - 1 < 0:
            return _Fields(decimal=_decimal(sign, value << power))
        kept = text if value & 7 else ""
        return _Fields(sign * (value << power), 0, text=kept)
    scale = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    if len(digits) > _DIGITS:
        return _Fields(decimal=_decimal(sign, value * 10**scale))
    kept = text if scale % 3 == 0 and not digits.endswith("000") else ""
    return _Fields(sign * value, scale, text=kept)


def _decimal(sign: int, value: int) -> str:
    """A whole number with nine decimals, in words of 64 bits, the lowest first."""
    number, words = value * 10**_NANO, []
    while number:
        number, word = divmod(number, _WORD)
        words.append(str(word))
    negative = "true" if sign < 0 else "false"
    integer = f"(big.Int){{neg:(bool){negative} abs:(big.nat)[{' '.join(words)}]}}"
    return f"{{unscaled:{integer} scale:(inf.Scale){_NANO}}}"
