"""Measured CPU usage: series with one sample per five minutes, one series per machine.

The package ships two weeks of machines of Amazon CloudWatch, created by
``scripts/make_measured_use.py``. ``read_use`` reads a folder with one file per machine: lines of
whole percents (PlanetLab, as in CloudSim), or a table with the columns ``timestamp`` and ``value``.
"""

from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.bundled import read_bundled
from stretto.inputs.neutral.streams import read_start, text_lines
from stretto.inputs.neutral.tables import CsvLayout, read_table

SERIES_FILE: Final = "data/measured_use.json"
"""The data file of the package."""
STEP_S: Final = 300
"""Seconds between two samples."""
FULL: Final = 1000
"""Value of a sample of a fully used machine: samples are in thousandths."""
LAYOUT: Final = CsvLayout(("timestamp", "value"))
"""Columns of a table of CloudWatch."""
LEAST: Final = 12
"""Minimum number of samples of a series: an hour."""
_MOST_FILES: Final = 100_000


class UseTrace(msgspec.Struct, frozen=True):
    """Series of measurements."""

    #: Origin of the measurements.
    source: str
    #: Their licence.
    licence: str
    #: By machine: thousandths of its CPUs in use, one sample per ``STEP_S``.
    cpu: dict[str, tuple[int, ...]]
    #: By load balancer: requests in each ``STEP_S``.
    requests: dict[str, tuple[int, ...]] = {}


def load_measured_use() -> UseTrace:
    """The series that ship with the package.

    Raises:
        InputError: the file is damaged.
    """
    return read_bundled(SERIES_FILE, UseTrace)


def read_use(folder: Path) -> UseTrace:
    """The series of a folder with one file per machine, also in sub-folders.

    Raises:
        InputError: there is no file, or a file has an unknown form or less than ``LEAST`` samples.
    """
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(folder).parts)
    )
    if not paths:
        hint = "give the folder of the trace"
        raise InputError(str(folder), None, "one file per machine", hint)
    if len(paths) > _MOST_FILES:
        raise InputError(str(folder), len(paths), f"at most {_MOST_FILES:,} files")
    cpu = {str(path.relative_to(folder)): _series(path) for path in paths}
    return UseTrace(folder.resolve().name, "as stated by its source", cpu)


def _series(path: Path) -> tuple[int, ...]:
    """The samples of one file in thousandths."""
    if read_start(path, 64).startswith(b"timestamp"):
        values = read_table(path, LAYOUT).decimals("value", 0.0, 100.0)
        found = tuple(round(value * FULL / 100) for value in values)
    else:
        found = tuple(
            _percent(path, number, text) * FULL // 100
            for number, text in text_lines(path)
            if text.strip()
        )
    if len(found) < LEAST:
        raise InputError(str(path), f"{len(found)} samples", f"at least {LEAST}, five minutes each")
    return found


def _percent(path: Path, number: int, text: str) -> int:
    cell = text.strip()
    if not (cell.isascii() and cell.isdigit() and len(cell) <= 3 and int(cell) <= 100):
        expected = "a whole percent from 0 to 100, or a table with the columns timestamp and value"
        raise InputError(f"{path}, line {number}", cell[:40], expected)
    return int(cell)
