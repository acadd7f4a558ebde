"""Layouts of files, which recognize files and find the nearest known layout."""

import csv
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Final, NamedTuple

import msgspec

from stretto.inputs.neutral.tables import CsvLayout

NODE_LIST: Final = "node list"
"""``FileLayout.what`` of a list of nodes."""
_SHOWN: Final = 4
"""Maximum number of columns in the description of a difference."""
_NAME_SCORE: Final = 0.3
"""Bonus for the published name of a file in its score."""


class Syntax(Enum):
    """Syntax of the lines of a file."""

    #: Cells separated by commas.
    CSV = "comma-separated cells"
    #: Cells separated by spaces; lines that begin with ``;`` or ``#`` are comments.
    SPACES = "cells separated by spaces"
    #: One JSON object on each line, or an array of objects.
    JSON = "JSON objects"


class FileLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The layout of one file of a trace."""

    #: Contents of the file, for messages: ``VM table``.
    what: str
    #: Required columns (keys of the objects in JSON) in their published order.
    required: tuple[str, ...]
    #: Optional columns; in a file without a header they follow the required ones.
    optional: tuple[str, ...] = ()
    #: Syntax of the lines.
    syntax: Syntax = Syntax.CSV
    #: True if the first line names the columns.
    header: bool = True
    #: Patterns that cells of a file without a header match, by column.
    cells: Mapping[str, str] = {}
    #: Patterns (as of a shell) of the published names, in lower case.
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return self.required + self.optional

    @classmethod
    def of(cls, what: str, layout: CsvLayout) -> "FileLayout":
        """The layout of a strict table with a header."""
        return cls(what=what, required=layout.required, optional=layout.optional)


class LayoutMatch(NamedTuple):
    """A file compared with a layout."""

    #: Similarity: 1 for equal, 0 for nothing in common, plus a bonus for a published name.
    score: float
    #: The difference; empty if the file has the layout.
    differs: str


class FileSample(NamedTuple):
    """The start of a file."""

    #: Its path.
    path: str
    #: Its first lines, without blank ones.
    lines: tuple[str, ...]

    @classmethod
    def of(cls, path: str, start: bytes) -> "FileSample":
        """The sample of the first bytes of a file; empty for a binary file."""
        if b"\0" in start:
            return cls(path, ())
        text = start.decode("utf-8-sig", "ignore")
        lines = [line.rstrip("\r") for line in text.split("\n")]
        return cls(path, tuple(line for line in lines if line.strip()))

    @property
    def name(self) -> str:
        """The file name in lower case."""
        return PurePath(self.path).name.lower()


def compare_layout(sample: FileSample, layout: FileLayout) -> LayoutMatch:
    """Compare the start of a file with a layout."""
    named = any(PurePath(sample.name).match(pattern) for pattern in layout.names)
    if not sample.lines:
        return LayoutMatch(_NAME_SCORE if named else 0.0, "the file is empty or binary")
    if layout.syntax is Syntax.JSON:
        found = _compare_names(_json_keys(sample), layout, "key")
    else:
        rows = _rows(sample, layout.syntax)
        header = rows[0] if rows else []
        if layout.header or set(layout.required) <= set(header):
            found = _compare_names(header, layout, "column")
        else:
            found = _compare_cells(rows, layout)
    return found._replace(score=found.score + _NAME_SCORE) if named else found


def cells_of(line: str, syntax: Syntax) -> list[str]:
    """The cells of a line; a line with broken quotes is one cell."""
    if syntax is Syntax.SPACES:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        return [line]


def _rows(sample: FileSample, syntax: Syntax) -> list[list[str]]:
    """The cells of the first lines that are not comments."""
    lines = sample.lines
    if syntax is Syntax.SPACES:
        lines = tuple(line for line in lines if not line.lstrip().startswith((";", "#")))
    return [cells_of(line, syntax) for line in lines[:3]]


def _compare_names(names: Sequence[str], layout: FileLayout, word: str) -> LayoutMatch:
    """Compare the names of columns or keys."""
    found, known = set(names), set(layout.columns)
    missing = [name for name in layout.required if name not in found]
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    common = len(found & known)
    score = common / (len(set(layout.required) | found) or 1)
    if not missing:
        return LayoutMatch(max(score, 0.5), "")
    if not common:
        return LayoutMatch(0.0, f"it has none of the {word}s {_listed(layout.required)}")
    differs = f"it lacks the {word}{'s' * (len(missing) > 1)} {_listed(missing)}"
    if unknown:
        differs += f" and has {_listed(unknown)}"
    return LayoutMatch(min(score, 0.99), differs)


def _compare_cells(rows: Sequence[Sequence[str]], layout: FileLayout) -> LayoutMatch:
    """Compare the cells of a file without a header."""
    width = len(rows[0]) if rows else 0
    low, high = len(layout.required), len(layout.columns)
    if width < 2:
        return LayoutMatch(0.0, f"its lines are no {layout.syntax.value}")
    if not low <= width <= high:
        cells = f"{low}" if low == high else f"{low} to {high}"
        near = (min(width, low) / max(width, low)) ** 2
        return LayoutMatch(near * 0.4, f"it has {width} cells in a line instead of {cells}")
    for column, pattern in layout.cells.items():
        number = layout.columns.index(column)
        cell = rows[0][number] if number < width else ""
        if number < width and not re.fullmatch(pattern, cell, re.IGNORECASE):
            differs = f"its cell {number + 1} ({column}) is {cell[:40]!r}"
            return LayoutMatch(0.6, differs)
    return LayoutMatch(0.9, "")


def _json_keys(sample: FileSample) -> list[str]:
    """The keys of the first object; keys of nested objects also as ``above.below``."""
    first = sample.lines[0].strip().rstrip(",").removeprefix("[")
    try:
        found = msgspec.json.decode(first)
    except msgspec.DecodeError:
        text = "\n".join(sample.lines)
        if not text.lstrip().startswith(("{", "[")):
            return []
        return list(dict.fromkeys(re.findall(r'"([\w.]+)"\s*:', text)))
    if not isinstance(found, dict):
        return []
    below = [f"{k}.{name}" for k, v in found.items() if isinstance(v, dict) for name in v]
    return [*found, *below]


def _listed(names: Sequence[str]) -> str:
    """Some names as text, at most ``_SHOWN``."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
