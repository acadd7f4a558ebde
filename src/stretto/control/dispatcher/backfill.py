"""EASY backfill: what may start before the head of a queue without delaying it.

The head, and nobody else, has a reservation: its *shadow time*, the earliest time at which it fits
if what runs ends when it is expected to, and what it leaves over then. A later unit may start now
when it ends by the shadow time, or when it uses only what the head leaves over (Lifka 1995).

Amounts are sums over the cluster: exact on one pool, an estimate on many nodes, where what fits
the sum may fit no node. A head that was tried and failed fits no earlier than something ends, so
the shadow time is that of an end, whatever the sums say. What states no run time never ends.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from stretto.control.dispatcher.orders import NEVER, SMALL, RankOrder, first_come, micros
from stretto.state.lifecycle import UnitState
from stretto.state.pool import Amounts
from stretto.state.units import Unit

NOT_NOW: Final = -1
"""Longest run time of what may not start now, however short it is."""


class Demand(NamedTuple):
    """What a unit asks of the pool."""

    #: Without which it does not start.
    least: Amounts
    #: What it takes when all its pods start.
    most: Amounts


class Ends:
    """What running pods hold, by the time at which they are expected to end."""

    def __init__(self) -> None:
        """Start with nothing running."""
        self._times: list[int] = []
        self._held: dict[int, dict[int, int]] = {}
        self._pods: dict[int, int] = {}

    def add(self, end: int, amounts: Amounts) -> None:
        """A pod runs until then; what never ends is not kept."""
        if end >= NEVER:
            return
        if end not in self._held:
            insort(self._times, end)
            self._held[end] = {}
        held = self._held[end]
        for column, amount in amounts:
            held[column] = held.get(column, 0) + amount
        self._pods[end] = self._pods.get(end, 0) + 1

    def remove(self, end: int, amounts: Amounts) -> None:
        """A pod that was to run until then runs no more."""
        if end >= NEVER:
            return
        self._pods[end] -= 1
        if not self._pods[end]:
            del self._pods[end], self._held[end], self._times[bisect_left(self._times, end)]
            return
        held = self._held[end]
        for column, amount in amounts:
            held[column] -= amount

    def __iter__(self) -> Iterator[tuple[int, Mapping[int, int]]]:
        """(end, amounts that it frees), the earliest first."""
        return ((end, self._held[end]) for end in self._times)


class Reservation:
    """What is kept for a head, and what is left for those behind it; all in one round."""

    def __init__(
        self,
        head: Amounts,
        free: Mapping[int, int],
        ends: Iterable[tuple[int, Mapping[int, int]]],
        now: int,
        at_least: int = NEVER,
    ) -> None:
        """Reserve for a head that was tried and does not fit now.

        Args:
            head: without which it does not start.
            free: what the pool has free now.
            ends: what is freed when, the earliest first.
            now: clock time in microseconds.
            at_least: time at which it is tried again though nothing ends, if it fits by then.
        """
        #: Clock time in microseconds.
        self.now: int = now
        #: What is free now.
        self.free: dict[int, int] = dict(free)
        #: When the head is expected to fit, in microseconds; ``NEVER`` where nothing frees enough.
        self.shadow: int = NEVER
        then = dict(free)
        if at_least < NEVER and _covers(then, head):
            self.shadow = max(at_least, now)
        for end, amounts in ends:
            if end > self.shadow:
                break
            for column, amount in amounts.items():
                then[column] = then.get(column, 0) + amount
            if self.shadow == NEVER and _covers(then, head):
                self.shadow = max(end, now)
        for column, amount in head:
            then[column] = then.get(column, 0) - amount
        #: What the head leaves over at the shadow time; negative for what it lacks even then.
        self.extra: dict[int, int] = then

    def longest(self, asked: Demand) -> int:
        """The longest run time in microseconds with which such a unit may start now.

        ``NEVER`` for any run time, ``NOT_NOW`` for none.
        """
        if not _covers(self.free, asked.least):
            return NOT_NOW
        if _covers(self.extra, asked.most):
            return NEVER
        return NEVER - 1 if self.shadow == NEVER else self.shadow - self.now

    def take(self, asked: Demand, duration: int) -> None:
        """Such a unit starts now."""
        for column, amount in asked.most:
            self.free[column] = self.free.get(column, 0) - amount
        if duration >= NEVER or self.now + duration > self.shadow:
            for column, amount in asked.most:
                self.extra[column] = self.extra.get(column, 0) - amount


class EasyOrder(RankOrder):
    """First come, first served; who may pass a blocked head is found by what it asks.

    Units that ask the same lie on one shelf. A shelf is looked through only when something on it
    is short enough, so a search costs as much as there are shelves, plus one walk per start.
    """

    def __init__(self) -> None:
        """Start empty."""
        super().__init__(first_come)
        self._fresh: list[Unit] = []
        self._shelves: dict[Demand, _Shelf] = {}
        self._asked: dict[Unit, Demand] = {}
        self._entries = 0

    def push(self, unit: Unit) -> None:
        """Put a unit at its place; it is shelved when somebody searches."""
        super().push(unit)
        self._fresh.append(unit)

    def changed(self, unit: Unit) -> None:
        """A unit asks for more or less, or runs longer or shorter, than when it came."""
        self._fresh.append(unit)

    def candidate(
        self, kept: Reservation, demand_of: Callable[[Unit], Demand]
    ) -> tuple[Unit, Demand] | None:
        """The first unit that may start now, and what it asks; it is left where it is."""
        self._shelve(demand_of)
        best: tuple[Unit, Demand] | None = None
        for asked, shelf in self._shelves.items():
            longest = kept.longest(asked)
            unit = shelf.first(longest, self._asked) if longest >= 0 else None
            if unit is not None and (best is None or unit.rank < best[0].rank):
                best = unit, asked
        return best

    def _shelve(self, demand_of: Callable[[Unit], Demand]) -> None:
        """Put on shelves what has come or changed since the last search."""
        if self._entries + len(self._fresh) > 2 * self.live + SMALL:
            self._fresh = list(self)
            self._shelves, self._asked, self._entries = {}, {}, 0
        for unit in self._fresh:
            if unit.state is not UnitState.QUEUED:
                continue
            asked = self._asked[unit] = demand_of(unit)
            shelf = self._shelves.get(asked)
            if shelf is None:
                shelf = self._shelves[asked] = _Shelf(asked)
            shelf.add(unit)
            self._entries += 1
        self._fresh.clear()


class _Shelf:
    """Units that ask the same, in order, with dead entries among them."""

    def __init__(self, asked: Demand) -> None:
        self._demand = asked
        self._line: list[tuple[int, Unit]] = []
        self._shortest: list[tuple[int, int, Unit]] = []

    def add(self, unit: Unit) -> None:
        """Put a unit at its place."""
        entry, line = (unit.rank, unit), self._line
        if not line or unit.rank > line[-1][0]:
            line.append(entry)
        else:
            place = bisect_left(line, unit.rank, key=itemgetter(0))
            if line[place][1] is not unit:
                line.insert(place, entry)
        heapq.heappush(self._shortest, (micros(unit.duration), unit.rank, unit))

    def first(self, longest: int, asked: Mapping[Unit, Demand]) -> Unit | None:
        """The first living unit that runs no longer than so many microseconds."""
        shortest = self._shortest
        while shortest:
            duration, rank, unit = shortest[0]
            if self._lives(rank, unit, asked) and micros(unit.duration) == duration:
                break
            heapq.heappop(shortest)
        if not shortest or shortest[0][0] > longest:
            return None
        self._line = line = [entry for entry in self._line if self._lives(*entry, asked)]
        return next((unit for _, unit in line if micros(unit.duration) <= longest), None)

    def _lives(self, rank: int, unit: Unit, asked: Mapping[Unit, Demand]) -> bool:
        queued = unit.state is UnitState.QUEUED and unit.rank == rank
        return queued and asked.get(unit) == self._demand


def _covers(have: Mapping[int, int], amounts: Amounts) -> bool:
    return all(have.get(column, 0) >= amount for column, amount in amounts)
