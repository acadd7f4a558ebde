"""Where units wait for something other than their turn: a cure, or the end of a delay.

Sleepers lie in wards, one for each (class, cures, queue, need). An event touches the wards, not
the sleepers: each class that the event may cure is probed once, and as many of its units are woken
as could fit, so a million sleepers of a few classes cost nothing until one of them has a chance.

A class that was found to fit nowhere is *closed* until an event may have changed that; units of
such a class need no shard to be told so.
"""

import heapq
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from stretto.state.lifecycle import UnitState
from stretto.state.units import Unit

Probe = Callable[[int], int]
"""From a class id to an upper bound of how many pods of it fit now."""

NO_CLASS: Final = -1
"""Class id of units for whose "no" no class is to blame: their wards cannot be probed."""


class Ward:
    """Sleepers of one class that wait for the same events in one queue and need equally much."""

    __slots__ = ("beds", "checked", "class_id", "cures", "forced", "key", "live", "need", "suspect")

    def __init__(self, key: tuple[int, int, str, int], now: float) -> None:
        """Open it empty."""
        self.class_id, self.cures, _, self.need = key
        #: (class, cures, queue, need).
        self.key: tuple[int, int, str, int] = key
        #: Sleepers and dead entries by rank, a heap.
        self.beds: list[tuple[int, Unit]] = []
        #: Sleepers in it.
        self.live: int = 0
        #: An event may have been missed: probe at the next chance, whatever the event.
        self.suspect: bool = False
        #: The probe was proved wrong: wake everybody at the next chance.
        self.forced: bool = False
        #: Clock time of the last probe or safety check.
        self.checked: float = now

    def first(self, number: int) -> Unit | None:
        """The first sleeper, dead entries dropped; ``number`` is the ward's own."""
        beds = self.beds
        while beds:
            rank, unit = beds[0]
            asleep = unit.state is UnitState.UNSCHEDULABLE
            if asleep and unit.ward == number and unit.rank == rank:
                return unit
            heapq.heappop(beds)
        return None


