"""Ctrl-C and SIGTERM, held back until a command is at a place where it may stop.

A signal that raises in the middle of a write leaves a durable store in doubt about itself. So a
long command runs under ``DeferredInterrupt`` and asks now and then; a second signal does not wait.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, Self

from stretto.cli.failures import Terminated

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def terminate(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM ends a command as Ctrl-C does: with a partial report and exit code 130."""
    raise Terminated


class DeferredInterrupt:
    """While it is open, the first signal waits for ``check``; the second raises at once."""

    def __init__(self) -> None:
        #: The signal that waits, or ``None``.
        self.waiting: int | None = None
        self._before: dict[int, Any] = {}

    def check(self) -> None:
        """Stop here when a signal has come.

        Raises:
            KeyboardInterrupt: one has.
        """
        if self.waiting is not None:
            raise _error_of(self.waiting)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._come)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _come(self, number: int, _frame: FrameType | None) -> None:
        if self.waiting is not None:
            raise _error_of(number)
        self.waiting = number


@contextmanager
def on_hangup(told: Callable[[], None]) -> Iterator[None]:
    """While it is open, SIGHUP calls ``told`` and ends nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, lambda *_: told())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _error_of(number: int) -> KeyboardInterrupt:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
