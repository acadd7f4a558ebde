"""Kubernetes quantities as integers: ``500m``, ``2``, ``1.5Gi``, ``1e3``.

Kubernetes stores a quantity as a decimal with at most nine places and reads it with ``Value()``
(units) or ``MilliValue()`` (thousandths), both rounded away from zero. This module converts text to
the scaled integer directly and caches the results, because a cluster of a million pods contains
only a few hundred different texts.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from stretto.base.errors import InputError

Quantity: TypeAlias = str | int | float
"""A quantity in JSON; Kubernetes also accepts bare numbers."""

INT64_MAX: Final = 2**63 - 1
"""Maximum amount in Kubernetes and in the columns of the engine."""

CPU: Final = "cpu"
"""The only resource counted in thousandths; all others are counted in units."""
RECLAIMED: Final = "reclaimed "
"""Prefix of the resources in the reclaimed pool for best-effort pods.

The name of the replaced resource follows. The space keeps these names distinct from those of
Kubernetes.
"""

EXPECTED: Final = "a quantity such as 500m or 2"
"""The expected value in error messages."""
_UNIT: Final = re.compile(r"[0-9.]{1,30} ?([kmgtKMGT]i?[bB]|[gtK])")
"""A number with a unit of bytes that Kubernetes does not support."""

_GRAMMAR: Final = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_PRINTED: Final = ("", "k", "M", "G", "T", "P", "E")
_MILLI_PRINTED: Final = ("m", *_DECIMAL_PRINTED)
_NANO_PRINTED: Final = ("n", "u", *_MILLI_PRINTED)
_BINARY_PRINTED: Final = ("", *_BINARY)

_LONGEST: Final = 128
"""Maximum length of a text; real quantities have fewer than thirty characters."""

_STEEPEST: Final = 400
"""Maximum exponent: with at most 128 digits, larger exponents give the same result."""

_NANO: Final = 9
"""Decimal places of a quantity."""
_EXPONENT_PRINTED: Final = tuple(
    f"e{power}" if power else "" for power in range(-_NANO, _STEEPEST + _LONGEST, 3)
)
_POWER: Final = re.compile(r"[eE][+-]?[0-9]+$")

_REMEMBERED: Final = 1 << 16
"""Number of cached texts per scale, least recently used removed first: about 10 MB when full."""


class Notation(Enum):
    """The family of suffixes of a quantity, which calculations keep."""

    #: ``500m``, ``2k``.
    DECIMAL = "DecimalSI"
    #: ``1Gi``.
    BINARY = "BinarySI"
    #: ``1e3``.
    EXPONENT = "DecimalExponent"


class MalformedFieldError(InputError, ValueError):
    """An error inside a struct during decoding; its path begins at that struct.

    The error is also a ValueError, because msgspec adds the path of the struct to ValueErrors.
    """


def milli(quantity: Quantity, where: str) -> int:
    """Return the thousandths in ``quantity``, rounded away from zero like ``MilliValue()``.

    ``where`` is the path of the field, for the error message.
    """
    try:
        return _milli(quantity if quantity.__class__ is str else _text(quantity))
    except ValueError as error:
        raise InputError(where, quantity, str(error)) from None


def value(quantity: Quantity, where: str) -> int:
    """Return the units in ``quantity``, rounded away from zero like ``Value()``."""
    try:
        return _value(quantity if quantity.__class__ is str else _text(quantity))
    except ValueError as error:
        raise InputError(where, quantity, str(error)) from None


def thousandths(quantity: Quantity, where: str) -> int:
    """Return the same as ``milli`` without the limit of 64 bits, for sums rounded at the end."""
    try:
        return _thousandths(quantity if quantity.__class__ is str else _text(quantity))
    except ValueError as error:
        raise InputError(where, quantity, str(error)) from None


def nano(quantity: Quantity, where: str) -> int:
    """Return the exact billionths in ``quantity``, Kubernetes' finest unit; may exceed 64 bits."""
    try:
        return _nano(quantity if quantity.__class__ is str else _text(quantity))
    except ValueError as error:
        raise InputError(where, quantity, str(error)) from None


