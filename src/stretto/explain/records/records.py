"""The folder of run records: names, lookup and retention.

Records are stored under ``$STRETTO_STATE``, else ``$XDG_STATE_HOME/stretto``, else
``~/.local/state/stretto``; never in the working directory.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from stretto.base.errors import NotFoundError
from stretto.base.nearest import nearest

KEPT: Final = 50
"""Number of records kept; a record needs one or two MB."""
SUFFIX: Final = ".sqlite"
_STAMP: Final = len("20060102-150405")
"""Length of the start time in a name."""


def default_folder() -> Path:
    """Default folder of the records."""
    if state := os.environ.get("STRETTO_STATE"):
        return Path(state) / "runs"
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "stretto" / "runs"


class RunRecords:
    """Run records in one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Use a folder, by default the user's own; it may not exist yet."""
        #: The folder.
        self.folder = folder or default_folder()

    def names(self) -> list[str]:
        """Names of all records, the latest first."""
        return [path.name.removesuffix(SUFFIX) for path in self._paths()]

    def new(self, title: str, started: str) -> Path:
        """The path of a new record, named after its start (RFC 3339) and its title.

        Raises:
            OSError: the folder cannot be created.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = re.sub(r"[-:]", "", started[:19]).replace("T", "-")
        plain = re.sub(r"[^a-z0-9.]+", "-", title.lower()).strip("-.")[:60] or "run"
        base = f"{stamp}-{plain}"
        names = (base if n == 1 else f"{base}-{n}" for n in range(1, 1000))
        return next(path for name in names if not (path := self.path(name)).exists())

    def path(self, name: str) -> Path:
        """Path of the record with a name."""
        return self.folder / f"{name}{SUFFIX}"

    def find(self, name: str = "") -> Path:
        """Find the record whose name is or ends with ``name``.

        Empty finds the latest, a path itself.

        Raises:
            NotFoundError: no such record; the message lists similar names.
        """
        if "/" in name and Path(name).is_file():
            return Path(name)
        names = self.names()
        if not names:
            hint = "create one: stretto run quickstart; or name another state with --on"
            if name in ("", "latest"):
                raise NotFoundError("a run record", f"none in {self.folder}", hint)
            states = "a scenario, a recording, sqlite:PATH, cluster, or nodes such as 8cpu-32gib:3"
            hint = f"create one: stretto run quickstart; or name {states}"
            raise NotFoundError(f"run {name!r}", f"no run record in {self.folder}", hint)
        if not name or name == "latest":
            return self.path(names[0])
        matching = [each for each in names if each == name or each.endswith(f"-{name}")]
        if matching:
            return self.path(matching[0])
        known = nearest(name, names) or names[:3]
        raise NotFoundError(f"run {name!r}", f"existing records: {', '.join(known)}")

    def prune(self, keep: int = KEPT) -> None:
        """Delete all but the latest records; files that cannot be deleted stay."""
        for path in list(self._paths())[keep:]:
            try:
                path.unlink()
            except OSError:
                continue

    def _paths(self) -> Iterable[Path]:
        """Files by age, the latest first; of equal times, the higher number first."""
        found = [p for p in self.folder.glob(f"*{SUFFIX}") if not p.name.startswith(".")]
        return sorted(found, key=_age, reverse=True)


def _age(path: Path) -> tuple[int, str, int, str]:
    """Sort key; file times may be coarser than the interval between two short runs."""
    return path.stat().st_mtime_ns, path.name[:_STAMP], len(path.name), path.name
