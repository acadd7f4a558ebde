"""A queue of keys with delays: each key is in it at most once, at its earliest time."""

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class DelayQueue(Generic[Key]):
    """Keys that become due; equal times keep the order of arrival."""

    def __init__(self) -> None:
        self._due: dict[Key, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._number = count()

    def __len__(self) -> int:
        """Number of keys."""
        return len(self._due)

    def due_by(self, now: float) -> int:
        """Number of keys that are due."""
        return sum(at <= now for at, _ in self._due.values())

    def add(self, key: Key, at: float) -> None:
        """Add a key; one that is due earlier already stays as it is."""
        waiting = self._due.get(key)
        if waiting is not None and waiting[0] <= at:
            return
        entry = at, next(self._number)
        self._due[key] = entry
        heapq.heappush(self._heap, (*entry, key))

    def discard(self, key: Key) -> None:
        """Remove a key if it is in the queue."""
        self._due.pop(key, None)

    def next_due(self) -> float | None:
        """Time of the first key; ``None`` if the queue is empty."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> Key | None:
        """Remove and return the first key that is due; ``None`` if none is."""
        self._drop_stale()
        if not self._heap or self._heap[0][0] > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._due[key]
        return key

    def _drop_stale(self) -> None:
        """Remove entries from the heap whose key is gone or is due earlier."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][:2]:
            heapq.heappop(self._heap)
