"""The lines of a file of recorded cases, plain or gzip."""

import gzip
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, Protocol, TypeVar

from stretto.api import codec
from stretto.base.errors import InputError, UnknownNameError

T = TypeVar("T")


class FamilyLine(Protocol):
    """A recorded case that names its family."""

    @property
    def family(self) -> str:
        """The family."""
        ...


C = TypeVar("C", bound=FamilyLine)

_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"


def numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    """Non-blank lines with their numbers; gzip files are decompressed.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            packed = path.suffix == ".gz" or file.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text = line.removeprefix(_BOM) if number == 1 else line
                if text.strip():
                    yield number, text
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(str(path), None, f"readable lines of cases: {error}") from error


def of_families(path: Path, form: type[C], families: Collection[str]) -> Iterator[tuple[str, C]]:
    """Yield the cases of a file, each after its file and line.

    Args:
        path: the file, plain or gzip.
        form: the struct of a case.
        families: the known families.

    Raises:
        InputError: the file cannot be read, or a line is not a case; the message names the line.
        UnknownNameError: no such family.
    """
    for number, line in numbered(path):
        where = f"{path}:{number}"
        case = codec.decode_as(form, line, where)
        if case.family not in families:
            raise UnknownNameError(f"{where}: family", case.family, sorted(families))
        yield where, case


def count(path: Path) -> int:
    """Number of cases in a file.

    Raises:
        InputError: it cannot be read, or has no cases.
    """
    found = sum(1 for _ in numbered(path))
    if not found:
        hint = "the file is truncated, or is the wrong one"
        raise InputError(str(path), None, "at least one recorded case", hint)
    return found


def first(path: Path, form: type[T]) -> T | None:
    """The first line, read as a struct that ignores other members; ``None`` without a line.

    Raises:
        InputError: the file cannot be read, or the line is malformed.
    """
    for number, line in numbered(path):
        return codec.decode_as(form, line, f"{path}:{number}")
    return None
