"""The canonical text of a quantity, as returned by kube-apiserver: ``1000m`` is ``1``.

The number keeps its family of suffixes (binary, decimal or exponent) and gets the greatest suffix
that leaves it whole. A binary quantity that is small or not whole becomes decimal.
"""

import re
from decimal import Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import Final

from stretto.base.errors import InputError

_TEXT: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?"
)
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
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
_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_LIMIT: Final = Decimal(2**63 - 1)
_EXACT: Final = Decimal("1e-9")
_FEW: Final = 1024


@lru_cache(maxsize=1 << 14)
def canonical(text: str, where: str = "quantity") -> str:
    """Return the canonical text of a quantity.

    Raises:
        InputError: the text is not a quantity.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise InputError(where, text, "a quantity such as 500m or 2Gi")
    suffix = match[2] or ""
    with localcontext() as context:
        context.prec = 60
        try:
            amount = _amount(Decimal(match[1]), suffix)
        except InvalidOperation as error:
            raise InputError(where, text, "a quantity of a smaller size") from error
        if suffix.endswith("i") and abs(amount) >= _FEW and amount == amount.to_integral_value():
            return _binary(int(amount))
        return _decimal(amount, uses_exponent=len(suffix) > 1 and suffix[0] in "eE")


def _amount(number: Decimal, suffix: str) -> Decimal:
    """The value, with at most nine decimals (rounded away from zero), binary within 64 bits."""
    if suffix.endswith("i"):
        amount = number * _FEW ** _BINARY.index(suffix)
    elif suffix in _DECIMAL:
        amount = number.scaleb(_DECIMAL[suffix])
    else:
        amount = number.scaleb(int(suffix[1:]))
    rounded: Decimal = amount.quantize(_EXACT, rounding="ROUND_UP")
    return max(-_LIMIT, min(_LIMIT, rounded)) if suffix.endswith("i") else rounded


def _binary(amount: int) -> str:
    power = 0
    while amount and amount % _FEW == 0 and power < len(_BINARY) - 1:
        amount, power = amount // _FEW, power + 1
    return f"{amount}{_BINARY[power]}"


def _decimal(amount: Decimal, *, uses_exponent: bool) -> str:
    if not amount:
        return "0"
    sign, digits, exponent = amount.normalize().as_tuple()
    mantissa = int("".join(map(str, digits)))
    power = int(exponent)
    while power % 3 or power > max(_SUFFIXES):
        mantissa, power = mantissa * 10, power - 1
    suffix = f"e{power}" if uses_exponent and power else _SUFFIXES.get(power, f"e{power}")
    return f"{'-' if sign else ''}{mantissa}{suffix}"
