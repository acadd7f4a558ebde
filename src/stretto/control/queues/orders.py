"""Orders: the units of one queue, in the order in which they leave.

Nothing is ever searched for in the middle: a unit that leaves a queue otherwise than by its turn
leaves a dead entry behind, recognised by state and rank when it surfaces and swept when the dead
outnumber the living.
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final

from stretto.control.queues.by_request import DemandOf, Longest, UnitDemand, UnitsByRequest
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit, UnitKind

SEQUENCE_BITS: Final = 48
"""Room for the order of arrival below the priority in a rank: 10,000 a second for 890 years."""
SMALL: Final = 64
"""Dead entries that are not worth sweeping."""
MICROS: Final = 1_000_000
"""Times are compared in whole microseconds, so that two ends at one instant are at one instant."""
NEVER: Final = 1 << 62
"""A time in microseconds that does not come: the end of what states no run time."""

_POD: Final = UnitKind.POD
_QUEUED: Final = UnitState.QUEUED


def micros(seconds: float) -> int:
    """Seconds in whole microseconds; infinity is ``NEVER``."""
    return NEVER if seconds == inf else min(round(seconds * MICROS), NEVER)


def first_come(unit: Unit) -> int:
    """Rank by arrival."""
    return unit.sequence


def by_priority(unit: Unit) -> int:
    """Rank by priority, the highest first, then by arrival."""
    return (-unit.priority << SEQUENCE_BITS) + unit.sequence


def shortest_first(unit: Unit) -> int:
    """Rank by run time, then by arrival; what states none comes last."""
    return (micros(unit.duration) << SEQUENCE_BITS) + unit.sequence


class UnitOrder(ABC):
    """The units of one queue, in the order in which they leave."""

    def __init__(self, rank: Callable[[Unit], int]) -> None:
        """Start empty; ``rank`` gives each unit its place, once, when it enters."""
        #: Units in it.
        self.live: int = 0
        #: The place of a unit: smaller leaves first; ties do not occur.
        self.rank = rank

    @abstractmethod
    def push(self, unit: Unit) -> None:
        """Put a unit at its place, whether it is new or comes back."""

    @abstractmethod
    def pop(self) -> Unit | None:
        """Take the first unit; ``None`` when there is none."""

    def pop_singles(self, most: int) -> list[Unit]:
        """Take so many single pods at most from the front, while nothing else comes first."""
        taken: list[Unit] = []
        while len(taken) < most and (unit := self.peek()) is not None and unit.kind is _POD:
            self.pop()
            taken.append(unit)
        return taken

    @abstractmethod
    def peek(self) -> Unit | None:
        """The first unit, left where it is."""

    @abstractmethod
    def discard(self) -> None:
        """Count out a unit that left otherwise than by its turn, once its state says so."""

    @abstractmethod
    def __iter__(self) -> Iterator[Unit]:
        """The units in it, in no order that means anything."""

    def extend(self, units: Iterable[Unit]) -> None:
        """Put many units at their places."""
        for unit in units:
            self.push(unit)

    @abstractmethod
    def changed(self, unit: Unit) -> None:
        """A unit in it wants something else now, or runs longer or shorter, and keeps its rank."""

    @abstractmethod
    def candidate(self, longest: Longest, demand_of: DemandOf) -> tuple[Unit, UnitDemand] | None:
        """The first unit that may start now, and what it asks; it is left where it is."""


class RankOrder(UnitOrder):
    """Units by rank: a heap for those that come back, and a line for those that come in order."""

    def __init__(self, rank: Callable[[Unit], int]) -> None:
        super().__init__(rank)
        self._line: deque[Unit] = deque()
        self._line_ranks: deque[int] = deque()
        self._heap: list[tuple[int, Unit]] = []
        #: Units by what they ask; made when somebody searches for the first time.
        self._shelves: UnitsByRequest | None = None

    def push(self, unit: Unit) -> None:
        """Append where the rank allows it, else sort in."""
        unit.rank = rank = self.rank(unit)
        self.live += 1
        if self._shelves is not None:
            self._shelves.fresh.append(unit)
        ranks = self._line_ranks
        if not ranks or rank > ranks[-1]:
            ranks.append(rank)
            self._line.append(unit)
        else:
            heapq.heappush(self._heap, (rank, unit))

    def pop(self) -> Unit | None:
        """Take the living entry with the smallest rank."""
        heap, ranks = self._heap, self._line_ranks
        while True:
            if ranks and (not heap or ranks[0] < heap[0][0]):
                rank, unit = ranks.popleft(), self._line.popleft()
            elif heap:
                rank, unit = heapq.heappop(heap)
            else:
                return None
            if unit.rank == rank and unit.state is _QUEUED:
                self.live -= 1
                return unit

    def pop_singles(self, most: int) -> list[Unit]:
        """Without a look at the heap where that is empty, as it nearly always is."""
        if self._heap:
            return super().pop_singles(most)
        line, ranks, taken = self._line, self._line_ranks, list[Unit]()
        while len(taken) < most and line:
            unit = line[0]
            alive = unit.rank == ranks[0] and unit.state is _QUEUED
            if alive and unit.kind is not _POD:
                break
            line.popleft()
            ranks.popleft()
            if alive:
                taken.append(unit)
        self.live -= len(taken)
        return taken

    def extend(self, units: Iterable[Unit]) -> None:
        """In one go where all of them go to the end of the line."""
        coming, rank_of = list(units), self.rank
        ranks = [rank_of(unit) for unit in coming]
        last = self._line_ranks[-1] if self._line_ranks else -inf
        if not ranks or ranks[0] <= last or ranks != sorted(set(ranks)):
            super().extend(coming)
            return
        for unit, rank in zip(coming, ranks, strict=True):
            unit.rank = rank
        self.live += len(coming)
        if self._shelves is not None:
            self._shelves.fresh.extend(coming)
        self._line_ranks.extend(ranks)
        self._line.extend(coming)

    def peek(self) -> Unit | None:
        """Drop dead entries until the first is alive."""
        unit = self.pop()
        if unit is not None:
            self.live += 1
            if not self._line_ranks or unit.rank < self._line_ranks[0]:
                self._line_ranks.appendleft(unit.rank)
                self._line.appendleft(unit)
            else:
                heapq.heappush(self._heap, (unit.rank, unit))
        return unit

    def discard(self) -> None:
        """Count one out, and sweep when the dead outnumber the living."""
        self.live -= 1
        if len(self._line) + len(self._heap) > 2 * self.live + SMALL:
            self._sweep()

    def __iter__(self) -> Iterator[Unit]:
        """Living entries, each unit once."""
        seen: set[Unit] = set()
        entries = [*zip(self._line_ranks, self._line, strict=True), *self._heap]
        for rank, unit in entries:
            if unit.rank == rank and unit.state is _QUEUED and unit not in seen:
                seen.add(unit)
                yield unit

    def changed(self, unit: Unit) -> None:
        """It is shelved again when somebody searches."""
        if self._shelves is not None:
            self._shelves.fresh.append(unit)

    def candidate(self, longest: Longest, demand_of: DemandOf) -> tuple[Unit, UnitDemand] | None:
        """The first by rank of those that may start now."""
        shelves = self._shelves
        if shelves is None or shelves.is_stale(self.live, SMALL):
            shelves = self._shelves = UnitsByRequest(self, micros)
        return shelves.candidate(longest, demand_of)

    def _sweep(self) -> None:
        """Keep the living only, each once."""
        alive = sorted(self, key=lambda unit: unit.rank)
        self._line = deque(alive)
        self._line_ranks = deque(unit.rank for unit in alive)
        self._heap = []
