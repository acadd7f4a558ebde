"""Recorded results of single functions: each line contains family, arguments and result.

The families of the federation and of capacity have the same form and comparison.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.wire.refusals import refusal
from stretto.base.errors import InputError
from stretto_lab.conformance import lines
from stretto_lab.conformance.capacity.families import FAMILIES as CAPACITY
from stretto_lab.conformance.equality import Family, differing
from stretto_lab.conformance.federation.families import FAMILIES as FEDERATION
from stretto_lab.conformance.report import Disagreement

FAMILIES: Final[Mapping[str, Family]] = {
    **{name: Family(compute) for name, compute in FEDERATION.items()},
    **CAPACITY,
}
"""Every family, with the function that recomputes its result and the comparison."""


class FamilyCase(msgspec.Struct, frozen=True):
    """One case."""

    #: Name.
    id: str
    #: The recorded function.
    family: str
    #: Its arguments.
    input: dict[str, Any]
    #: The recorded result.
    expect: dict[str, Any]
    #: The seed of the generated input; 0 for a handwritten input.
    seed: int = 0
    #: File and line, for error messages.
    origin: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The family; reports count agreement by it."""
        return (self.family,)


class _LineFamily(msgspec.Struct, frozen=True):
    """The member that only cases of a family have."""

    #: The recorded function.
    family: str = ""


def is_family(path: Path) -> bool:
    """True if the first case of ``path`` belongs to a family."""
    head = lines.first(path, _LineFamily)
    return head is not None and bool(head.family)


def read(path: Path) -> Iterator[FamilyCase]:
    """Read the cases of a file, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line is not a case; the message contains the line.
        UnknownNameError: no such family.
    """
    for where, case in lines.of_families(path, FamilyCase, FAMILIES):
        yield msgspec.structs.replace(case, origin=where)


def compare(case: FamilyCase) -> list[Disagreement]:
    """Recompute one case; return the differing fields.

    Raises:
        InputError: a member of its input is missing or has the wrong type.
    """
    family, where = FAMILIES[case.family], f"{case.origin or case.id}: input"
    try:
        got = family.compute(case.input)
    except msgspec.ValidationError as error:
        raise refusal(error, msgspec.json.encode(case.input), where) from error
    except KeyError as error:
        raise InputError(where, error.args[0], f"a name that {case.family} knows") from error
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        expected = f"the arguments of {case.family}"
        raise InputError(where, case.input, expected, "compare it with a recorded case") from error
    return [
        Disagreement(case.id, field, case.expect.get(field), got.get(field))
        for field in differing(family, case.expect, got)
    ]
