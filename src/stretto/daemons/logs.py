"""A daemon's log: one line an event, for people or as JSON, on stderr."""

import contextlib
import sys
from enum import Enum
from typing import Any, Final, TextIO

import msgspec

from stretto.base.clock import Clock, timestamp


class LogFormat(Enum):
    """How a line is written."""

    TEXT = "text"
    JSON = "json"


class LogLevel(Enum):
    """How much it matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_REPEAT_AFTER: Final = 60.0
"""Seconds before the same trouble is said again."""


class Log:
    """Writes lines; the same line about the same thing is said once a minute."""

    def __init__(self, clock: Clock, form: LogFormat, stream: TextIO | None = None) -> None:
        """A log to a stream, stderr where none is given."""
        self._clock = clock
        self._form = form
        self._stream = stream
        self._said: dict[str, tuple[str, float]] = {}

    def info(self, message: str, **fields: Any) -> None:
        """Something happened."""
        self._write(LogLevel.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        """Something is odd."""
        self._write(LogLevel.WARNING, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        """Something failed."""
        self._write(LogLevel.ERROR, message, fields)

    def trouble(self, about: str, message: str) -> None:
        """Something is wrong with ``about``, or no longer where ``message`` is empty."""
        before, at = self._said.get(about, ("", 0.0))
        now = self._clock.monotonic()
        if message == before and (not message or now - at < _REPEAT_AFTER):
            return
        self._said[about] = (message, now)
        if message:
            self.warning(message, about=about)
        else:
            self.info("well again", about=about)

    def _write(self, level: LogLevel, message: str, fields: dict[str, Any]) -> None:
        at = timestamp(self._clock.now())
        if self._form is LogFormat.JSON:
            line = msgspec.json.encode(
                {"time": at, "level": level.value, "message": message, **fields}
            ).decode()
        else:
            more = "".join(f" {name}={value}" for name, value in fields.items())
            line = f"{at} {level.value}: {message}{more}"
        stream = self._stream or sys.stderr
        with contextlib.suppress(OSError):  # a full disk, or nobody reads: work goes on
            stream.write(" ".join(line.splitlines()) + "\n")
            stream.flush()
