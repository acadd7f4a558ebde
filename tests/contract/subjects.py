"""The subjects of the contract: every store, with the permitted differences.

A test that needs more than every store can give names the capability; all else holds for all, a
Kubernetes API server included.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.faulty.odds import NO_FAULTS
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import EventType, Store, Watch, WatchEvent

HISTORY = 64
"""Events that the stores under test keep: few, so that a test can outrun them."""

FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Folder of files: in memory if possible, because a busy disk makes an fsync slow, and
what survives a crash is tested elsewhere."""


@dataclass(frozen=True)
class Subject:
    """One store under test."""

    #: Name in the test's id.
    name: str
    #: Opens an empty store in a folder of its own.
    make: Callable[[Path], Store]
    #: Changes after which a watch that did not read is too old; 0 where the store will not say.
    history: int = HISTORY
    #: Seconds that an event may take to arrive, however busy the machine is.
    latency: float = 0.0
    #: Seconds without an event after which the test expects none.
    quiet: float = 0.0

    @contextlib.contextmanager
    def open(self) -> Iterator[Store]:
        """An empty store, closed in the end."""
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            store = self.make(Path(folder))
            try:
                yield store
            finally:
                store.close()

    def read(self, watch: Watch, count: int) -> list[WatchEvent]:
        """The next ``count`` changes of a watch, or fewer where no more arrive in time."""
        events: list[WatchEvent] = []
        deadline = time.monotonic() + (self.latency if count else self.quiet)
        while True:
            events += [each for each in watch.poll() if each.type is not EventType.BOOKMARK]
            late = time.monotonic() >= deadline
            if late or (count and len(events) >= count):
                return events
            time.sleep(0.01)

    def comes(self, holds: Callable[[], bool]) -> bool:
        """Return whether a condition becomes true before an event would have arrived."""
        deadline = time.monotonic() + self.latency
        while not holds():
            if time.monotonic() >= deadline:
                return False
            time.sleep(self.quiet / 100)
        return True


def _memory(_: Path) -> Store:
    return MemoryStore(ManualClock(), Rng(1), history=HISTORY)


def _sqlite(folder: Path) -> Store:
    return SqliteStore(folder / "store.sqlite", ManualClock(), Rng(1), history=HISTORY)


def _faulty(folder: Path) -> Store:
    return FaultyStore(_memory(folder), Rng(2), NO_FAULTS, ManualClock())


SUBJECTS = (Subject("memory", _memory), Subject("sqlite", _sqlite), Subject("faulty", _faulty))
