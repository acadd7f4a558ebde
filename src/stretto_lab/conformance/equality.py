"""Equality of a computed and a recorded result: exact, or within the precision of floats."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

RELATIVE: Final = 1e-6
"""Relative difference up to which two floats are equal, because sums run in another order."""
ERROR: Final = "error"
"""The member with the text of an error; only its presence is compared."""


class Numbers(Enum):
    """Comparison of numbers and errors of a family."""

    #: Every value exactly, including texts of errors.
    EXACT = "exact"
    #: Floats within :data:`RELATIVE`, everything else exactly, errors by presence.
    FLOATS = "floats"
    #: Like ``FLOATS``, and integers with the same tolerance, because they result from floats.
    ALL = "all"


@dataclass(frozen=True)
class Family:
    """A recorded function and the comparison of its results."""

    #: Function from the arguments to the fields of the result.
    compute: Callable[[dict[str, Any]], dict[str, Any]]
    #: Comparison of numbers.
    numbers: Numbers = Numbers.EXACT
    #: True if values that are not recorded are null, which agrees with any result.
    gaps: bool = False


def differing(family: Family, want: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[str]:
    """The fields in which two results differ."""
    for field in sorted(want.keys() | got.keys()):
        recorded = (field in want) == (field in got)
        if not recorded or not _same(family, field, want.get(field), got.get(field)):
            yield field


def _same(family: Family, name: str, want: Any, got: Any) -> bool:
    numbers = family.numbers
    if family.gaps and want is None:
        return True
    if numbers is Numbers.EXACT:
        return bool(want == got)
    if name == ERROR:
        return bool(want) == bool(got)
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(
            _same(family, key, value, got[key]) for key, value in want.items()
        )
    if isinstance(want, list) and isinstance(got, list | tuple):
        return len(want) == len(got) and all(
            _same(family, "", one, other) for one, other in zip(want, got, strict=True)
        )
    if _is_rounded(numbers, want) or _is_rounded(numbers, got):
        return _are_numbers(want, got) and math.isclose(want, got, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(want == got) and isinstance(want, bool) == isinstance(got, bool)


def _is_rounded(numbers: Numbers, value: Any) -> bool:
    if isinstance(value, float):
        return True
    return numbers is Numbers.ALL and isinstance(value, int) and not isinstance(value, bool)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
