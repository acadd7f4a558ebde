"""A view that is cached for a while, independent of the number of pages that show it."""

from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

from stretto.base.clock import Clock

View = TypeVar("View")

LATEST_S: Final = 1.0
"""Seconds for which a view is cached."""


class RecentView(Generic[View]):
    """Cache of a view. Any thread may call it."""

    def __init__(self, read: Callable[[], View], clock: Clock, seconds: float = LATEST_S) -> None:
        """Create the cache; the view is not read yet.

        Args:
            read: reads the view.
            clock: monotonic time.
            seconds: lifetime of a cached view.
        """
        self._read = read
        self._clock = clock
        self._seconds = seconds
        self._lock = Lock()
        self._kept: tuple[float, View] | None = None

    def __call__(self) -> View:
        """Return the view, at most ``seconds`` old.

        Raises:
            StrettoError: the view cannot be read.
        """
        with self._lock:
            now = self._clock.monotonic()
            if self._kept is None or now - self._kept[0] >= self._seconds:
                self._kept = now, self._read()
            return self._kept[1]
