"""Defers Ctrl-C and SIGTERM until a command reaches a point where it can stop.

A signal that raises in the middle of a write can leave a durable store in an unknown state. Long
commands therefore run under ``DeferredInterrupt`` and check regularly; a second signal raises at
once.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Self

from stretto.cli.failures import Terminated

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_raised: Final[list[int]] = []
"""Signals whose handler raised an exception.

The interpreter discards an exception that is raised in a destructor or in the callback of a weak
reference; then the command continues.
"""


def terminate(number: int, _frame: FrameType | None) -> None:
    """Handle SIGTERM like Ctrl-C: partial report, exit code 130."""
    _raised.append(number)
    raise Terminated


class DeferredInterrupt:
    """Inside the block, the first signal is deferred to ``check``; the second raises at once.

    A SIGTERM before the block that did not end the command is pending too.
    """

    def __init__(self) -> None:
        #: Number of the pending signal; ``None`` if there is none.
        self.pending: int | None = None
        self._before: dict[int, Any] = {}

    def check(self) -> None:
        """Raise if a signal is pending.

        Raises:
            KeyboardInterrupt: a signal is pending.
        """
        if self.pending is not None:
            raise _error_of(self.pending)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._on_signal)
            if _raised:
                self.pending = _raised.pop()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.pending is not None:
            raise _error_of(number)
        self.pending = number


@contextmanager
def on_hangup(callback: Callable[[], None]) -> Iterator[None]:
    """Inside the block, SIGHUP calls ``callback`` instead of ending the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, lambda *_: callback())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _error_of(number: int) -> KeyboardInterrupt:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
