"""A heap of units by time."""

import heapq
from collections.abc import Callable
from math import inf

from stretto.state.work.units import Unit


class DelayedUnits:
    """Units that wait for a time: units in back-off, or gangs with a deadline."""

    def __init__(self) -> None:
        """Start empty."""
        #: Clock time of the earliest entry, obsolete or not; infinity for none.
        self.earliest = inf
        self._heap: list[tuple[float, int, int, Unit]] = []
        self._added = 0

    def add(self, unit: Unit, until: float) -> None:
        """Add an entry; equal entries may be added twice."""
        self._added += 1
        heapq.heappush(self._heap, (until, unit.sequence, self._added, unit))
        self.earliest = self._heap[0][0]

    def pop_due(self, now: float) -> list[tuple[float, Unit]]:
        """Remove and return the due entries, earliest first; the caller drops obsolete ones."""
        found: list[tuple[float, Unit]] = []
        while self._heap and self._heap[0][0] <= now:
            until, _, _, unit = heapq.heappop(self._heap)
            found.append((until, unit))
        self.earliest = self._heap[0][0] if self._heap else inf
        return found

    def next_due(self, counts: Callable[[float, Unit], bool]) -> float:
        """The earliest time for which ``counts`` holds; drops the entries before it."""
        while self._heap and not counts(self._heap[0][0], self._heap[0][3]):
            heapq.heappop(self._heap)
        self.earliest = self._heap[0][0] if self._heap else inf
        return self.earliest
