"""Groups of unschedulable units with the same cause; FIFO within a group."""

import heapq
from collections.abc import Iterator
from typing import Final, NamedTuple

from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit

SMALL: Final = 64
"""Number of dead entries below which a sweep is not worthwhile."""


LOWEST: Final = -(1 << 31)
"""The lowest priority."""


class WaitGroupKey(NamedTuple):
    """Common properties of the units of a wait group."""

    #: Class that must fit.
    class_id: int
    #: ``Cure`` bits that may help.
    cures: int
    #: Queue of the units.
    queue: str
    #: Minimum number of pods of the class that must fit before an attempt is useful.
    need: int
    #: True if pods of other classes must fit, too.
    mixed: bool


class WaitGroup:
    """Units of one class and queue with the same cures and the same need."""

    def __init__(self, number: int, key: WaitGroupKey, now: float) -> None:
        """Start empty."""
        #: Number of the group; never reused.
        self.number: int = number
        #: Common properties of its units.
        self.key: WaitGroupKey = key
        #: Heap by rank of the units that may wake, and of dead entries.
        self.entries: list[tuple[int, Unit]] = []
        #: Units tried since the last event that may cure them; capacity that another unit did not
        #: use does not wake them.
        self.tried: list[tuple[int, Unit]] = []
        #: Number of units.
        self.live: int = 0
        #: Upper bound of the priorities of its units.
        self.top: int = LOWEST
        #: True if an event may have been missed or capacity is unused: probe at the next
        #: opportunity.
        self.suspect: bool = False
        #: True if the last probe was wrong: wake all units at the next opportunity.
        self.forced: bool = False
        #: Clock time of the last probe or safety check.
        self.checked: float = now

    def is_alive(self, rank: int, unit: Unit) -> bool:
        """Return whether an entry is alive."""
        alive = unit.state is UnitState.UNSCHEDULABLE
        return alive and unit.wait_group == self.number and unit.rank == rank

    def __iter__(self) -> Iterator[Unit]:
        """The units, by rank."""
        seen: set[Unit] = set()
        for rank, unit in heapq.merge(sorted(self.entries), sorted(self.tried)):
            if unit not in seen and self.is_alive(rank, unit):
                seen.add(unit)
                yield unit

    def first(self) -> Unit | None:
        """The first unit that may wake; drops dead entries."""
        entries = self.entries
        while entries:
            if self.is_alive(*entries[0]):
                return entries[0][1]
            heapq.heappop(entries)
        return None

    def units_above(self, priority: int) -> list[tuple[int, Unit]]:
        """The entries that may wake and have a higher priority; updates ``top``."""
        alive = [entry for entry in self.entries if self.is_alive(*entry)]
        tried = (unit.priority for rank, unit in self.tried if self.is_alive(rank, unit))
        self.top = max([*(unit.priority for _, unit in alive), *tried], default=LOWEST)
        return [entry for entry in alive if entry[1].priority > priority]

    def drop(self, unit: Unit) -> None:
        """Drop the entries of a unit that wakes out of order."""
        self.entries = [entry for entry in self.entries if entry[1] is not unit]
        heapq.heapify(self.entries)

    def reset(self) -> None:
        """Make all units eligible to wake after an event."""
        for entry in self.tried:
            heapq.heappush(self.entries, entry)
        self.tried.clear()

    def sweep(self) -> None:
        """Drop dead entries once they outnumber the units."""
        if len(self.entries) + len(self.tried) > 2 * self.live + SMALL:
            self.entries = sorted({entry for entry in self.entries if self.is_alive(*entry)})
            self.tried = sorted({entry for entry in self.tried if self.is_alive(*entry)})
