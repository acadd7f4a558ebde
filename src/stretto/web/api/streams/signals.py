"""Signals for streams that wait for the next change of a kind; each signal calls a stream once.

Otherwise every write would call hundreds of watches of one kind, although all but the first call
find a stream that is already due.
"""

from collections.abc import Callable
from threading import Lock

from stretto.api.wire.kinds import Kind

Wake = Callable[[], None]
"""Wakes a stream; called in the thread that commits."""


class ChangeSignals:
    """The streams that wait for a change, by kind."""

    def __init__(self) -> None:
        """Start without streams."""
        self._lock = Lock()
        self._waiting: dict[Kind, set[Wake]] = {}

    def call_once(self, kind: Kind, wake: Wake) -> None:
        """Call a function at the next change of a kind."""
        with self._lock:
            self._waiting.setdefault(kind, set()).add(wake)

    def forget(self, kind: Kind, wake: Wake) -> None:
        """Cancel a call."""
        with self._lock:
            self._waiting.get(kind, set()).discard(wake)

    def notify(self, kind: Kind) -> None:
        """Call the streams that wait for a kind, which has changed."""
        with self._lock:
            waiting = self._waiting.pop(kind, ())
        for wake in waiting:
            wake()
