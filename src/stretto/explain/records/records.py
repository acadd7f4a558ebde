"""The folder of run records: names, the latest, and how many are kept.

Records lie under ``$STRETTO_STATE``, else ``$XDG_STATE_HOME/stretto``, else
``~/.local/state/stretto``; never in the folder where a command is started.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stretto.base.errors import NotFoundError
from stretto.explain.words.nearest import nearest

KEPT: Final = 50
"""Records kept: some weeks of work, and at one or two MB each nothing a disk would notice."""
SUFFIX: Final = ".sqlite"
_STAMP: Final = len("20060102-150405")
"""Characters of a name that say when the run began."""


def default_folder() -> Path:
    """Where records lie when nobody says otherwise."""
    if state := os.environ.get("STRETTO_STATE"):
        return Path(state) / "runs"
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "stretto" / "runs"


class RunRecords:
    """Run records in one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Records of a folder, by default the user's own; it need not exist yet."""
        #: Where they lie.
        self.folder = folder or default_folder()

    def names(self) -> list[str]:
        """Names of all records, the latest first."""
        return [path.name.removesuffix(SUFFIX) for path in self._paths()]

    def new(self, title: str, started: str) -> Path:
        """The path of a new record, named after its start (RFC 3339) and what was run.

        Raises:
            OSError: the folder cannot be made.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = re.sub(r"[-:]", "", started[:19]).replace("T", "-")
        plain = re.sub(r"[^a-z0-9.]+", "-", title.lower()).strip("-.")[:60] or "run"
        base = f"{stamp}-{plain}"
        names = (base if n == 1 else f"{base}-{n}" for n in range(1, 1000))
        return next(path for name in names if not (path := self.path(name)).exists())

    def path(self, name: str) -> Path:
        """The path of a record of that name."""
        return self.folder / f"{name}{SUFFIX}"

    def find(self, name: str = "") -> Path:
        """The record of a name, of the end of a name, or the latest; a path is taken as it is.

        Raises:
            NotFoundError: there is none; the nearest names are told.
        """
        if "/" in name and Path(name).is_file():
            return Path(name)
        names = self.names()
        if not names:
            hint = "make one: stretto run SCENARIO.yaml"
            raise NotFoundError("a run record", f"none in {self.folder}", hint)
        if not name or name == "latest":
            return self.path(names[0])
        matching = [each for each in names if each == name or each.endswith(f"-{name}")]
        if matching:
            return self.path(matching[0])
        known = nearest(name, names) or names[:3]
        raise NotFoundError(f"run {name!r}", f"there are {', '.join(known)}")

    def prune(self, kept: int = KEPT) -> None:
        """Remove all but the latest; what cannot be removed stays."""
        for path in list(self._paths())[kept:]:
            try:
                path.unlink()
            except OSError:
                continue

    def _paths(self) -> Iterable[Path]:
        """Files by age, the latest first; of equal times the one with the higher number."""
        found = [p for p in self.folder.glob(f"*{SUFFIX}") if not p.name.startswith(".")]
        return sorted(found, key=_age, reverse=True)


def _age(path: Path) -> tuple[int, str, int, str]:
    """What to sort by; times of files may be coarser than two short runs are apart."""
    return path.stat().st_mtime_ns, path.name[:_STAMP], len(path.name), path.name
