"""When a computed result equals a recorded one: exactly, or as far as floats allow."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

RELATIVE: Final = 1e-6
"""Relative difference of two floats that count as equal: sums run in another order."""
ERROR: Final = "error"
"""The member that holds the text of an error; its presence is compared, not its wording."""


class Numbers(Enum):
    """How numbers and errors of a family are compared."""

    #: Every value exactly, texts of errors included.
    EXACT = "exact"
    #: Floats within :data:`RELATIVE`, everything else exactly, errors by presence.
    FLOATS = "floats"
    #: As ``FLOATS``; integers too, because they end a chain of floats.
    ALL = "all"


@dataclass(frozen=True)
class Family:
    """A recorded function and how its results are compared."""

    #: From the arguments to the fields of the result.
    compute: Callable[[dict[str, Any]], dict[str, Any]]
    #: How numbers are compared.
    numbers: Numbers = Numbers.EXACT
    #: Values that are not recorded are null: any result agrees with them.
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
