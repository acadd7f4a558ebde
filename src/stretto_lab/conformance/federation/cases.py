"""The conformance runner of the federation: planners compared with KubeAdmiral and Karmada.

One line of a file is one case: its family names the function that was recorded, its input holds the
arguments, and its expectation every field of the result.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from stretto.api import codec
from stretto.base.errors import InputError, UnknownNameError
from stretto_lab.conformance import lines
from stretto_lab.conformance.federation.families import FAMILIES
from stretto_lab.conformance.report import Disagreement, differences


class FederationCase(msgspec.Struct, frozen=True):
    """One case."""

    #: Name.
    id: str
    #: The recorded function.
    family: str
    #: Its arguments.
    input: dict[str, Any]
    #: The recorded result.
    expect: dict[str, Any]
    #: The seed of the generated input; 0 for an input written by hand.
    seed: int = 0
    #: File and line, for error messages.
    origin: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The family: reports count agreement by it."""
        return (self.family,)


class _LineFamily(msgspec.Struct, frozen=True):
    """The member that only cases of the federation have."""

    #: The recorded function.
    family: str = ""


def is_federation(path: Path) -> bool:
    """Whether the first case of ``path`` belongs to a family of the federation."""
    first = next(lines.numbered(path), None)
    if first is None:
        return False
    number, line = first
    return bool(codec.decode_as(_LineFamily, line, f"{path}:{number}").family)


def read(path: Path) -> Iterator[FederationCase]:
    """Read the cases of a file, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line is not a case; the message names the line.
        UnknownNameError: no such family.
    """
    for number, line in lines.numbered(path):
        where = f"{path}:{number}"
        case = codec.decode_as(FederationCase, line, where)
        if case.family not in FAMILIES:
            raise UnknownNameError(f"{where}: family", case.family, sorted(FAMILIES))
        yield msgspec.structs.replace(case, origin=where)


def compare(case: FederationCase) -> list[Disagreement]:
    """Compute one case again; return the fields that differ.

    Raises:
        InputError: its input lacks a member, or a member has the wrong type.
    """
    try:
        got = FAMILIES[case.family](case.input)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        expected = f"the arguments of {case.family}"
        where = f"{case.origin or case.id}: input"
        raise InputError(where, None, expected, f"{error!r}") from error
    return list(differences(case.id, "", case.expect, got))
