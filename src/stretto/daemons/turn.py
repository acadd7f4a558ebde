"""Mutual exclusion of threads that change the state, without I/O inside.

The steps of a scheduler run in a separate thread, requests run on the event loop. Both change the
same state, so each acquires the turn first. A step releases the turn while it reads or writes the
API server: a silent server stops the step, but not the answers and heartbeats of the event loop.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from stretto.api.wire.kinds import Kind
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    Deletion,
    Eviction,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    Store,
    UnitReplies,
    Update,
)
from stretto.stores.wrapper import StoreWrapper

T = TypeVar("T")


class Turn:
    """The right to change the state; a reentrant context manager."""

    def __init__(self) -> None:
        """Create the turn; no thread has it."""
        self._lock = threading.RLock()
        self._owner = 0
        self._depth = 0

    def __enter__(self) -> "Turn":
        self._lock.acquire()
        self._owner = threading.get_ident()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
        self._lock.release()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Release the turn of this thread for a while, if the thread has it."""
        depth = self._depth if self._owner == threading.get_ident() else 0
        for _ in range(depth):
            self.__exit__(None, None, None)
        try:
            yield
        finally:
            for _ in range(depth):
                self.__enter__()


class TurnStore(StoreWrapper):
    """Store wrapper whose reads and writes release the turn of their thread.

    Before each call the state of a step is complete: a claim is charged before its write.
    """

    def __init__(self, inner: Store, turn: Turn) -> None:
        """Wrap a store."""
        super().__init__(inner)
        self._turn = turn

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``."""
        return self._outside(lambda: self._inner.get(kind, namespace, name))

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object as ``get`` does, without waiting for an unreachable store."""
        return self._outside(lambda: self._inner.get_at_once(kind, namespace, name))

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """The selected objects of a kind."""
        return self._outside(lambda: self._inner.list(kind, selection))

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        return self._outside(lambda: self._inner.create(kind, bodies))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._outside(lambda: self._inner.update(kind, updates))

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        return self._outside(lambda: self._inner.patch(kind, patches))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change the status of objects, and annotations of pods."""
        return self._outside(lambda: self._inner.patch_status(kind, patches))

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects."""
        return self._outside(lambda: self._inner.delete(kind, deletions))

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods."""
        return self._outside(lambda: self._inner.bind(binds))

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind the pods of units."""
        return self._outside(lambda: self._inner.bind_units(units))

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods."""
        return self._outside(lambda: self._inner.evict(evictions))

    def _outside(self, call: Callable[[], T]) -> T:
        with self._turn.left():
            return call()