def check(resources: Mapping[str, Quantity], where: str) -> None:
    """Refuse a resource list with a malformed quantity during decoding."""
    for name, quantity in resources.items():
        try:
            _thousandths(quantity if quantity.__class__ is str else _text(quantity))
        except ValueError as error:
            path = f"{where}.{name}" if where else name
            raise MalformedFieldError(path, quantity, str(error)) from None


def amount(resource: str, quantity: Quantity, where: str) -> int:
    """Return ``quantity`` in units of the engine: thousandths for CPU, units for others."""
    return milli(quantity, where) if _counted_as(resource) == CPU else value(quantity, where)


def amounts(resources: Mapping[str, Quantity], where: str) -> dict[str, int]:
    """Return a resource list (requests, allocatable) in units of the engine.

    ``where`` is its path.
    """
    return {name: amount(name, quantity, f"{where}.{name}") for name, quantity in resources.items()}


def format_milli(count: int) -> str:
    """Format an amount in thousandths in canonical form: 1500 is ``1500m``, 2000 is ``2``."""
    return _printed(count, 1000, _MILLI_PRINTED)


def format_value(units: int) -> str:
    """Format an amount in units in canonical decimal form: 2000 is ``2k``."""
    return _printed(units, 1000, _DECIMAL_PRINTED)


def format_bytes(count: int) -> str:
    """Format a number of bytes in canonical binary form: 1073741824 is ``1Gi``.

    Below 1,024 the text is decimal, as in Kubernetes.
    """
    if -1024 < count < 1024:
        return format_value(count)
    return _printed(count, 1024, _BINARY_PRINTED)


def notation_of(text: str) -> Notation:
    """Return the notation of a quantity."""
    if text.endswith("i"):
        return Notation.BINARY
    return Notation.EXPONENT if _POWER.search(text) else Notation.DECIMAL


def format_nano(count: int, notation: Notation) -> str:
    """Format an amount in billionths in canonical form.

    The suffix is the greatest of the notation that leaves a whole number. A binary amount below
    1,024 or with a fraction is decimal.
    """
    units, rest = divmod(count, 10**_NANO)
    if notation is Notation.BINARY and not rest:
        return format_bytes(units)
    exponent = notation is Notation.EXPONENT
    return _printed(count, 1000, _EXPONENT_PRINTED if exponent else _NANO_PRINTED)


def canonical(text: str) -> str:
    """Return the canonical text of a quantity, as kube-apiserver returns it: ``1000m`` is ``1``.

    Raises:
        InputError: the text is not a quantity.
    """
    return _canonical(text.strip())  # a cached text has no megabytes of spaces


_PLAIN: Final = re.compile(r"[1-9][0-9]{0,8}(?<!000)[numkMG]?|[1-9][0-9]{0,2}(?:T|[KMGT]i)")
"""Amounts that no larger unit leaves whole: their texts are canonical, and kept."""


_MOST_KEPT: Final = 1 << 15
"""Number of cached texts: more than a body has values, least recently used removed first."""


