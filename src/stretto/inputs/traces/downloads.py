"""The files of a downloaded trace, by table."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from stretto.base.errors import InputError
from stretto.inputs.neutral.layouts import NODE_LIST, FileLayout, FileSample, compare_layout
from stretto.inputs.neutral.streams import read_start

_NO_ROWS: Final = (".header", ".md", ".txt", ".png", ".py", ".sh", ".ipynb", ".pdf")
"""Suffixes of files in a download that are not tables."""


def table_files(path: Path, layouts: Sequence[FileLayout]) -> dict[str, list[Path]]:
    """The files of each table (``FileLayout.what``), its shards in order of their path.

    A file belongs to the table with its published name; only a file with another name is compared
    by its content. Large files of other contents are therefore not read completely.

    Args:
        path: a folder, or one file of the first layout.
        layouts: the tables; the first one is required.

    Raises:
        InputError: there is no file of the first layout, or a file cannot be read.
    """
    found: dict[str, list[Path]] = {layout.what: [] for layout in layouts}
    for file in _files(path):
        layout = _layout_of(file, layouts)
        if layout is not None:
            found[layout.what].append(file)
    needed = layouts[0]
    if not found[needed.what]:
        names = f" ({' or '.join(needed.names)})" if needed.names else ""
        raise InputError(str(path), None, f"the {needed.what}{names}", "fetch the file as well")
    return found


class WorkList(NamedTuple):
    """The files of a format that has one list of work."""

    #: The list of pods, jobs or VMs.
    path: Path
    #: The only node list next to it; ``None`` if there is none, or several.
    nodes: Path | None


def work_list(folder: Path, layouts: Sequence[FileLayout]) -> WorkList:
    """The only work list of a folder, and its node list.

    Raises:
        InputError: the folder has no work list or several, or a file cannot be read.
    """
    lists = table_files(folder, layouts)
    nodes = lists.pop(NODE_LIST, [])
    work = [file for files in lists.values() for file in files]
    if len(work) != 1:
        names = ", ".join(file.name for file in work[:4]) or None
        raise InputError(str(folder), names, "one work list", "name the file")
    return WorkList(work[0], nodes[0] if len(nodes) == 1 else None)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    for place, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found.extend(Path(place) / name for name in names if not name.startswith("."))
    return sorted(file for file in found if not file.name.lower().endswith(_NO_ROWS))


def _layout_of(file: Path, layouts: Sequence[FileLayout]) -> FileLayout | None:
    """The table of a file; ``None`` if it belongs to no table."""
    for layout in layouts:
        for part in (file.name, file.parent.name):
            if any(PurePath(part.lower()).match(pattern) for pattern in layout.names):
                return layout
    sample = FileSample.of(str(file), read_start(file))
    return next((each for each in layouts if not compare_layout(sample, each).differs), None)
