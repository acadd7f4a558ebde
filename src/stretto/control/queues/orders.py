"""Orders: the units of one queue, in dispatch order.

Entries are never removed from the middle: a unit that is removed leaves a dead entry, which is
recognized by state and rank at the front, and swept when dead entries outnumber live ones.
"""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final

from stretto.control.queues.by_request import DemandOf, Longest, UnitsByRequest
from stretto.state.queues.demand import UnitDemand
from stretto.state.queues.end_times import micros
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit, UnitKind

SEQUENCE_BITS: Final = 48
"""Bits of a rank below the priority, for the sequence: 10,000 arrivals per second for 890 years."""
SMALL: Final = 64
"""Number of dead entries below which a sweep is not worthwhile."""
_POD: Final = UnitKind.POD
_QUEUED: Final = UnitState.QUEUED


def first_come(unit: Unit) -> int:
    """Rank by arrival."""
    return unit.sequence


def by_priority(unit: Unit) -> int:
    """Rank by priority, the highest first, then by arrival."""
    return (-unit.priority << SEQUENCE_BITS) + unit.sequence


def shortest_first(unit: Unit) -> int:
    """Rank by run time, then by arrival; units without a run time come last."""
    return (micros(unit.duration) << SEQUENCE_BITS) + unit.sequence


class UnitOrder(ABC):
    """The units of one queue, in dispatch order."""

    def __init__(self, rank: Callable[[Unit], int]) -> None:
        """Start empty; ``rank`` is computed once per entry of a unit."""
        #: Number of units.
        self.live: int = 0
        #: Rank of a unit: the smallest rank is first; ranks are distinct.
        self.rank = rank

    @abstractmethod
    def push(self, unit: Unit) -> None:
        """Add a new or returning unit."""

    @abstractmethod
    def pop(self) -> Unit | None:
        """Remove and return the first unit; ``None`` when empty."""

    def pop_singles(self, most: int) -> list[Unit]:
        """Remove at most ``most`` units of one pod from the front, up to the first larger unit."""
        taken: list[Unit] = []
        while len(taken) < most and (unit := self.peek()) is not None and unit.kind is _POD:
            self.pop()
            taken.append(unit)
        return taken

    @abstractmethod
    def peek(self) -> Unit | None:
        """Return the first unit without removing it."""

    @abstractmethod
    def discard(self) -> None:
        """Account for a unit that was removed outside ``pop``, after its state changed."""

    @abstractmethod
    def __iter__(self) -> Iterator[Unit]:
        """All units, in no particular order."""

    def extend(self, units: Iterable[Unit]) -> None:
        """Add many units."""
        for unit in units:
            self.push(unit)

    @abstractmethod
    def changed(self, unit: Unit) -> None:
        """Update a unit whose demand or run time has changed; its rank stays."""

    @abstractmethod
    def candidate(self, longest: Longest, demand_of: DemandOf) -> tuple[Unit, UnitDemand] | None:
        """Return the first unit that may start now, with its demand, without removing it."""


class RankOrder(UnitOrder):
    """Units by rank: a deque for units that arrive in order, and a heap for the others."""

    def __init__(self, rank: Callable[[Unit], int]) -> None:
        super().__init__(rank)
        self._line: deque[Unit] = deque()
        self._line_ranks: deque[int] = deque()
        self._heap: list[tuple[int, Unit]] = []
        #: Units by request; built at the first search.
        self._groups: UnitsByRequest | None = None

    def push(self, unit: Unit) -> None:
        """Append to the deque if the rank allows it, else push on the heap."""
        unit.rank = rank = self.rank(unit)
        self.live += 1
        if self._groups is not None:
            self._groups.fresh.append(unit)
        ranks = self._line_ranks
        if not ranks or rank > ranks[-1]:
            ranks.append(rank)
            self._line.append(unit)
        else:
            heapq.heappush(self._heap, (rank, unit))

    def pop(self) -> Unit | None:
        """Remove and return the live entry with the smallest rank."""
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
        """Fast path for an empty heap, which is the common case."""
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
        """Append all at once if all ranks go to the end of the deque."""
        coming, rank_of = list(units), self.rank
        ranks = [rank_of(unit) for unit in coming]
        last = self._line_ranks[-1] if self._line_ranks else -inf
        if not ranks or ranks[0] <= last or ranks != sorted(set(ranks)):
            super().extend(coming)
            return
        for unit, rank in zip(coming, ranks, strict=True):
            unit.rank = rank
        self.live += len(coming)
        if self._groups is not None:
            self._groups.fresh.extend(coming)
        self._line_ranks.extend(ranks)
        self._line.extend(coming)

    def peek(self) -> Unit | None:
        """Drop dead entries until the first one is live."""
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
        """Account for one dead entry; sweep when dead entries outnumber live ones."""
        self.live -= 1
        if len(self._line) + len(self._heap) > 2 * self.live + SMALL:
            self._sweep()

    def __iter__(self) -> Iterator[Unit]:
        """Live entries, each unit once."""
        seen: set[Unit] = set()
        entries = [*zip(self._line_ranks, self._line, strict=True), *self._heap]
        for rank, unit in entries:
            if unit.rank == rank and unit.state is _QUEUED and unit not in seen:
                seen.add(unit)
                yield unit

    def changed(self, unit: Unit) -> None:
        """Schedule a unit for grouping at the next search."""
        if self._groups is not None:
            self._groups.fresh.append(unit)

    def candidate(self, longest: Longest, demand_of: DemandOf) -> tuple[Unit, UnitDemand] | None:
        """The unit with the smallest rank among those that may start now."""
        groups = self._groups
        if groups is None or groups.is_stale(self.live, SMALL):
            groups = self._groups = UnitsByRequest(self, micros)
        return groups.candidate(longest, demand_of)

    def _sweep(self) -> None:
        """Keep live entries only, each unit once."""
        alive = sorted(self, key=lambda unit: unit.rank)
        self._line = deque(alive)
        self._line_ranks = deque(unit.rank for unit in alive)
        self._heap = []