@lru_cache(maxsize=_MOST_KEPT)
def _canonical(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return format_nano(nano(text, "quantity"), notation_of(text))


def kept_text(text: str) -> str:
    """Return the text of a quantity as kube-apiserver keeps it: ``1000m`` is ``1``.

    Go keeps some texts that are not canonical, such as ``1.125``, ``+1`` and ``2E3``, and reads
    texts without digits as zero (``ParseQuantity`` in ``resource/quantity.go`` of apimachinery).

    Raises:
        InputError: the text is not a quantity.
    """
    return _kept(text.strip())


@lru_cache(maxsize=_MOST_KEPT)
def _kept(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    parts = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST else None
    if parts is None or not text:
        return _canonical(text)
    digits = (parts[2].lstrip("0") or "0") + (parts[3] or "")
    if not (parts[2] or parts[3]):
        return "0"
    suffix = parts[4] or ""
    if suffix in _BINARY:
        digits_left = _MOST_BINARY - len(digits) - int(_BINARY[suffix] * 0.3)
        is_kept = not parts[3] and digits_left >= 0 and int(digits) % 8 != 0
    else:
        power = int(parts[5]) if parts[5] else _DECIMAL.get(suffix, 0)
        scale = power - len(parts[3] or "")
        fits = len(digits) <= _MOST_DECIMAL and scale >= -_NANO and scale % 3 == 0
        is_kept = fits and digits[0] != "0" and not digits.endswith("000")
    return text if is_kept else _canonical(text)


_MOST_DECIMAL: Final = 18
"""Maximum digits of a decimal text that Go keeps."""
_MOST_BINARY: Final = 14
"""Maximum digits of a binary text that Go keeps, without those that its suffix stands for."""


def format_amount(resource: str, count: int) -> str:
    """Format an amount in units of the engine: the inverse of ``amount``."""
    counted_as = _counted_as(resource)
    if counted_as == CPU:
        return format_milli(count)
    binary = counted_as in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return format_bytes(count) if binary else format_value(count)


def _counted_as(resource: str) -> str:
    """The resource that defines the unit; for the reclaimed pool, the resource of the node."""
    return resource.removeprefix(RECLAIMED)


def _printed(count: int, step: int, suffixes: tuple[str, ...]) -> str:
    """Format ``count`` with the largest suffix that leaves a whole number."""
    if count == 0:
        return "0"
    power = 0
    while count % step == 0 and power < len(suffixes) - 1:
        count //= step
        power += 1
    return f"{count}{suffixes[power]}"


def _text(quantity: Quantity) -> str:
    """Return a quantity as text; refuse booleans, which Python counts as integers."""
    if quantity.__class__ is bool or not isinstance(quantity, str | int | float):
        raise ValueError(EXPECTED)
    return str(quantity)


def _reader(exponent: int, *, bounded: bool) -> Callable[[str], int]:
    """Return a cached parser of texts, scaled by ``10 ** exponent``."""

    @lru_cache(maxsize=_REMEMBERED)
    def read(text: str) -> int:
        scaled = _scaled(text, exponent)
        if bounded and abs(scaled) > INT64_MAX:
            unit = "thousandths" if exponent else "units"
            raise ValueError(f"at most {INT64_MAX} {unit}, the largest amount in 64 bits")
        return scaled

    return read


def _scaled(text: str, exponent: int) -> int:
    """Return ``text`` times ``10 ** exponent``, rounded away from zero."""
    parts = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST else None
    if parts is None or not (parts[2] or parts[3]):
        unit = _UNIT.fullmatch(text)
        suffixes = f"; {unit[1]} is not a suffix, use k, M, G, Ki, Mi or Gi" if unit else ""
        raise ValueError(f"{EXPECTED}{suffixes}")
    sign, whole, fraction, suffix, power = parts.groups()
    fraction = fraction or ""
    numerator: int = int(whole + fraction)
    if suffix in _BINARY:
        # Kubernetes limits binary amounts to 64 bits when it reads them.
        numerator = min(numerator << _BINARY[suffix], INT64_MAX * 10 ** len(fraction))
    elif suffix:
        exponent += _DECIMAL[suffix]
    elif power:
        exponent += max(-_STEEPEST, min(_STEEPEST, int(power)))
    exponent -= len(fraction)
    if exponent >= 0:
        numerator *= 10**exponent
    else:
        numerator = -(-numerator // 10**-exponent)
    return -numerator if sign == "-" else numerator


_milli: Final = _reader(3, bounded=True)
_value: Final = _reader(0, bounded=True)
_thousandths: Final = _reader(3, bounded=False)
_nano: Final = _reader(_NANO, bounded=False)
