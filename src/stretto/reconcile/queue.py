"""A queue of keys with delays: it contains each key at most once, at its earliest time."""

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class DelayQueue(Generic[Key]):
    """Queue of keys that become due; keys with equal times keep the order of arrival."""

    def __init__(self) -> None:
        self._due: dict[Key, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._number = count()

    def __len__(self) -> int:
        """Number of keys."""
        return len(self._due)

    def due_by(self, now: float) -> int:
        """Return the number of due keys."""
        return sum(at <= now for at, _ in self._due.values())

    def add(self, key: Key, at: float) -> None:
        """Add a key; a key that is already due earlier keeps its time."""
        waiting = self._due.get(key)
        if waiting is not None and waiting[0] <= at:
            return
        entry = at, next(self._number)
        self._due[key] = entry
        heapq.heappush(self._heap, (*entry, key))

    def discard(self, key: Key) -> None:
        """Remove a key if the queue contains it."""
        self._due.pop(key, None)

    def next_due(self) -> float | None:
        """Return the time of the first key; ``None`` if the queue is empty."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> Key | None:
        """Remove and return the first due key; ``None`` if no key is due."""
        self._drop_stale()
        if not self._heap or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._due[key]
        return key

    def _drop_stale(self) -> None:
        """Remove stale heap entries: the key is gone or has an earlier time."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][:2]:
            heapq.heappop(self._heap)
