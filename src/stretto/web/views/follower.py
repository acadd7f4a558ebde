"""A thread that keeps a plane up to date with its store, without making decisions."""

from contextlib import AbstractContextManager
from threading import Event, Thread
from typing import Final

from stretto.plane.plane import Plane
from stretto.web.views.sources import PlaneSource

_INTERVAL: Final = 0.2
"""Seconds between two checks of the store."""


class Follower(AbstractContextManager["Follower"]):
    """Follows the store of a plane while its block is open."""

    def __init__(self, source: PlaneSource, plane: Plane) -> None:
        """Follow for a source; when the block is entered, the first read is complete."""
        self._source = source
        self._plane = plane
        self._end = Event()
        self._thread = Thread(target=self._follow, name="follower", daemon=True)

    def __enter__(self) -> "Follower":
        """Read everything, and start the thread."""
        with self._source.lock:
            self._plane.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the thread."""
        self._end.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._end.wait(_INTERVAL):
            with self._source.lock:
                self._plane.look()
