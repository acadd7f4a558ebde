"""Columns of published CSV files: numbers in any notation, and local times."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from math import isfinite
from typing import Final

from stretto.inputs.neutral.tables import CsvTable

UNKNOWN: Final = frozenset({"", "-1", "NA", "N/A", "NaN", "nan", "None", "none", "NULL", "null"})
"""Spellings of an unknown value in published files."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def as_number(text: str) -> float | None:
    """A text as a finite number; ``None`` if it is not a number."""
    value = float(text) if len(text) <= 40 and _NUMBER.fullmatch(text) else None
    return value if value is not None and isfinite(value) else None


def numbers(table: CsvTable, column: str, high: float, unknown: float | None = None) -> list[float]:
    """The cells of a column as numbers 0..``high``.

    Args:
        table: the table.
        column: its column.
        high: the maximum.
        unknown: the value of unknown cells; ``None`` refuses them.
    """
    found: list[float] = []
    for row, cell in enumerate(table.texts(column)):
        text = cell.strip()
        value = unknown if unknown is not None and text in UNKNOWN else as_number(text)
        if value is None or not (0 <= value <= high or value == unknown):
            also = "" if unknown is None else ", or empty for unknown"
            table.refuse(row, column, f"a number 0..{high:.15g}{also}")
        found.append(value)
    return found


def whole(table: CsvTable, column: str, low: int, high: int) -> list[int]:
    """The cells of a column as integers within bounds; ``4.0`` is one, too."""
    found: list[int] = []
    for row, cell in enumerate(table.texts(column)):
        value = as_number(cell.strip())
        if value is None or value != int(value) or not low <= value <= high:
            table.refuse(row, column, f"an integer {low}..{high}")
        found.append(int(value))
    return found


def moments(table: CsvTable, column: str, zone: tzinfo = UTC) -> list[float]:
    """The cells of a column as seconds of the epoch, from texts such as ``2020-06-09 18:41:01``.

    A time without a zone is in ``zone``.
    """
    found: list[float] = []
    for row, cell in enumerate(table.texts(column)):
        value = moment(cell.strip(), zone)
        if value is None:
            table.refuse(row, column, "a date and time such as 2020-06-09 18:41:01")
        found.append(value)
    return found


def moment(text: str, zone: tzinfo = UTC) -> float | None:
    """A date and time as seconds of the epoch; ``None`` for other texts."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return None


def formatted(text: str, form: str, zone: tzinfo) -> float | None:
    """A date and time of a ``strptime`` format as seconds of the epoch; ``None`` otherwise."""
    try:
        found = datetime.strptime(text, form)  # noqa: DTZ007 (a zone of its own precedes ours)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError, re.error):
        return None


def names(table: CsvTable, column: str) -> Sequence[str]:
    """The cells of a column as unique names; all non-empty texts are valid."""
    cells = [cell.strip() for cell in table.texts(column)]
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if not cell:
            table.refuse(row, column, "a name")
        before = first.setdefault(cell, row)
        if before != row:
            where = table.where(before).rpartition(", ")[2]
            table.refuse(row, column, f"a unique name ({where} has it already)", "rename one")
    return cells
