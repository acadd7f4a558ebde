"""A heap whose items have names: the order of every queue that must also forget.

A plain heap cannot drop or move an item in the middle; a sorted list pays for each. Here a
changed item leaves a dead entry behind, which is skipped when it surfaces, and the heap is
rebuilt when more than half of it is dead, so garbage stays bounded.
"""

import heapq
from collections.abc import Hashable, Iterator
from itertools import count
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Any tuple of comparable values; the smallest comes first.
Priority = tuple[Any, ...]

#: Below this length a rebuild costs more than the dead entries do.
SMALL = 64


class KeyedHeap(Generic[K, V]):
    """Items with keys: first the smallest priority, then the earliest pushed."""

    def __init__(self) -> None:
        #: key → (priority, turn, item): what is alive.
        self._live: dict[K, tuple[Priority, int, V]] = {}
        #: (priority, turn, key), dead ones among them. Turns differ, so keys are not compared.
        self._heap: list[tuple[Priority, int, K]] = []
        self._turns = count()

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: object) -> bool:
        return key in self._live

    def __iter__(self) -> Iterator[K]:
        """The keys, in no order that means anything."""
        return iter(self._live)

    def push(self, key: K, item: V, priority: Priority) -> None:
        """Add an item; among equal priorities it comes last.

        Raises:
            KeyError: the key is in the heap already.
        """
        if key in self._live:
            raise KeyError(key)
        self._put(key, item, priority, next(self._turns))

    def update(self, key: K, item: V, priority: Priority) -> None:
        """Replace an item and its priority, or add it. An equal priority keeps its turn."""
        before = self._live.get(key)
        if before is None:
            self.push(key, item, priority)
        elif before[0] == priority:
            self._live[key] = (priority, before[1], item)
        else:
            self._put(key, item, priority, next(self._turns))

    def get(self, key: K) -> V | None:
        """The item of a key, or None."""
        found = self._live.get(key)
        return None if found is None else found[2]

    def remove(self, key: K) -> V | None:
        """Take an item out wherever it stands; None if it is not there."""
        found = self._live.pop(key, None)
        if found is None:
            return None
        self._collect()
        return found[2]

    def peek(self) -> tuple[K, V]:
        """The first key and item.

        Raises:
            IndexError: the heap is empty.
        """
        self._surface()
        key = self._heap[0][2]
        return key, self._live[key][2]

    def pop(self) -> tuple[K, V]:
        """Take the first key and item.

        Raises:
            IndexError: the heap is empty.
        """
        self._surface()
        key = heapq.heappop(self._heap)[2]
        return key, self._live.pop(key)[2]

    def _put(self, key: K, item: V, priority: Priority, turn: int) -> None:
        self._live[key] = (priority, turn, item)
        heapq.heappush(self._heap, (priority, turn, key))
        self._collect()

    def _dead(self, entry: tuple[Priority, int, K]) -> bool:
        found = self._live.get(entry[2])
        return found is None or found[1] != entry[1]

    def _surface(self) -> None:
        """Drop dead entries until the first is alive."""
        while self._heap and self._dead(self._heap[0]):
            heapq.heappop(self._heap)

    def _collect(self) -> None:
        """Rebuild once the dead outnumber the living."""
        if len(self._heap) > SMALL and len(self._heap) > 2 * len(self._live):
            self._heap = [(priority, turn, key) for key, (priority, turn, _) in self._live.items()]
            heapq.heapify(self._heap)
