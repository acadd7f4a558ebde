"""Wards of the waiting room: units that sleep for the same reasons, first come first woken."""

import heapq
from typing import Final, NamedTuple

from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Unit

SMALL: Final = 64
"""Dead entries that are not worth sweeping."""


class WaitGroupKey(NamedTuple):
    """What the sleepers of a ward have in common."""

    #: Class that must fit.
    class_id: int
    #: ``Cure`` bits that may help.
    cures: int
    #: Their queue.
    queue: str
    #: As few pods of the class must fit for an attempt to make sense.
    need: int
    #: Pods of other classes must fit too.
    mixed: bool


class WaitGroup:
    """Sleepers of one class that wait for the same events in one queue and need equally much."""

    def __init__(self, number: int, key: WaitGroupKey, now: float) -> None:
        """Open it empty."""
        #: Its number; never given twice.
        self.number: int = number
        #: What its sleepers have in common.
        self.key: WaitGroupKey = key
        #: Sleepers that may be woken, and dead entries, by rank: a heap.
        self.entries: list[tuple[int, Unit]] = []
        #: Sleepers that were tried since the last event that may cure them: room that another
        #: unit leaves unused is not for them.
        self.tried: list[tuple[int, Unit]] = []
        #: Sleepers in it.
        self.live: int = 0
        #: An event may have been missed, or room left unused: probe at the next chance.
        self.suspect: bool = False
        #: The probe was proved wrong: wake everybody at the next chance.
        self.forced: bool = False
        #: Clock time of the last probe or safety check.
        self.checked: float = now

    def is_asleep(self, rank: int, unit: Unit) -> bool:
        """Whether an entry is alive."""
        asleep = unit.state is UnitState.UNSCHEDULABLE
        return asleep and unit.ward == self.number and unit.rank == rank

    def first(self) -> Unit | None:
        """The first sleeper that may be woken; dead entries are dropped."""
        entries = self.entries
        while entries:
            if self.is_asleep(*entries[0]):
                return entries[0][1]
            heapq.heappop(entries)
        return None

    def reset(self) -> None:
        """An event has come: everybody may be woken again."""
        for entry in self.tried:
            heapq.heappush(self.entries, entry)
        self.tried.clear()

    def sweep(self) -> None:
        """Drop dead entries once they outnumber the sleepers."""
        if len(self.entries) + len(self.tried) > 2 * self.live + SMALL:
            self.entries = sorted({entry for entry in self.entries if self.is_asleep(*entry)})
            self.tried = sorted({entry for entry in self.tried if self.is_asleep(*entry)})
