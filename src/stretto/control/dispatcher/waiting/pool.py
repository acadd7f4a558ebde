"""Unschedulable units, which wait for a cure.

Units are grouped by class, cures, queue and need. An event touches the groups, not the units: each
class that the event may cure is probed once, and only as many of its units wake as could fit. A
million unschedulable units of a few classes cost nothing until one of them may fit.

A class that fits nowhere is *closed* until an event may change that; units of a closed class are
parked without an attempt at a shard.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf
from typing import Final, NamedTuple

from stretto.control.dispatcher.waiting.wait_groups import WaitGroup, WaitGroupKey
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import BY_EVICTION, Cure, Unit

Probe = Callable[[int], int]
"""Maps a class id to an upper bound of the pods of the class that fit now."""

Requesters = Callable[[int], bool]
"""Predicate on a class id.

A rule of the class selects pods that were placed since the last call.
"""

Standing = Callable[[str, int, int], tuple[object, ...]]
"""Maps (queue, class id, additional pods) to the sort key of the queue.

The smallest wakes first.
"""

NO_CLASS: Final = -1
"""Class id of units without one blamed class: their wait groups cannot be probed."""


class ClosedClass(NamedTuple):
    """A class that fitted nowhere at its last attempt."""

    #: ``Cure`` bits of the failure.
    cures: int
    #: Priority of the unit that failed; units of higher priority are tried.
    priority: int
    #: Queue whose units are not tried; empty for every queue.
    queue: str

    def holds_back(self, unit: Unit) -> bool:
        """Return whether an attempt to place a unit is useless."""
        return unit.priority <= self.priority and self.queue in ("", unit.queue)


class WaitingUnits:
    """All unschedulable units, by wait group."""

    def __init__(self, safety_net: float) -> None:
        """Start empty; after ``safety_net`` seconds without an event a wait group is retried."""
        #: The order between queues; ``None`` if the rank alone decides.
        self.standing: Standing | None = None
        #: Classes that fitted nowhere at their last attempt, by class id.
        self.closed: dict[int, ClosedClass] = {}
        #: Number of event batches so far.
        self.tick: int = 0
        self._safety_net = safety_net
        self._wait_groups: dict[int, WaitGroup] = {}
        self._by_key: dict[WaitGroupKey, WaitGroup] = {}
        self._of_class: dict[int, list[WaitGroup]] = {}
        #: By ``Cure`` bit: classes that the event may cure, with the number of their wait groups.
        self._waiting_by_event: dict[int, dict[int, int]] = {}
        #: Number of the first wait group of each class: the order in which classes are probed.
        self._since: dict[int, int] = {}
        #: Classes that may have suspect wait groups.
        self._suspected: set[int] = set()
        self._next_number = 0
        self._suspects = 0
        #: Clock time before which no wait group is overdue; infinity for none.
        self.check_at = inf
        #: By class: priority above which units may still wake although the class is closed.
        self._above: dict[int, int] = {}
        #: Woken units without a placement, with their class and true if the safety net woke them.
        self.woken_units: dict[Unit, tuple[int, bool]] = {}
        self._last_seen: dict[int, int] = {}

    def __len__(self) -> int:
        """Number of unschedulable units."""
        return sum(group.live for group in self._wait_groups.values())

    def __iter__(self) -> Iterator[Unit]:
        """Every unschedulable unit."""
        for group in self._wait_groups.values():
            seen: set[Unit] = set()
            for rank, unit in (*group.entries, *group.tried):
                if unit not in seen and group.is_alive(rank, unit):
                    seen.add(unit)
                    yield unit

    def equal_units(self, queues: Collection[str]) -> list[Iterator[Unit]]:
        """Units of these queues grouped by need.

        The units of one group are equal and ordered by rank.

        A unit of several classes forms its own group.
        """
        found: list[tuple[int, Iterator[Unit]]] = []
        for group in self._wait_groups.values():
            if group.key.queue not in queues:
                continue
            if group.key.mixed or group.key.class_id == NO_CLASS:
                found += [(unit.rank, iter((unit,))) for unit in group]
            else:
                first = next(iter(group), None)
                if first is not None:
                    found.append((first.rank, iter(group)))
        return [units for _, units in sorted(found, key=lambda each: each[0])]

    def stuck(self, queue: str) -> list[Unit]:
        """Woken units in a queue that dispatches nothing now."""
        return [u for u in self.woken_units if u.queue == queue and u.state is UnitState.QUEUED]

    def is_canary(self, unit: Unit) -> bool:
        """Return whether the safety net, not an event, woke a unit.

        Then a failed attempt does not mean that a cure failed.
        """
        return self.woken_units.get(unit, (NO_CLASS, False))[1]

    def counts(self) -> dict[int, int]:
        """Number of unschedulable units by class id."""
        found: dict[int, int] = {}
        for group in self._wait_groups.values():
            found[group.key.class_id] = found.get(group.key.class_id, 0) + group.live
        return found

    # ------------------------------------------------------------ add and remove

    def add(self, unit: Unit, key: WaitGroupKey, now: float, tried: bool) -> None:
        """Add a unit; ``tried`` is true if a shard tried it."""
        group = self._by_key.get(key) or self._open(key, now)
        unit.wait_group = group.number
        group.live += 1
        group.top = max(group.top, unit.priority)
        missed = tried and self.has_missed(unit)
        if tried and not missed:
            group.tried.append((unit.rank, unit))
        else:
            heapq.heappush(group.entries, (unit.rank, unit))
        if missed:
            self._suspect(group)
        self.not_placed(unit)

    def discard(self, unit: Unit) -> None:
        """Remove a unit that wakes without a cure, after its state has changed."""
        group = self._wait_groups[unit.wait_group]
        unit.wait_group = -1
        self._drop_unit(group)
        group.sweep()

    def key_of(self, unit: Unit) -> WaitGroupKey:
        """The key of a unit's wait group."""
        return self._wait_groups[unit.wait_group].key

    def has_missed(self, unit: Unit) -> bool:
        """Return whether an event that may cure the unit arrived after its dispatch."""
        if self.tick == unit.tick:
            return False
        return any(tick > unit.tick for bit, tick in self._last_seen.items() if bit & unit.cures)

    def close(self, unit: Unit, *, by_queue: bool) -> None:
        """Close the blamed class: its units are not tried until a cure.

        Args:
            unit: the unit that fitted nowhere.
            by_queue: true if units of other queues may evict other pods and are therefore tried.
        """
        if unit.blocking_class != NO_CLASS and not self.has_missed(unit):
            queue = unit.queue if by_queue else ""
            self.closed[unit.blocking_class] = ClosedClass(unit.cures, unit.priority, queue)

    def not_placed(self, unit: Unit) -> None:
        """Process a woken unit that was not placed: the capacity may fit other units.

        If the class is closed, no capacity is left for its units, except that units of higher
        priority may preempt where this one may not.
        """
        class_id, _ = self.woken_units.pop(unit, (NO_CLASS, False))
        if class_id == NO_CLASS:
            return
        if class_id not in self.closed:
            self._probe_again(class_id, forced=False)
            return
        above = self.closed[class_id][1]
        if any(group.top > above for group in self._of_class.get(class_id, ())):
            self._above[class_id] = above
            self._probe_again(class_id, forced=False)

    def placed(self, unit: Unit) -> None:
        """Process a placed unit; if the safety net woke it, the last probe was wrong."""
        class_id, is_canary = self.woken_units.pop(unit, (NO_CLASS, False))
        if is_canary:
            self._probe_again(class_id, forced=True)

    # ------------------------------------------------------------ waking

    def cured(
        self, cures: int, probe: Probe, now: float, requesters: Requesters | None = None
    ) -> list[Unit]:
        """Remove and return the units that the events may have cured, by rank.

        If only placed pods may help, ``requesters`` selects the classes that they concern.
        """
        if cures:
            self._note(cures)
        woken: list[Unit] = []
        if not self._wait_groups or not (cures or self._suspects):
            return woken
        for class_id in self._affected_classes(cures):
            groups = self._of_class[class_id]
            touched = [group for group in groups if group.suspect or group.key.cures & cures]
            if requesters is not None and class_id != NO_CLASS and self._is_aside(touched, cures):
                touched = touched if requesters(class_id) else []
            for group in touched:
                group.checked = now
                if group.key.cures & cures or group.forced:
                    group.reset()
                    self._above.pop(class_id, None)
            if touched:
                self._cure(class_id, touched, probe, woken)
        return woken

    def _affected_classes(self, cures: int) -> list[int]:
        """Classes that wait for any of the events or are suspect."""
        found, self._suspected = self._suspected, set()
        for bit in _bits(cures):
            found.update(self._waiting_by_event.get(bit, ()))
        return sorted((each for each in found if each in self._since), key=self._since.__getitem__)

    def _is_aside(self, touched: Iterable[WaitGroup], cures: int) -> bool:
        """Return whether only a placed pod is a reason to check these wait groups."""
        return all(
            not group.suspect and not group.key.mixed and group.key.cures & cures == Cure.POD_PLACED
            for group in touched
        )

    def overdue(self, now: float) -> list[Unit]:
        """Remove the first unit of each wait group that no event has touched for too long."""
        woken: list[Unit] = []
        if now < self.check_at:
            return woken
        for group in list(self._wait_groups.values()):
            if group.checked + self._safety_net > now:
                continue
            group.checked = now
            group.reset()
            self.closed.pop(group.key.class_id, None)
            unit = self._take(group)
            if unit is not None:
                self.woken_units[unit] = (group.key.class_id, True)
                woken.append(unit)
        checks = [group.checked for group in self._wait_groups.values()]
        self.check_at = min(checks, default=inf) + self._safety_net
        return woken

    def next_check(self) -> float:
        """Earliest clock time at which a unit may wake without an event."""
        if self._suspects:
            return -inf
        return self.check_at if self._wait_groups else inf

    def _cure(
        self, class_id: int, groups: list[WaitGroup], probe: Probe, woken: list[Unit]
    ) -> None:
        """Probe one class and wake as many of its units as may fit, by rank.

        A unit that needs capacity for k pods either places at least k or fails, which proves that
        there is capacity for fewer than k. Therefore a unit is not woken if the woken units with
        equal or smaller needs would, once placed, leave too little capacity for it. Units of
        several classes are all woken, because the probe of one class does not bound them. If
        evictions may help, the first unit of each wait group is woken, regardless of its needs.
        """
        all_units = class_id == NO_CLASS or any(group.forced for group in groups)
        capacity = BY_EVICTION - 1 if all_units else probe(class_id)
        for group in groups:
            if group.suspect:
                group.suspect = group.forced = False
                self._suspects -= 1
        above = self._above.pop(class_id, None)
        if capacity <= 0:
            return
        if above is not None and class_id in self.closed:
            self._wake_above(class_id, groups, above, woken)
            return
        self.closed.pop(class_id, None)
        untried = set(groups) if capacity >= BY_EVICTION else set[WaitGroup]()
        capacity %= BY_EVICTION
        fitting = [group for group in groups if group.key.need <= capacity or group in untried]
        ahead, taken = self._ahead(class_id, fitting), dict[int, int]()
        while (first := _first_group(fitting, ahead)) is not None:
            need, mixed = first.key.need, first.key.mixed
            needed = need + sum(n for k, n in taken.items() if k <= need)
            if not mixed and needed > capacity and first not in untried:
                fitting.remove(first)
                continue
            untried.discard(first)
            unit = self._take(first)
            if unit is None:
                return
            if ahead is not None:
                ahead.woken(first.key.queue, len(unit.pending))
            woken.append(unit)
            self.woken_units[unit] = (class_id, False)
            if not mixed:
                taken[need] = taken.get(need, 0) + (need if need > 1 else len(unit.pending))

    def _wake_above(
        self, class_id: int, groups: list[WaitGroup], above: int, woken: list[Unit]
    ) -> None:
        """Wake the first unit of the highest priority above that of a closed class."""
        found = [
            (-unit.priority, rank, unit, group)
            for group in groups
            if group.top > above
            for rank, unit in group.units_above(above)
        ]
        if found:
            _, _, unit, group = min(found, key=lambda each: each[:2])
            group.drop(unit)  # an entry that is left would be alive again once the unit returns
            self._remove(unit, group)
            woken.append(unit)
            self.woken_units[unit] = (class_id, False)

    def _ahead(self, class_id: int, groups: list[WaitGroup]) -> "_WokenUsage | None":
        """The order between queues, if there are several queues."""
        if self.standing is None or class_id == NO_CLASS:
            return None
        queues = {group.key.queue for group in groups}
        return _WokenUsage(self.standing, class_id, queues) if len(queues) > 1 else None

    def _take(self, group: WaitGroup) -> Unit | None:
        """Remove the first unit that may wake; the caller changes its state."""
        unit = group.first()
        if unit is not None:
            heapq.heappop(group.entries)
            self._remove(unit, group)
        return unit

    def _remove(self, unit: Unit, group: WaitGroup) -> None:
        """Remove a unit that wakes; an entry that stays in the heap is dead."""
        unit.wait_group = -1
        self._drop_unit(group)

    # ------------------------------------------------------------ wait groups

    def _note(self, cures: int) -> None:
        self.tick += 1
        for bit in _bits(cures):
            self._last_seen[bit] = self.tick

    def _open(self, key: WaitGroupKey, now: float) -> WaitGroup:
        group = WaitGroup(self._next_number, key, now)
        self._next_number += 1
        self._by_key[key] = self._wait_groups[group.number] = group
        self._of_class.setdefault(key.class_id, []).append(group)
        self._since.setdefault(key.class_id, group.number)
        for bit in _bits(key.cures):
            counts = self._waiting_by_event.setdefault(bit, {})
            counts[key.class_id] = counts.get(key.class_id, 0) + 1
        self.check_at = min(self.check_at, now + self._safety_net)
        return group

    def _probe_again(self, class_id: int, forced: bool) -> None:
        for group in self._of_class.get(class_id, ()):
            group.forced = group.forced or forced
            if forced or group.entries:
                self._suspect(group)

    def _suspect(self, group: WaitGroup) -> None:
        self._suspected.add(group.key.class_id)
        if not group.suspect:
            group.suspect = True
            self._suspects += 1

    def _drop_unit(self, group: WaitGroup) -> None:
        """Subtract one unit; delete an empty group with its dead entries."""
        group.live -= 1
        if group.live > 0:
            return
        if group.suspect:
            self._suspects -= 1
            group.suspect = False
        del self._wait_groups[group.number], self._by_key[group.key]
        others = self._of_class[group.key.class_id]
        others.remove(group)
        for bit in _bits(group.key.cures):
            counts = self._waiting_by_event[bit]
            counts[group.key.class_id] -= 1
            if not counts[group.key.class_id]:
                del counts[group.key.class_id]
        if not others:
            del self._of_class[group.key.class_id], self._since[group.key.class_id]
            self.closed.pop(group.key.class_id, None)


class _WokenUsage:
    """Usage of each queue including its woken units; the smallest wakes first."""

    def __init__(self, standing: Standing, class_id: int, queues: Iterable[str]) -> None:
        self._standing = standing
        self._class_id = class_id
        self._woken = dict.fromkeys(queues, 0)
        #: Sort key by queue.
        self.share = {queue: standing(queue, class_id, 0) for queue in self._woken}

    def woken(self, queue: str, pods: int) -> None:
        """Count woken pods of a queue."""
        self._woken[queue] += pods
        self.share[queue] = self._standing(queue, self._class_id, self._woken[queue])


def _bits(cures: int) -> Iterator[int]:
    """The bits that are set."""
    while cures:
        bit = cures & -cures
        yield bit
        cures ^= bit


def _first_group(groups: list[WaitGroup], ahead: _WokenUsage | None) -> WaitGroup | None:
    """The group of the next unit to wake: smallest queue usage, then rank."""
    best: WaitGroup | None = None
    first: tuple[tuple[object, ...], int] | None = None
    for group in groups:
        key = group.key
        if group.live:
            unit = group.first()
            if unit is None:
                continue
            place = (() if ahead is None else ahead.share[key.queue], unit.rank)
            if first is None or place < first:
                best, first = group, place
    return best
