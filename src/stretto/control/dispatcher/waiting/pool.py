"""Where units wait for something other than their turn: a cure, or the end of a delay.

Sleepers lie in wards, by class, cures, queue and need. An event touches the wards, not
the sleepers: each class that the event may cure is probed once, and as many of its units are woken
as could fit, so a million sleepers of a few classes cost nothing until one of them has a chance.

A class that was found to fit nowhere is *closed* until an event may have changed that; units of
such a class need no shard to be told so.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final

from stretto.control.dispatcher.waiting.wait_groups import WaitGroup, WaitGroupKey
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Cure, Unit

Probe = Callable[[int], int]
"""From a class id to an upper bound of how many pods of it fit now."""

Asks = Callable[[int], bool]
"""From a class id to whether it wants something of pods that came to nodes lately."""

Standing = Callable[[str, int, int], tuple[object, ...]]
"""(queue, class id, pods more) to how the queue would stand: the least is woken first."""

NO_CLASS: Final = -1
"""Class id of units for whose "no" no class is to blame: their wards cannot be probed."""


class WaitingUnits:
    """All sleepers, by ward."""

    def __init__(self, safety_net: float) -> None:
        """Start with nobody; ``safety_net`` is the longest time between two looks at a ward."""
        #: Who goes before whom between queues; ``None`` where the rank alone decides.
        self.standing: Standing | None = None
        #: Classes that fit nowhere since they were last tried: (``Cure`` bits, priority) by id.
        self.closed: dict[int, tuple[int, int]] = {}
        #: Count of batches of events seen.
        self.tick: int = 0
        self._safety_net = safety_net
        self._wait_groups: dict[int, WaitGroup] = {}
        self._by_key: dict[WaitGroupKey, WaitGroup] = {}
        self._of_class: dict[int, list[WaitGroup]] = {}
        #: Classes with their number of wards by the ``Cure`` bit that may help them.
        self._waiting_by_event: dict[int, dict[int, int]] = {}
        #: Number of the first ward of each class: the order in which classes are looked at.
        self._since: dict[int, int] = {}
        #: Classes that may have wards under suspicion.
        self._suspected: set[int] = set()
        self._next_number = 0
        self._suspects = 0
        self._check_at = inf
        #: Woken units that have no place yet: for which class, and whether on suspicion only.
        self._woken_units: dict[Unit, tuple[int, bool]] = {}
        self._last_seen: dict[int, int] = {}

    def __len__(self) -> int:
        """How many units sleep."""
        return sum(ward.live for ward in self._wait_groups.values())

    def __iter__(self) -> Iterator[Unit]:
        """Every sleeper."""
        for ward in self._wait_groups.values():
            seen: set[Unit] = set()
            for rank, unit in (*ward.entries, *ward.tried):
                if unit not in seen and ward.is_asleep(rank, unit):
                    seen.add(unit)
                    yield unit

    @property
    def is_watching(self) -> bool:
        """Whether it matters what becomes of units that were woken."""
        return bool(self._woken_units)

    def firsts(self, most: int) -> dict[str, list[Unit]]:
        """The first sleepers of each queue, so many at most."""
        found: dict[str, list[tuple[int, Unit]]] = {}
        for ward in self._wait_groups.values():
            first = heapq.nsmallest(most, ward.entries) + ward.tried[:most]
            found.setdefault(ward.key.queue, []).extend(
                entry for entry in first if ward.is_asleep(*entry)
            )
        return {
            queue: [unit for _, unit in sorted(entries, key=lambda entry: entry[0])[:most]]
            for queue, entries in found.items()
        }

    def stuck(self, queue: str) -> list[Unit]:
        """Units that were woken and wait in a queue that gives nothing out now."""
        return [u for u in self._woken_units if u.queue == queue and u.state is UnitState.QUEUED]

    def counts(self) -> dict[int, int]:
        """Sleepers by class id."""
        found: dict[int, int] = {}
        for ward in self._wait_groups.values():
            found[ward.key.class_id] = found.get(ward.key.class_id, 0) + ward.live
        return found

    # ------------------------------------------------------------ in and out

    def add(self, unit: Unit, key: WaitGroupKey, now: float, tried: bool) -> None:
        """Put a unit to sleep, tried by a shard or not."""
        ward = self._by_key.get(key) or self._open(key, now)
        unit.ward = ward.number
        ward.live += 1
        missed = tried and self.has_missed(unit)
        if tried and not missed:
            ward.tried.append((unit.rank, unit))
        else:
            heapq.heappush(ward.entries, (unit.rank, unit))
        if missed:
            self._suspect(ward)
        self.left(unit)

    def discard(self, unit: Unit) -> None:
        """Count out a unit that wakes otherwise than by a cure, once its state says so."""
        ward = self._wait_groups[unit.ward]
        unit.ward = -1
        self._drop_sleeper(ward)
        ward.sweep()

    def key_of(self, unit: Unit) -> WaitGroupKey:
        """What a sleeper waits for."""
        return self._wait_groups[unit.ward].key

    def has_missed(self, unit: Unit) -> bool:
        """Whether an event that may cure the unit came after it was sent to its shard."""
        if self.tick == unit.tick:
            return False
        return any(tick > unit.tick for bit, tick in self._last_seen.items() if bit & unit.cures)

    def close(self, unit: Unit) -> None:
        """The class to blame fits nowhere at all: its units need not be tried until a cure."""
        if unit.blame != NO_CLASS and not self.has_missed(unit):
            self.closed[unit.blame] = (unit.cures, unit.priority)

    def left(self, unit: Unit) -> None:
        """A unit that was woken goes without a place: the room it was woken for may serve others.

        Where the class itself has no room left there is nothing to serve.
        """
        class_id, _ = self._woken_units.pop(unit, (NO_CLASS, False))
        if class_id != NO_CLASS and class_id not in self.closed:
            self._probe_again(class_id, forced=False)

    def placed(self, unit: Unit) -> None:
        """A unit got a place; if it was woken on suspicion only, the probe was wrong."""
        class_id, is_canary = self._woken_units.pop(unit, (NO_CLASS, False))
        if is_canary:
            self._probe_again(class_id, forced=True)

    # ------------------------------------------------------------ waking

    def cured(self, cures: int, probe: Probe, now: float, asks: Asks | None = None) -> list[Unit]:
        """Take out the sleepers that the events may have cured, in the order of their ranks.

        Where nothing but pods that came may help, ``asks`` says whom they concern.
        """
        if cures:
            self._note(cures)
        woken: list[Unit] = []
        if not self._wait_groups or not (cures or self._suspects):
            return woken
        for class_id in self._affected_classes(cures):
            wards = self._of_class[class_id]
            touched = [ward for ward in wards if ward.suspect or ward.key.cures & cures]
            if asks is not None and class_id != NO_CLASS and self._is_aside(touched, cures):
                touched = touched if asks(class_id) else []
            for ward in touched:
                ward.checked = now
                if ward.key.cures & cures or ward.forced:
                    ward.reset()
            if touched:
                self._cure(class_id, touched, probe, woken)
        return woken

    def _affected_classes(self, cures: int) -> list[int]:
        """Classes that wait for any of the events or are under suspicion."""
        found, self._suspected = self._suspected, set()
        for bit in _bits(cures):
            found.update(self._waiting_by_event.get(bit, ()))
        return sorted((each for each in found if each in self._since), key=self._since.__getitem__)

    def _is_aside(self, touched: Iterable[WaitGroup], cures: int) -> bool:
        """Whether nothing but pods that came speaks for these wards."""
        return all(
            not ward.suspect and not ward.key.mixed and ward.key.cures & cures == Cure.POD_PLACED
            for ward in touched
        )

    def overdue(self, now: float) -> list[Unit]:
        """Take the first sleeper out of each ward that no event has touched for too long."""
        woken: list[Unit] = []
        if now < self._check_at:
            return woken
        for ward in list(self._wait_groups.values()):
            if ward.checked + self._safety_net > now:
                continue
            ward.checked = now
            ward.reset()
            self.closed.pop(ward.key.class_id, None)
            unit = self._take(ward)
            if unit is not None:
                self._woken_units[unit] = (ward.key.class_id, True)
                woken.append(unit)
        checks = [ward.checked for ward in self._wait_groups.values()]
        self._check_at = min(checks, default=inf) + self._safety_net
        return woken

    def next_check(self) -> float:
        """The earliest time at which a sleeper may be woken without an event."""
        if self._suspects:
            return -inf
        return self._check_at if self._wait_groups else inf

    def _cure(self, class_id: int, wards: list[WaitGroup], probe: Probe, woken: list[Unit]) -> None:
        """Probe one class and wake as many of its units as may fit, the first by rank first.

        Whoever needs k pods of room takes at least k, or fails and so proves that there is room for
        fewer than k. So a unit is left asleep when those woken with no greater needs would, placed,
        leave too little for it: then it has no chance whatever becomes of them. Units of several
        classes, for which the room of one says little, are all tried.
        """
        everybody = class_id == NO_CLASS or any(ward.forced for ward in wards)
        room = 1 << 62 if everybody else probe(class_id)
        for ward in wards:
            if ward.suspect:
                ward.suspect = ward.forced = False
                self._suspects -= 1
        if room <= 0:
            return
        self.closed.pop(class_id, None)
        fitting = [ward for ward in wards if ward.key.need <= room]
        ahead, taken = self._ahead(class_id, fitting), dict[int, int]()
        while (first := _first_group(fitting, ahead)) is not None:
            need, mixed = first.key.need, first.key.mixed
            if not mixed and need + sum(n for k, n in taken.items() if k <= need) > room:
                fitting.remove(first)
                continue
            unit = self._take(first)
            if unit is None:
                return
            if ahead is not None:
                ahead.woken(first.key.queue, len(unit.pending))
            woken.append(unit)
            self._woken_units[unit] = (class_id, False)
            if not mixed:
                taken[need] = taken.get(need, 0) + (need if need > 1 else len(unit.pending))

    def _ahead(self, class_id: int, wards: list[WaitGroup]) -> "_WokenUsage | None":
        """Who goes before whom, where there are several queues to choose from."""
        if self.standing is None or class_id == NO_CLASS:
            return None
        queues = {ward.key.queue for ward in wards}
        return _WokenUsage(self.standing, class_id, queues) if len(queues) > 1 else None

    def _take(self, ward: WaitGroup) -> Unit | None:
        """Take out the first sleeper that may be woken; its state is left to the caller."""
        unit = ward.first()
        if unit is not None:
            heapq.heappop(ward.entries)
            unit.ward = -1
            self._drop_sleeper(ward)
        return unit

    # ------------------------------------------------------------ wards

    def _note(self, cures: int) -> None:
        self.tick += 1
        for bit in _bits(cures):
            self._last_seen[bit] = self.tick

    def _open(self, key: WaitGroupKey, now: float) -> WaitGroup:
        ward = WaitGroup(self._next_number, key, now)
        self._next_number += 1
        self._by_key[key] = self._wait_groups[ward.number] = ward
        self._of_class.setdefault(key.class_id, []).append(ward)
        self._since.setdefault(key.class_id, ward.number)
        for bit in _bits(key.cures):
            asking = self._waiting_by_event.setdefault(bit, {})
            asking[key.class_id] = asking.get(key.class_id, 0) + 1
        self._check_at = min(self._check_at, now + self._safety_net)
        return ward

    def _probe_again(self, class_id: int, forced: bool) -> None:
        for ward in self._of_class.get(class_id, ()):
            ward.forced = ward.forced or forced
            if forced or ward.entries:
                self._suspect(ward)

    def _suspect(self, ward: WaitGroup) -> None:
        self._suspected.add(ward.key.class_id)
        if not ward.suspect:
            ward.suspect = True
            self._suspects += 1

    def _drop_sleeper(self, ward: WaitGroup) -> None:
        """One sleeper fewer; an empty ward is taken down, its dead entries with it."""
        ward.live -= 1
        if ward.live > 0:
            return
        if ward.suspect:
            self._suspects -= 1
            ward.suspect = False
        del self._wait_groups[ward.number], self._by_key[ward.key]
        others = self._of_class[ward.key.class_id]
        others.remove(ward)
        for bit in _bits(ward.key.cures):
            asking = self._waiting_by_event[bit]
            asking[ward.key.class_id] -= 1
            if not asking[ward.key.class_id]:
                del asking[ward.key.class_id]
        if not others:
            del self._of_class[ward.key.class_id], self._since[ward.key.class_id]
            self.closed.pop(ward.key.class_id, None)


class _WokenUsage:
    """How much each queue would have with what was woken of it; the least goes first."""

    def __init__(self, standing: Standing, class_id: int, queues: Iterable[str]) -> None:
        self._standing = standing
        self._class_id = class_id
        self._woken = dict.fromkeys(queues, 0)
        #: By queue.
        self.share = {queue: standing(queue, class_id, 0) for queue in self._woken}

    def woken(self, queue: str, pods: int) -> None:
        """So many more pods of a queue were woken."""
        self._woken[queue] += pods
        self.share[queue] = self._standing(queue, self._class_id, self._woken[queue])


def _bits(cures: int) -> Iterator[int]:
    """The bits that are set."""
    while cures:
        bit = cures & -cures
        yield bit
        cures ^= bit


def _first_group(wards: list[WaitGroup], ahead: _WokenUsage | None) -> WaitGroup | None:
    """Where the next sleeper lies of those that may be woken: the smallest share, then rank."""
    best: WaitGroup | None = None
    first: tuple[tuple[object, ...], int] | None = None
    for ward in wards:
        key = ward.key
        if ward.live:
            unit = ward.first()
            if unit is None:
                continue
            place = (() if ahead is None else ahead.share[key.queue], unit.rank)
            if first is None or place < first:
                best, first = ward, place
    return best
