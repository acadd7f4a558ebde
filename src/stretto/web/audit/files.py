"""The file of an audit log, rotated by its size."""

import contextlib
import errno
import logging
import os
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError
from stretto.web.audit.metrics import ERRORS, EVENTS, PLUGIN

_LOG: Final = logging.getLogger(__name__)
_MEGABYTE: Final = 1 << 20
_DAY: Final = 86_400.0


@dataclass(frozen=True)
class AuditFiles:
    """Path of the log, and retention of older files."""

    #: The file.
    path: Path
    #: Megabytes after which the file is rotated; 0: never.
    max_size: int = 100
    #: Number of older files to keep; 0: all.
    max_backup: int = 100
    #: Days for which older files are kept; 0: without a limit.
    max_age: int = 366


class AuditFile:
    """Writer of lines.

    If a line cannot be written, it is lost and its request continues, as in the blocking mode of
    kube-apiserver. Each lost line counts as an error, and the first one of an outage is logged.
    """

    def __init__(self, files: AuditFiles, clock: Clock) -> None:
        """Open the file for appending.

        Raises:
            InputError: the file cannot be written.
        """
        self._files = files
        self._clock = clock
        self._lost = 0
        self._is_partial = False
        try:
            self._stream = self._opened()
        except OSError as error:
            expected = f"a file that can be written: {error.strerror}"
            raise InputError("--audit-log", str(files.path), expected) from error

    def write(self, line: bytes) -> None:
        """Write one line; the line has no line break."""
        EVENTS.inc()
        try:
            self._append(line)
        except OSError as error:
            ERRORS.labels(PLUGIN).inc()
            if not self._lost:
                path, why = self._files.path, error.strerror or error
                _LOG.warning("audit events are lost until %s can be written: %s", path, why)
            self._lost += 1
            return
        if self._lost:
            _LOG.warning("audit events are written again; %d are lost", self._lost)
            self._lost = 0

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def _append(self, line: bytes) -> None:
        """Write one line, after a rotation of the file if it is due.

        Raises:
            OSError: the line cannot be written.
        """
        if self._stream.closed:
            self._stream = self._opened()
        limit = self._files.max_size * _MEGABYTE
        if limit and self._size and self._size + len(line) >= limit:
            self._rotate()
        text = (b"\n" if self._is_partial else b"") + line + b"\n"
        written = self._stream.write(text) or 0
        self._size += written
        self._is_partial = written != len(text) and (written > 0 or self._is_partial)
        if written != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _opened(self) -> FileIO:
        """Open the file at its end.

        Raises:
            OSError: the file cannot be opened.
        """
        stream = FileIO(self._files.path, "ab")
        self._size = os.fstat(stream.fileno()).st_size
        return stream

    def _rotate(self) -> None:
        """Rename the file, create a new one, and delete old ones.

        Raises:
            OSError: the folder cannot be written.
        """
        self._stream.close()
        path = self._files.path
        now = timestamp(self._clock.now())[:23].replace(":", "-")
        path.rename(path.with_name(f"{path.stem}-{now}{path.suffix}"))
        self._stream = self._opened()
        self._is_partial = False
        older = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"), reverse=True)
        kept = older[: self._files.max_backup] if self._files.max_backup else older
        oldest = self._clock.now() - self._files.max_age * _DAY
        for each in older:
            is_old = bool(self._files.max_age) and each.stat().st_mtime < oldest
            if each not in kept or is_old:
                with contextlib.suppress(FileNotFoundError):
                    each.unlink()
