"""A daemon's log on stderr: one line per event, as text or JSON."""

import contextlib
import sys
from enum import Enum
from typing import Any, Final, TextIO

import msgspec

from stretto.base.clock import Clock, timestamp


class LogFormat(Enum):
    """Format of a line."""

    TEXT = "text"
    JSON = "json"


class LogLevel(Enum):
    """Severity of a line."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_REPEAT_AFTER: Final = 60.0
"""Seconds before the same trouble is logged again."""


class Log:
    """Log of lines; the same trouble of the same subject is logged at most once a minute."""

    def __init__(self, clock: Clock, form: LogFormat, stream: TextIO | None = None) -> None:
        """Log to a stream; the default is stderr."""
        self._clock = clock
        self._form = form
        self._stream = stream
        self._logged: dict[str, tuple[str, float]] = {}

    def info(self, message: str, **fields: Any) -> None:
        """Log an event."""
        self._write(LogLevel.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        """Log a warning."""
        self._write(LogLevel.WARNING, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        """Log a failure."""
        self._write(LogLevel.ERROR, message, fields)

    def trouble(self, about: str, message: str) -> None:
        """Log trouble of the subject ``about``, or its end if ``message`` is empty."""
        before, at = self._logged.get(about, ("", 0.0))
        now = self._clock.monotonic()
        if message == before and (not message or now - at < _REPEAT_AFTER):
            return
        self._logged[about] = (message, now)
        if message:
            self.warning(message, about=about)
        else:
            self.info("recovered", about=about)

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
        with contextlib.suppress(OSError):  # a full disk or a closed pipe must not stop the daemon
            stream.write(" ".join(line.splitlines()) + "\n")
            stream.flush()
