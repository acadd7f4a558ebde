"""Quantities and versions: the values of ``quantity()`` and ``semver()``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.wire.quantity import Notation, format_nano, nano, notation_of
from stretto.base.errors import InputError
from stretto.cel.functions.conversions import small_number
from stretto.cel.language.types import CelType, struct
from stretto.cel.running.values import CelOpaque, EvaluationError

_UNIT: Final = 10**9
_INT64: Final = range(-(2**63), 2**63)
_DIGITS: Final = re.compile(r"[0-9]*")
_WORD: Final = re.compile(r"[0-9a-zA-Z-]*")
_MOST: Final = 2**64
"""Limit of the numbers of a version."""
_PARTS: Final = 3
_QUANTITY: Final = struct("kubernetes.Quantity")
_SEMVER: Final = struct("kubernetes.Semver")


@dataclass(frozen=True)
class AmountValue(CelOpaque):
    """A quantity."""

    #: Billionths of the unit.
    nanos: int
    #: Notation of its text.
    notation: Notation = field(compare=False)
    kind: CelType = _QUANTITY

    @property
    def native(self) -> str:
        """Go's type and text of the value."""
        return f"(*resource.Quantity){format_nano(self.nanos, self.notation)}"

    @property
    def rank(self) -> int:
        """The order of quantities."""
        return self.nanos


@dataclass(frozen=True)
class VersionValue(CelOpaque):
    """A version."""

    #: Major, minor and patch number.
    numbers: tuple[int, int, int]
    #: The pre-release; empty for a release.
    suffix: str
    #: The text.
    text: str = field(compare=False)
    kind: CelType = _SEMVER

    @property
    def native(self) -> str:
        """Go's type and text of the value."""
        return f"(semver.Version){self.text}"

    @property
    def rank(self) -> tuple[Any, ...]:
        """The order of versions: a release follows its pre-releases, numbers precede words."""
        words = self.suffix.split(".") if self.suffix else []
        ranks = [(0, int(each), "") if each.isdecimal() else (1, 0, each) for each in words]
        return (*self.numbers, not words, ranks)


def _amount(text: str) -> AmountValue:
    try:
        return AmountValue(nano(text, "quantity"), notation_of(text))
    except InputError as error:
        problem = (
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
        raise EvaluationError(problem) from error


def _is_amount(text: str) -> bool:
    try:
        _amount(text)
    except EvaluationError:
        return False
    return True


def _nanos(value: Any) -> int:
    return value.nanos if isinstance(value, AmountValue) else int(value) * _UNIT


def _is_integer(value: AmountValue) -> bool:
    return value.nanos % _UNIT == 0 and value.nanos // _UNIT in _INT64


def _as_integer(value: AmountValue) -> int:
    if not _is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return value.nanos // _UNIT


def _version(text: str, normalizes: bool = False) -> VersionValue:
    stated = _normal(text) if normalizes else text
    if not stated:
        raise EvaluationError("Version string empty")
    parts = stated.split(".", _PARTS - 1)
    if len(parts) != _PARTS:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = (
        _number(each, name) for each, name in zip(parts, ("major", "minor"), strict=False)
    )
    rest, plus, build = parts[-1].partition("+")
    patch, dash, suffix = rest.partition("-")
    found = VersionValue((major, minor, _number(patch, "patch")), suffix, stated)
    for each in suffix.split(".") if dash else ():
        _check_suffix(each)
    for each in build.split(".") if plus else ():
        _check_word(each, "Build meta data")
    return found


def _number(text: str, name: str) -> int:
    """Return a number of a version."""
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text.startswith("0"):
        problem = f"{name.capitalize()} number must not contain leading zeroes {quoted(text)}"
        raise EvaluationError(problem)
    return _unsigned(text)


def _unsigned(digits: str) -> int:
    found = small_number(digits) if digits else None
    if found is None or found >= _MOST:
        problem = "value out of range" if digits else "invalid syntax"
        raise EvaluationError(f"strconv.ParseUint: parsing {quoted(digits)}: {problem}")
    return found


def _check_suffix(text: str) -> None:
    """Refuse an identifier of a pre-release."""
    if text and _DIGITS.fullmatch(text):
        if len(text) > 1 and text.startswith("0"):
            problem = "Numeric PreRelease version must not contain leading zeroes"
            raise EvaluationError(f"{problem} {quoted(text)}")
        _unsigned(text)
    _check_word(text, "Prerelease")


def _check_word(text: str, name: str) -> None:
    """Refuse an identifier of a pre-release or a build."""
    if not text:
        raise EvaluationError(f"{name} is empty")
    if not _WORD.fullmatch(text):
        where = name[0].lower() + name[1:]
        raise EvaluationError(f"Invalid character(s) found in {where} {quoted(text)}")


def _is_version(text: str, normalizes: bool = False) -> bool:
    try:
        _version(text, normalizes)
    except EvaluationError:
        return False
    return True


def _normal(text: str) -> str:
    """A version without prefix and leading zeros, and with all three numbers."""
    parts = text.removeprefix("v").split(".", _PARTS - 1)
    for index, each in enumerate(parts):
        bare = each.lstrip("0")
        if len(each) > 1:
            parts[index] = bare if bare[:1].isdecimal() else f"0{bare}"
    if len(parts) < _PARTS and re.search(r"[+-]", parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (_PARTS - len(parts))])


def _order(one: Any, two: Any) -> int:
    return int(one.rank > two.rank) - int(one.rank < two.rank)


AMOUNTS: Final[Mapping[str, Any]] = {
    "quantity": _amount,
    "isQuantity": _is_amount,
    "sign": lambda value: (value.nanos > 0) - (value.nanos < 0),
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda value: value.nanos / _UNIT,
    "add": lambda one, two: AmountValue(one.nanos + _nanos(two), one.notation),
    "sub": lambda one, two: AmountValue(one.nanos - _nanos(two), one.notation),
    "semver": _version,
    "isSemver": _is_version,
    "major": lambda value: value.numbers[0],
    "minor": lambda value: value.numbers[1],
    "patch": lambda value: value.numbers[2],
    "isGreaterThan": lambda one, two: one.rank > two.rank,
    "isLessThan": lambda one, two: one.rank < two.rank,
    "compareTo": _order,
}
"""Functions of quantities and versions by name."""