class WaitingRoom:
    """All sleepers, by ward."""

    def __init__(self, safety_net: float) -> None:
        """Start with nobody; ``safety_net`` is the longest time between two looks at a ward."""
        #: Classes that fit nowhere since they were last tried: (``Cure`` bits, priority) by id.
        self.closed: dict[int, tuple[int, int]] = {}
        #: Count of batches of events seen.
        self.tick: int = 0
        self._safety_net = safety_net
        self._wards: dict[int, Ward] = {}
        self._numbers: dict[tuple[int, int, str, int], int] = {}
        self._of_class: dict[int, list[int]] = {}
        self._next_number = 0
        self._suspects = 0
        self._check_at = inf
        self._canaries: dict[Unit, int] = {}
        self._last_seen: dict[int, int] = {}

    def __len__(self) -> int:
        """How many units sleep."""
        return sum(ward.live for ward in self._wards.values())

    def __iter__(self) -> Iterator[Unit]:
        """Every sleeper."""
        for number, ward in self._wards.items():
            seen: set[Unit] = set()
            for rank, unit in ward.beds:
                asleep = unit.state is UnitState.UNSCHEDULABLE and unit.ward == number
                if asleep and unit.rank == rank and unit not in seen:
                    seen.add(unit)
                    yield unit

    @property
    def has_canaries(self) -> bool:
        """Whether units were woken on suspicion only and are watched."""
        return bool(self._canaries)

    def counts(self) -> dict[int, int]:
        """Sleepers by class id."""
        found: dict[int, int] = {}
        for ward in self._wards.values():
            found[ward.class_id] = found.get(ward.class_id, 0) + ward.live
        return found

    # ------------------------------------------------------------ in and out

    def add(self, unit: Unit, need: int, now: float) -> None:
        """Put a unit to sleep by its ``blame`` and ``cures``."""
        key = (unit.blame, unit.cures, unit.queue, need)
        number = self._numbers.get(key)
        if number is None:
            number = self._open(key, now)
        ward = self._wards[number]
        unit.ward = number
        ward.live += 1
        heapq.heappush(ward.beds, (unit.rank, unit))
        if self.has_missed(unit):
            self._suspect(ward)

    def discard(self, unit: Unit) -> None:
        """Count out a unit that wakes otherwise than by a cure, once its state says so."""
        number, unit.ward = unit.ward, -1
        self._count_out(number)

    def need_of(self, unit: Unit) -> int:
        """How many pods together a sleeper needed when it went to sleep."""
        return self._wards[unit.ward].need

    def has_missed(self, unit: Unit) -> bool:
        """Whether an event that may cure the unit came after it was sent to its shard."""
        if self.tick == unit.tick:
            return False
        return any(tick > unit.tick for bit, tick in self._last_seen.items() if bit & unit.cures)

    def close(self, unit: Unit) -> None:
        """The class to blame fits nowhere at all: its units need not be tried until a cure."""
        if unit.blame != NO_CLASS and not self.has_missed(unit):
            self.closed[unit.blame] = (unit.cures, unit.priority)

    def reopen(self, class_id: int) -> None:
        """A unit that could have used room for this class is gone: look again for the others."""
        for number in self._of_class.get(class_id, ()):
            self._suspect(self._wards[number])

    def placed(self, unit: Unit) -> None:
        """A unit got a place; if it was woken on suspicion only, the probe was wrong."""
        class_id = self._canaries.pop(unit, None)
        if class_id is not None:
            for number in self._of_class.get(class_id, ()):
                self._wards[number].forced = True
                self._suspect(self._wards[number])

    # ------------------------------------------------------------ waking

    def cured(self, cures: int, probe: Probe, now: float) -> list[Unit]:
        """Take out the sleepers that the events may have cured, in the order of their ranks."""
        if cures:
            self._note(cures)
        woken: list[Unit] = []
        if not self._wards or not (cures or self._suspects):
            return woken
        for class_id, numbers in list(self._of_class.items()):
            wards = [self._wards[n] for n in numbers]
            touched = [ward for ward in wards if ward.suspect or ward.cures & cures]
            if touched:
                self._cure(class_id, touched, probe, woken)
                for ward in touched:
                    ward.checked = now
        return woken

    def overdue(self, now: float) -> list[Unit]:
        """Take the first sleeper out of each ward that no event has touched for too long."""
        woken: list[Unit] = []
        if now < self._check_at:
            return woken
        self._canaries.clear()
        for number, ward in list(self._wards.items()):
            if ward.checked + self._safety_net > now:
                continue
            ward.checked = now
            self.closed.pop(ward.class_id, None)
            unit = self._take(number)
            if unit is not None:
                self._canaries[unit] = ward.class_id
                woken.append(unit)
        checks = [ward.checked for ward in self._wards.values()]
        self._check_at = min(checks, default=inf) + self._safety_net
        return woken

    def next_check(self) -> float:
        """The earliest time at which a sleeper may be woken without an event."""
        if self._suspects:
            return -inf
        return self._check_at if self._wards else inf

    def _cure(self, class_id: int, wards: list[Ward], probe: Probe, woken: list[Unit]) -> None:
        everybody = class_id == NO_CLASS or any(ward.forced for ward in wards)
        room = 1 << 62 if everybody else probe(class_id)
        for ward in wards:
            if ward.suspect:
                ward.suspect = ward.forced = False
                self._suspects -= 1
        if room <= 0:
            return
        self.closed.pop(class_id, None)
        numbers = [self._numbers[ward.key] for ward in wards]
        while room > 0:
            fitting = [n for n in numbers if n in self._wards and self._wards[n].need <= room]
            if not fitting:
                return
            number = min(fitting, key=self._first_rank)
            need = self._wards[number].need
            unit = self._take(number)
            if unit is not None:
                woken.append(unit)
                room -= need if unit.is_gang else len(unit.pending)

    def _first_rank(self, number: int) -> float:
        unit = self._wards[number].first(number)
        return inf if unit is None else unit.rank

    def _take(self, number: int) -> Unit | None:
        """Take the first sleeper of a ward; its state is left to the caller."""
        ward = self._wards[number]
        unit = ward.first(number)
        if unit is not None:
            heapq.heappop(ward.beds)
            unit.ward = -1
        self._count_out(number)
        return unit

    # ------------------------------------------------------------ wards

    def _note(self, cures: int) -> None:
        self.tick += 1
        bit = 1
        while bit <= cures:
            if bit & cures:
                self._last_seen[bit] = self.tick
            bit <<= 1

    def _open(self, key: tuple[int, int, str, int], now: float) -> int:
        number = self._next_number
        self._next_number += 1
        self._numbers[key] = number
        self._wards[number] = Ward(key, now)
        self._of_class.setdefault(key[0], []).append(number)
        self._check_at = min(self._check_at, now + self._safety_net)
        return number

    def _suspect(self, ward: Ward) -> None:
        if not ward.suspect:
            ward.suspect = True
            self._suspects += 1

    def _count_out(self, number: int) -> None:
        """One sleeper fewer; an empty ward is taken down, its dead entries with it."""
        ward = self._wards[number]
        ward.live -= 1
        if ward.live > 0:
            if len(ward.beds) > 2 * ward.live + 64:
                ward.beds = sorted({bed for bed in ward.beds if bed[1].ward == number})
            return
        if ward.suspect:
            self._suspects -= 1
        del self._wards[number], self._numbers[ward.key]
        others = self._of_class[ward.class_id]
        others.remove(number)
        if not others:
            del self._of_class[ward.class_id]
            self.closed.pop(ward.class_id, None)


class Delays:
    """Units that wait for a time: those in back-off, or gangs with a deadline."""

    def __init__(self) -> None:
        """Start with none."""
        self._heap: list[tuple[float, int, Unit]] = []

    def add(self, unit: Unit, until: float) -> None:
        """Come back to a unit at this time."""
        heapq.heappush(self._heap, (until, unit.sequence, unit))

    def pop_due(self, now: float) -> list[tuple[float, Unit]]:
        """Entries whose time has come, the earliest first; the caller knows which still count."""
        found: list[tuple[float, Unit]] = []
        while self._heap and self._heap[0][0] <= now:
            until, _, unit = heapq.heappop(self._heap)
            found.append((until, unit))
        return found

    def next_due(self, counts: Callable[[float, Unit], bool]) -> float:
        """The earliest time that still counts; entries before it are dropped."""
        while self._heap and not counts(self._heap[0][0], self._heap[0][2]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else inf
