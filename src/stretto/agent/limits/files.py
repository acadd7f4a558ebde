"""Writer of limits to files of the kernel, with a record of the limits that are set.

The record is written before the first limit of a file. Therefore an agent that starts after a kill
reads every file that may contain a limit, and releases the limit. Records of removed files are
deleted.
"""

import json
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.files import read_text

RECORD: Final = "limits.json"
"""Name of the record in the state directory."""


class LimitKind(Enum):
    """File of a cgroup that contains a limit."""

    #: CPUs on which the cgroup may run.
    CPUS = "cpuset.cpus"
    #: CPU time per period.
    QUOTA = "cpu.max"
    #: Memory above which the cgroup is throttled and reclaimed.
    MEMORY = "memory.high"

    @property
    def released(self) -> str:
        """The content of the file without a limit."""
        return _RELEASED[self]


_RELEASED: Final = {
    LimitKind.CPUS: "",
    LimitKind.QUOTA: "max 100000",
    LimitKind.MEMORY: "max",
}


class LimitChange(msgspec.Struct, frozen=True):
    """A limit to set."""

    #: The cgroup, relative to the root of the file system.
    cgroup: str
    #: The limit file.
    kind: LimitKind
    #: New content of the file.
    value: str
    #: Reason of the limit.
    reason: str


class LimitFiles:
    """The limits that one agent has set."""

    def __init__(self, root: Path, state: Path | None) -> None:
        """Write below ``root`` and record in ``state``.

        Without ``state``, a kill loses the record.
        """
        self._root = root
        self._record = None if state is None else state / RECORD
        self._set: set[tuple[str, LimitKind]] = self._recorded()

    @property
    def held(self) -> tuple[tuple[str, LimitKind], ...]:
        """Every limit that is set, sorted."""
        return tuple(sorted(self._set, key=lambda each: (each[0], each[1].value)))

    def read(self, cgroup: str, kind: LimitKind) -> str | None:
        """The content of a limit; ``None`` if the cgroup is gone."""
        return read_text(self._root / cgroup / kind.value)

    def apply(self, change: LimitChange) -> bool:
        """Set one limit; return whether the file was written."""
        key, written = (change.cgroup, change.kind), False
        if self.read(*key) not in (None, change.value):
            if change.value != change.kind.released and key not in self._set:
                self._set.add(key)
                self._save()
            written = self._write(*key, change.value)
        self._forget_released([key])
        return written

    def release_all(self) -> int:
        """Remove every recorded limit; return the number of files written."""
        return self.keep_only(set())

    def keep_only(self, wanted: set[tuple[str, LimitKind]]) -> int:
        """Release every limit that is no longer planned; return the number of writes.

        A limit that could not be released stays in the record, and the next call retries it.
        """
        gone = [key for key in self.held if key not in wanted]
        count = sum(any(self._write(*key, text) for text in self._released(*key)) for key in gone)
        self._forget_released(gone)
        return count

    def _released(self, cgroup: str, kind: LimitKind) -> tuple[str, ...]:
        """Contents of a file without a limit, the preferred one first.

        The kernel does not empty ``cpuset.cpus`` of a cgroup with processes (``ENOSPC``). The CPUs
        of its parent then release the limit.
        """
        if kind is not LimitKind.CPUS:
            return (kind.released,)
        parent = (self._root / cgroup).parent
        return kind.released, read_text(parent / "cpuset.cpus.effective") or kind.released

    def _write(self, cgroup: str, kind: LimitKind, value: str) -> bool:
        path = self._root / cgroup / kind.value
        try:
            with path.open("r+", encoding="utf-8") as file:  # never creates a file
                file.write(value + "\n")
                file.truncate()
        except OSError:
            return False
        return True

    def _forget_released(self, keys: Iterable[tuple[str, LimitKind]]) -> None:
        """Remove records of limits whose file is gone or contains no limit."""
        held = self._set.intersection(keys)
        free = {key for key in held if self.read(*key) in (None, *self._released(*key))}
        if free:
            self._set -= free
            self._save()

    def _recorded(self) -> set[tuple[str, LimitKind]]:
        """The limits of a previous agent; an unreadable record counts as none."""
        text = None if self._record is None else read_text(self._record)
        try:
            return {(str(cgroup), LimitKind(kind)) for cgroup, kind in json.loads(text or "[]")}
        except (ValueError, TypeError):
            return set()

    def _save(self) -> None:
        """Replace the record atomically, so that a kill leaves either the old or the new record."""
        if self._record is None:
            return
        self._record.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._record.with_suffix(".new")
        fresh.write_text(json.dumps([(cgroup, kind.value) for cgroup, kind in self.held]))
        fresh.replace(self._record)
