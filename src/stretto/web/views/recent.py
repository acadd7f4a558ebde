"""A view that is read again at most once in a while, however many pages show it."""

from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

from stretto.base.clock import Clock

View = TypeVar("View")

LATEST_S: Final = 1.0
"""Seconds for which a view is shown before it is read again."""


class RecentView(Generic[View]):
    """Reads a view and keeps it for a while. Any thread may call it."""

    def __init__(self, read: Callable[[], View], clock: Clock, seconds: float = LATEST_S) -> None:
        """Nothing is read yet.

        Args:
            read: reads the view.
            clock: monotonic time.
            seconds: for how long a view is kept.
        """
        self._read = read
        self._clock = clock
        self._seconds = seconds
        self._lock = Lock()
        self._kept: tuple[float, View] | None = None

    def __call__(self) -> View:
        """The view, at most some seconds old.

        Raises:
            StrettoError: it cannot be read.
        """
        with self._lock:
            now = self._clock.monotonic()
            if self._kept is None or now - self._kept[0] >= self._seconds:
                self._kept = now, self._read()
            return self._kept[1]
