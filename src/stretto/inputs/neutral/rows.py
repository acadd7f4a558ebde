"""Rows of large tables, read one after the other: CSV with or without a header, or JSON lines.

Published tables differ in detail: a header may be missing or be in a separate file, optional
columns may be missing, further columns may exist, and empty cells have several spellings. A reader
requests the columns that it needs; every cell that it converts is checked.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.layouts import FileLayout
from stretto.inputs.neutral.streams import read_start, text_lines
from stretto.inputs.neutral.tables import FIX_ROW

_EMPTY: Final = frozenset({"", "null", "none", "nan", "na", "\\n"})
"""Spellings of an empty cell, in lower case."""
_HEADER_SUFFIX: Final = ".header"
"""Suffix of a file with the header of the table of the same name."""


class TraceRow:
    """One row of a table, by column."""

    __slots__ = ("_cells", "_line", "_source")

    def __init__(self, source: Path, line: int, cells: Mapping[str, str]) -> None:
        self._source, self._line, self._cells = source, line, cells

    def text(self, column: str) -> str:
        """A cell as text; empty if it is missing or contains a spelling of an empty cell."""
        cell = self._cells.get(column, "").strip()
        return "" if cell.lower() in _EMPTY else cell

    def name(self, column: str) -> str:
        """A cell that must not be empty, as text.

        Raises:
            InputError: the cell is empty.
        """
        cell = self.text(column)
        if not cell:
            self.refuse(column, "a name")
        return cell

    def number(self, column: str, low: float, high: float) -> float:
        """A cell as a number within bounds.

        Raises:
            InputError: the cell is empty, not a number, or out of bounds.
        """
        found = self.optional(column, low, high)
        if found is None:
            raise self._error(column, f"a number {low:.15g}..{high:.15g}")
        return found

    def optional(self, column: str, low: float, high: float) -> float | None:
        """A cell as a number within bounds; ``None`` if it is empty."""
        cell = self.text(column)
        if not cell:
            return None
        try:
            found = float(cell)
        except ValueError:
            found = low - 1
        if not low <= found <= high:
            raise self._error(column, f"a number {low:.15g}..{high:.15g}")
        return found

    def integer(self, column: str, low: int, high: int, default: int | None = None) -> int:
        """A cell as an integer within bounds; ``default`` if it is empty.

        Identities are 64-bit numbers, so the text is not converted through a float.
        """
        cell = self.text(column)
        if not cell and default is not None:
            return default
        try:
            found = int(cell)
        except ValueError:
            found = int(float(cell)) if _is_whole(cell) else low - 1
        if not low <= found <= high:
            raise self._error(column, f"an integer {low}..{high}")
        return found

    def refuse(self, column: str, expected: str) -> None:
        """Refuse a cell.

        Raises:
            InputError: always.
        """
        raise self._error(column, expected)

    def _error(self, column: str, expected: str) -> InputError:
        where = f"{self._source}, line {self._line}, column {column}"
        return InputError(where, self._cells.get(column) or None, expected, FIX_ROW)


def trace_rows(paths: Iterable[Path], layout: FileLayout) -> Iterator[TraceRow]:
    """The rows of the shards of a table, in order; each shard is CSV or JSON lines.

    Raises:
        InputError: a file cannot be read, or a row has another number of cells.
    """
    for path in paths:
        yield from _json_rows(path) if _is_json(path) else _csv_rows(path, layout)


def _is_json(path: Path) -> bool:
    """True if the lines of a table are JSON objects."""
    return read_start(path, 256).lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"["))


def _csv_rows(path: Path, layout: FileLayout) -> Iterator[TraceRow]:
    """The rows of a table with or without a header."""
    reader = csv.reader((line + "\n" for _, line in text_lines(path)), strict=True)
    columns: Sequence[str] = _beside(path) or layout.columns
    first = True
    try:
        for cells in reader:
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if first:
                first = False
                names = [cell.strip() for cell in cells]
                if len(set(names) & set(layout.columns)) * 2 > len(names):
                    columns = _checked(names, layout, f"{path}, line {reader.line_num}")
                    continue
            if not len(layout.required) <= len(cells) <= len(columns):
                where = f"{path}, line {reader.line_num}"
                raise InputError(where, f"{len(cells)} cells", f"{len(columns)} cells", FIX_ROW)
            yield TraceRow(path, reader.line_num, dict(zip(columns, cells, strict=False)))
    except csv.Error as error:
        where = f"{path}, line {reader.line_num}"
        raise InputError(where, None, f"well-formed CSV: {error}", FIX_ROW) from error


def _checked(names: Sequence[str], layout: FileLayout, where: str) -> Sequence[str]:
    """The columns of a header; a header without a required column is refused."""
    missing = [name for name in layout.required if name not in names]
    if missing:
        expected = f"the missing column{'s' * (len(missing) > 1)} {', '.join(missing)}"
        raise InputError(where, None, expected, "add the column")
    return names


def _beside(path: Path) -> Sequence[str]:
    """The header in the file next to a table; empty without such a file."""
    header = path.with_name(path.name.split(".")[0] + _HEADER_SUFFIX)
    if not header.is_file():
        return ()
    first = next((line for _, line in text_lines(header)), "")
    return [name.strip() for name in first.split(",") if name.strip()]


def _json_rows(path: Path) -> Iterator[TraceRow]:
    """The rows of a table of JSON objects; members of inner objects are ``outer.inner``."""
    for number, line in text_lines(path):
        text = line.strip().rstrip(",")
        if text in ("", "[", "]"):
            continue
        where = f"{path}, line {number}"
        try:
            found = msgspec.json.decode(text.removeprefix("[").removesuffix("]").rstrip(","))
        except (msgspec.DecodeError, RecursionError) as error:
            raise InputError(where, text[:60], "a JSON object on each line", FIX_ROW) from error
        if not isinstance(found, dict):
            raise InputError(where, text[:60], "a JSON object on each line", FIX_ROW)
        yield TraceRow(path, number, dict(_flat(found)))


def _flat(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, value if isinstance(value, str) else str(value)


def _is_whole(cell: str) -> bool:
    """True if a text such as ``4.0`` is a whole number."""
    try:
        return float(cell).is_integer()
    except (ValueError, OverflowError):
        return False
