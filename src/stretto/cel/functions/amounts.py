"""Quantities and versions: the values of ``quantity()`` and ``semver()``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.wire.quantity import nano
from stretto.base.errors import InputError
from stretto.cel.language.types import CelType, struct
from stretto.cel.running.values import CelOpaque, EvaluationError

_UNIT: Final = 10**9
_INT64: Final = range(-(2**63), 2**63)
_NUMBER: Final = r"(0|[1-9]\d*)"
_IDENTIFIER: Final = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
"""A version by the rules of semantic versioning 2.0.0."""
_PARTS: Final = 3
_QUANTITY: Final = struct("kubernetes.Quantity")
_SEMVER: Final = struct("kubernetes.Semver")


@dataclass(frozen=True)
class AmountValue(CelOpaque):
    """A quantity."""

    #: Billionths of the unit.
    nanos: int
    kind: CelType = _QUANTITY

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
    kind: CelType = _SEMVER

    @property
    def rank(self) -> tuple[Any, ...]:
        """The order of versions: a release follows its pre-releases, numbers precede words."""
        words = self.suffix.split(".") if self.suffix else []
        ranks = [(0, int(each), "") if each.isdecimal() else (1, 0, each) for each in words]
        return (*self.numbers, not words, ranks)


def _amount(text: str) -> AmountValue:
    try:
        return AmountValue(nano(text, "quantity"))
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
    found = _VERSION.fullmatch(_normal(text) if normalizes else text)
    if found is None:
        raise EvaluationError(_version_problem(_normal(text) if normalizes else text))
    return VersionValue((int(found[1]), int(found[2]), int(found[3])), found[4] or "")


def _version_problem(text: str) -> str:
    if not text:
        return "Version string empty"
    if text.count(".") < _PARTS - 1:
        return "No Major.Minor.Patch elements found"
    return f'Invalid character(s) found in version "{text}"'


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
    "add": lambda one, two: AmountValue(one.nanos + _nanos(two)),
    "sub": lambda one, two: AmountValue(one.nanos - _nanos(two)),
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
