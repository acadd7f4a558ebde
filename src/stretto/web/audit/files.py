"""The file of an audit log, which is rotated by its size."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError

_MEGABYTE: Final = 1 << 20
_DAY: Final = 86_400.0


@dataclass(frozen=True)
class AuditFiles:
    """Where the log is, and which older files are kept."""

    #: The file.
    path: Path
    #: Megabytes after which it is rotated; 0: never.
    max_size: int = 100
    #: Older files that are kept; 0: all.
    max_backup: int = 100
    #: Days for which they are kept; 0: without a limit.
    max_age: int = 366


class AuditFile:
    """Writes lines."""

    def __init__(self, files: AuditFiles, clock: Clock) -> None:
        """Open the file, and continue what is in it.

        Raises:
            InputError: it cannot be written.
        """
        self._files = files
        self._clock = clock
        self._open()

    def write(self, line: bytes) -> None:
        """Write one line, without its end."""
        limit = self._files.max_size * _MEGABYTE
        if limit and self._size and self._size + len(line) >= limit:
            self._rotate()
        self._stream.write(line + b"\n")
        self._size += len(line) + 1

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _open(self) -> None:
        try:
            self._stream = self._files.path.open("ab", buffering=0)
        except OSError as error:
            expected = f"a file that can be written: {error.strerror}"
            raise InputError("--audit-log", str(self._files.path), expected) from error
        self._size = os.fstat(self._stream.fileno()).st_size

    def _rotate(self) -> None:
        self._stream.close()
        path = self._files.path
        now = timestamp(self._clock.now())[:23].replace(":", "-")
        path.rename(path.with_name(f"{path.stem}-{now}{path.suffix}"))
        self._open()
        older = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"), reverse=True)
        kept = older[: self._files.max_backup] if self._files.max_backup else older
        oldest = self._clock.now() - self._files.max_age * _DAY
        for each in older:
            is_old = bool(self._files.max_age) and each.stat().st_mtime < oldest
            if each not in kept or is_old:
                with contextlib.suppress(FileNotFoundError):
                    each.unlink()
