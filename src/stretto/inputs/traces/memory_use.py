"""Measured memory of virtual machines: requested and used memory, one sample per five minutes.

The format is that of GWA-T-12 (Bitbrains; Shen, van Beek and Iosup 2015): a folder with one file
per machine, whose cells are separated by semicolons. It has neither page caches nor NUMA nodes.
"""

from math import isfinite
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.streams import text_lines

REQUESTED: Final = "Memory capacity provisioned [KB]"
"""Column of the requested memory."""
USED: Final = "Memory usage [KB]"
"""Column of the used memory."""
KIB: Final = 1024
LEAST: Final = 12
"""Minimum number of samples of a machine: an hour. Shorter files are skipped."""
MOST_KIB: Final = 1e12
"""Largest amount that counts as valid: 1 PB."""


class VmMemory(msgspec.Struct, frozen=True):
    """Memory of a virtual machine, in bytes."""

    #: Largest requested amount.
    request: int
    #: Used amount in each sample.
    use: tuple[int, ...]


def read_memory_use(folder: Path) -> dict[str, VmMemory]:
    """Read the machines of a folder by file name; machines without requested memory are skipped.

    Raises:
        InputError: no file has enough samples, or a file has another form.
    """
    found = {path.name: _machine(path) for path in sorted(folder.rglob("*.csv"))}
    kept = {name: each for name, each in found.items() if each.request and len(each.use) >= LEAST}
    if not kept:
        expected = f"CSV files of GWA-T-12 with at least {LEAST} samples"
        raise InputError(
            str(folder), f"{len(found)} CSV files", expected, "give the trace's folder"
        )
    return kept


def _machine(path: Path) -> VmMemory:
    """Read one file."""
    lines = text_lines(path)
    header = [cell.strip() for cell in next(lines, (0, ""))[1].split(";")]
    if REQUESTED not in header or USED not in header:
        expected = f"the columns {REQUESTED} and {USED}, separated by semicolons"
        raise InputError(f"{path}, line 1", header[0][:40], expected)
    columns = header.index(REQUESTED), header.index(USED)
    samples = [_sample(path, number, text, columns) for number, text in lines if text.strip()]
    return VmMemory(max((each[0] for each in samples), default=0), tuple(s[1] for s in samples))


def _sample(path: Path, number: int, text: str, columns: tuple[int, int]) -> tuple[int, int]:
    """Requested and used bytes of one line."""
    cells = text.split(";")
    try:
        amounts = [float(cells[column]) for column in columns]
    except (ValueError, IndexError):
        amounts = []
    if len(amounts) < 2 or not all(isfinite(each) and 0 <= each < MOST_KIB for each in amounts):
        expected = f"{REQUESTED} and {USED} as numbers of at least 0"
        raise InputError(f"{path}, line {number}", text.strip()[:60], expected)
    return int(amounts[0] * KIB), int(amounts[1] * KIB)
