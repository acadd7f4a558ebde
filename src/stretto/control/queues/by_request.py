"""Units of one queue grouped by demand, to find the first one that may start now.

Units with equal demand form one group. A group is scanned only if one of its units may start, so
the cost of a search is the number of groups plus one scan per start.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Final

from stretto.state.queues.demand import UnitDemand
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit

NOT_NOW: Final = -1
"""Longest run time of a unit that may not start now, regardless of its run time."""


DemandOf = Callable[[Unit], UnitDemand]
"""Maps a queued unit to its demand."""
Longest = Callable[[UnitDemand], int]
"""Maps a demand to the longest run time, in microseconds, with which it may start now."""


class UnitsByRequest:
    """The units of one queue by demand; dead entries are dropped at the front."""

    def __init__(self, units: Iterable[Unit], micros: Callable[[float], int]) -> None:
        """Group these units at the next search; ``micros`` converts run times."""
        #: Units that were added or changed since the last search.
        self.fresh: list[Unit] = list(units)
        self._micros = micros
        self._groups: dict[UnitDemand, _RequestGroup] = {}
        self._demands: dict[Unit, UnitDemand] = {}
        self._entries = 0

    def is_stale(self, live: int, small: int) -> bool:
        """True if dead entries outnumber ``live`` ones, so that the groups must be rebuilt."""
        return self._entries + len(self.fresh) > 2 * live + small

    def candidate(self, longest: Longest, demand_of: DemandOf) -> tuple[Unit, UnitDemand] | None:
        """The first unit that may start now, with its demand, without removing it."""
        self._group(demand_of)
        best: tuple[Unit, UnitDemand] | None = None
        for demand, group in self._groups.items():
            limit = longest(demand)
            unit = group.first(limit, self._demands) if limit >= 0 else None
            if unit is not None and (best is None or unit.rank < best[0].rank):
                best = unit, demand
        return best

    def _group(self, demand_of: DemandOf) -> None:
        """Group the units that were added or changed since the last search."""
        for unit in self.fresh:
            if unit.state is not UnitState.QUEUED:
                continue
            demand = self._demands[unit] = demand_of(unit)
            group = self._groups.get(demand)
            if group is None:
                group = self._groups[demand] = _RequestGroup(demand, self._micros)
            group.add(unit)
            self._entries += 1
        self.fresh.clear()


class _RequestGroup:
    """Units of equal demand in rank order, including dead entries."""

    def __init__(self, demand: UnitDemand, micros: Callable[[float], int]) -> None:
        self._demand = demand
        self._micros = micros
        self._line: list[tuple[int, Unit]] = []
        #: Entries of the line before this index are dead.
        self._start = 0
        self._shortest: list[tuple[int, int, Unit]] = []

    def add(self, unit: Unit) -> None:
        """Add a unit by its rank."""
        entry, line = (unit.rank, unit), self._line
        if not line or unit.rank > line[-1][0]:
            line.append(entry)
        else:
            place = bisect_left(line, unit.rank, key=itemgetter(0))
            self._start = min(self._start, place)
            if line[place][1] is not unit:
                line.insert(place, entry)
        heapq.heappush(self._shortest, (self._micros(unit.duration), unit.rank, unit))

    def first(self, longest: int, demand: Mapping[Unit, UnitDemand]) -> Unit | None:
        """The first live unit whose run time is at most ``longest`` microseconds."""
        shortest, micros = self._shortest, self._micros
        while shortest:
            duration, rank, unit = shortest[0]
            if self._lives(rank, unit, demand) and micros(unit.duration) == duration:
                break
            heapq.heappop(shortest)
        if not shortest or shortest[0][0] > longest:
            return None
        head = self._head(demand)
        if head is None or micros(head.duration) <= longest:
            return head
        self._line = line = [entry for entry in self._line if self._lives(*entry, demand)]
        self._start = 0
        return next((unit for _, unit in line if micros(unit.duration) <= longest), None)

    def _head(self, demand: Mapping[Unit, UnitDemand]) -> Unit | None:
        """The first live unit, regardless of its run time."""
        line, start = self._line, self._start
        while start < len(line) and not self._lives(*line[start], demand):
            start += 1
        if start > len(line) // 2:
            del line[:start]
            start = 0
        self._start = start
        return line[start][1] if start < len(line) else None

    def _lives(self, rank: int, unit: Unit, demand: Mapping[Unit, UnitDemand]) -> bool:
        queued = unit.state is UnitState.QUEUED and unit.rank == rank
        return queued and demand.get(unit) == self._demand
