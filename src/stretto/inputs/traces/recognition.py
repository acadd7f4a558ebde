"""Recognition of the format of a trace by its content, with the nearest format for an unknown file.

A format lists the layouts of its files (``TraceFormat.layouts``). Only the start of a file is read.
A folder is searched with its sub-folders, so the path of a whole download can be used.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from stretto.base.errors import InputError
from stretto.inputs.neutral.files import UTF_16, encoding_of
from stretto.inputs.neutral.layouts import (
    NODE_LIST,
    FileLayout,
    FileSample,
    LayoutMatch,
    compare_layout,
)
from stretto.inputs.neutral.streams import read_start
from stretto.inputs.traces.formats import TRACES

_LOOKED_AT: Final = 64
"""Maximum number of files of a folder that are compared; numbered shards count once."""
_NEAR: Final = 0.2
"""Minimum score of a layout that is reported as the nearest one."""
_NO_TRACE: Final = (".yaml", ".yml", ".md", ".header", ".png", ".py", ".sh")
"""Suffixes of files in a download that contain no rows."""


class Recognition(NamedTuple):
    """Result of the comparison of a file or folder with all layouts."""

    #: The recognized format; empty for none.
    format: str
    #: The format of the nearest layout; empty without a near one.
    nearest: str
    #: Contents of that layout, such as ``job list``.
    what: str
    #: The difference from that layout; empty for a recognized file.
    differs: str

    def sentence(self) -> str:
        """The nearest format and the difference, for a message."""
        if not self.nearest:
            return "docs/traces.md shows the files of each format"
        return f"nearest: {self.nearest} ({self.what}), but {self.differs}"


def recognise(path: Path) -> Recognition:
    """The format of a file, or of the files below a folder.

    Raises:
        InputError: a file cannot be read.
    """
    best: tuple[LayoutMatch, str, str] | None = None
    for file in sample_files(path):
        sample = FileSample.of(str(file), read_start(file))
        for name, layout in _layouts():
            match = compare_layout(sample, layout)
            if best is None or _rank(match, layout.what) > _rank(best[0], best[2]):
                best = (match, name, layout.what)
    if best is None or best[0].score < _NEAR:
        return Recognition("", "", "", "")
    match, name, what = best
    return Recognition("" if match.differs else name, name, what, match.differs)


def recognised(path: Path, besides: str = "") -> Recognition:
    """The format of a file or folder that must have one.

    Args:
        path: the file or folder.
        besides: other acceptable contents, with which the expectation in the message begins.

    Raises:
        InputError: the format is unknown; the message lists the formats, the nearest one and the
            difference from it.
    """
    found = recognise(path)
    name = found.format or _accepted_by(path)
    if not name:
        expected = f"{besides}a trace in one of the formats {', '.join(TRACES.names())}"
        what, hint = _no_table(path) if path.is_file() else ("", "")
        if what:
            raise InputError(str(path), what, expected, hint)
        what = "a folder without a known table" if path.is_dir() else "an unknown table"
        hint = f"{found.sentence()}; or map its columns (docs/traces.md, csv)"
        raise InputError(str(path), what, expected, hint)
    return found if found.format else Recognition(name, name, "", "")


def sample_files(path: Path) -> list[Path]:
    """The file, or files below a folder that may contain rows, one of each numbered series."""
    if not path.is_dir():
        return [path]
    series: dict[str, Path] = {}
    for file in _below(path):
        series.setdefault(re.sub(r"\d+", "#", str(file.relative_to(path))), file)
        if len(series) == _LOOKED_AT:
            break
    return list(series.values())


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder that may contain rows, in order of their path."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and not name.lower().endswith(_NO_TRACE):
                yield Path(place) / name


def _layouts() -> Iterator[tuple[str, FileLayout]]:
    for name in TRACES.names():
        for layout in TRACES.get(name).layouts:
            yield name, layout


def _rank(match: LayoutMatch, what: str) -> tuple[bool, bool, float]:
    """Sort key: files without differences first, then work lists before node lists."""
    return not match.differs, what != NODE_LIST, match.score


def _no_table(path: Path) -> tuple[str, str]:
    """Return the content of a file without text in UTF-8, with advice; empty for a table."""
    start = read_start(path)
    if not start.strip():
        return "an empty file", "check the path or fetch it again"
    if encoding_of(start) == UTF_16:
        return "text in UTF-16", "convert the file to UTF-8"
    return ("a binary file", "unpack or convert it first") if b"\0" in start else ("", "")


def _accepted_by(path: Path) -> str:
    """The format without layouts (of a package) whose reader accepts a file; empty for none."""
    for name in TRACES.names():
        found = TRACES.get(name)
        if found.layouts or path.is_dir():
            continue
        try:
            if found.read(path, None):
                return name
        except InputError:
            continue
    return ""
