"""Shelves: the units of one queue by what they ask, to find the first that may start now.

Units that ask the same lie on one shelf. A shelf is looked through only when something on it may
start, so a search costs as much as there are shelves, plus one walk per start.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from stretto.state.queries.pool import Amounts
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit

NOT_NOW: Final = -1
"""Longest run time of what may not start now, however short it is."""


class UnitDemand(NamedTuple):
    """What a unit asks of the pool."""

    #: Without which it does not start.
    least: Amounts
    #: What it takes when all its pods start.
    most: Amounts
    #: Nothing of it runs yet: it counts as one more running unit.
    fresh: bool = True


DemandOf = Callable[[Unit], UnitDemand]
"""A unit in its queue to what it asks."""
Longest = Callable[[UnitDemand], int]
"""What is asked to the longest run time, in microseconds, with which it may start now."""


class UnitsByRequest:
    """The units of one queue, by what they ask; dead entries are dropped when they surface."""

    def __init__(self, units: Iterable[Unit], micros: Callable[[float], int]) -> None:
        """Take these units in at the next search; ``micros`` is how run times compare."""
        #: Units that have come or changed since the last search.
        self.fresh: list[Unit] = list(units)
        self._micros = micros
        self._shelves: dict[UnitDemand, _RequestGroup] = {}
        self._asked: dict[Unit, UnitDemand] = {}
        self._entries = 0

    def is_stale(self, live: int, small: int) -> bool:
        """Whether the dead outnumber so many living: then shelves are to be made anew."""
        return self._entries + len(self.fresh) > 2 * live + small

    def candidate(self, longest: Longest, demand_of: DemandOf) -> tuple[Unit, UnitDemand] | None:
        """The first unit that may start now, and what it asks; it is left where it is."""
        self._shelve(demand_of)
        best: tuple[Unit, UnitDemand] | None = None
        for asked, shelf in self._shelves.items():
            limit = longest(asked)
            unit = shelf.first(limit, self._asked) if limit >= 0 else None
            if unit is not None and (best is None or unit.rank < best[0].rank):
                best = unit, asked
        return best

    def _shelve(self, demand_of: DemandOf) -> None:
        """Put on shelves what has come or changed since the last search."""
        for unit in self.fresh:
            if unit.state is not UnitState.QUEUED:
                continue
            asked = self._asked[unit] = demand_of(unit)
            shelf = self._shelves.get(asked)
            if shelf is None:
                shelf = self._shelves[asked] = _RequestGroup(asked, self._micros)
            shelf.add(unit)
            self._entries += 1
        self.fresh.clear()


class _RequestGroup:
    """Units that ask the same, in order, with dead entries among them."""

    def __init__(self, asked: UnitDemand, micros: Callable[[float], int]) -> None:
        self._demand = asked
        self._micros = micros
        self._line: list[tuple[int, Unit]] = []
        #: Entries of the line before this one are dead.
        self._start = 0
        self._shortest: list[tuple[int, int, Unit]] = []

    def add(self, unit: Unit) -> None:
        """Put a unit at its place."""
        entry, line = (unit.rank, unit), self._line
        if not line or unit.rank > line[-1][0]:
            line.append(entry)
        else:
            place = bisect_left(line, unit.rank, key=itemgetter(0))
            self._start = min(self._start, place)
            if line[place][1] is not unit:
                line.insert(place, entry)
        heapq.heappush(self._shortest, (self._micros(unit.duration), unit.rank, unit))

    def first(self, longest: int, asked: Mapping[Unit, UnitDemand]) -> Unit | None:
        """The first living unit that runs no longer than so many microseconds."""
        shortest, micros = self._shortest, self._micros
        while shortest:
            duration, rank, unit = shortest[0]
            if self._lives(rank, unit, asked) and micros(unit.duration) == duration:
                break
            heapq.heappop(shortest)
        if not shortest or shortest[0][0] > longest:
            return None
        head = self._head(asked)
        if head is None or micros(head.duration) <= longest:
            return head
        self._line = line = [entry for entry in self._line if self._lives(*entry, asked)]
        self._start = 0
        return next((unit for _, unit in line if micros(unit.duration) <= longest), None)

    def _head(self, asked: Mapping[Unit, UnitDemand]) -> Unit | None:
        """The first living unit, however long it runs."""
        line, start = self._line, self._start
        while start < len(line) and not self._lives(*line[start], asked):
            start += 1
        if start > len(line) // 2:
            del line[:start]
            start = 0
        self._start = start
        return line[start][1] if start < len(line) else None

    def _lives(self, rank: int, unit: Unit, asked: Mapping[Unit, UnitDemand]) -> bool:
        queued = unit.state is UnitState.QUEUED and unit.rank == rank
        return queued and asked.get(unit) == self._demand
