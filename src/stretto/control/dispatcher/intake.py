"""Takes in what has changed: pods that come, go, change or are bound, and their PodGroups.

Units are made and changed here. Whatever a batch says about a unit is gathered first, then the unit
is looked at once, so that a thousand events about one unit cost one decision.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

import numpy as np

from stretto.control.dispatcher.failures import FailureReason
from stretto.control.dispatcher.groups import Groups
from stretto.control.dispatcher.moves import PLACED, Touch
from stretto.control.dispatcher.places import Places
from stretto.control.dispatcher.tenants import Tenants
from stretto.control.dispatcher.units import PLAIN, Reader, Wish
from stretto.state.changes import Arrival, Changes, Departure
from stretto.state.lifecycle import (
    POD_LIFE,
    UNIT_LIFE,
    PodEvent,
    PodState,
    UnitEvent,
    UnitState,
)
from stretto.state.units import DEFAULT_QUEUE, Unit, UnitKind

_ON_NODES: Final = frozenset(
    int(state) for state in (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND)
)
_POD: Final = UnitKind.POD
_PENDING: Final = int(PodState.PENDING)
_GATED: Final = int(PodState.GATED)
_BOUND: Final = int(PodState.BOUND)
_GONE: Final = int(PodState.GONE)
_AFTER_GATE: Final = int(POD_LIFE.next(PodState.PENDING, PodEvent.GATE))
_AFTER_UNGATE: Final = int(POD_LIFE.next(PodState.GATED, PodEvent.UNGATE))
_COMPLETED: Final = UNIT_LIFE.next(UnitState.FORMING, UnitEvent.COMPLETE)


class Intake:
    """Keeps units and their places in step with the pods that exist."""

    def __init__(self, places: Places) -> None:
        """Start with no pod."""
        #: Rows held by a scheduling gate.
        self.gated: set[int] = set()
        #: PodGroups that exist.
        self.groups = Groups(places)
        #: Queues that exist.
        self.tenants = Tenants(places)
        self._places = places
        self._pods = places.pods
        self._units = places.units
        self._reader = Reader(places.config)
        #: Units that the batch touches, and the most that it does to each.
        self._touched: dict[Unit, Touch] = {}

    def absorb(self, changes: Changes, now: float) -> None:
        """Take in a batch."""
        self._units.grow(self._pods.length)
        if changes.queues:
            self.tenants.change(changes.queues, now)
        if self._places.usage is not None:
            self._places.usage.absorb(changes, now)
        if changes.departures:
            self._depart(changes.departures)
        for key, group in changes.groups:
            unit = self.groups.change(key, group, now)
            if unit is not None:
                self._touch(unit, Touch.CHANGED)
        if changes.arrivals:
            self._arrive(changes.arrivals, now)
        if changes.regrouped:
            self._regroup(changes.regrouped, now)
        if changes.bound:
            self._bind(changes.bound)
        if changes.released:
            self._release(changes.released, now)
        touched, self._touched = self._touched, {}
        for unit, touch in touched.items():
            self._reconsider(unit, touch, now)

    def _touch(self, unit: Unit, touch: Touch) -> None:
        self._touched[unit] = max(self._touched.get(unit, touch), touch)

    # ------------------------------------------------------------ pods that go

    def _depart(self, departures: Sequence[Departure]) -> None:
        units = self._units
        index = np.array([departure.row for departure in departures], np.int64)
        units.grow(int(index.max()) + 1)
        known = units.serial[index].tolist()
        lost: dict[Unit, set[int]] = {}
        fallen: set[Unit] = set()
        for (row, serial, _, evicted), ours in zip(departures, known, strict=True):
            if serial != ours:
                continue
            self.gated.discard(row)
            unit = units.by_row[row]
            if unit is not None:
                lost.setdefault(unit, set()).add(row)
                if evicted:
                    fallen.add(unit)
        for unit, rows in lost.items():
            self._lose(unit, rows)
            if unit in fallen and len(unit.bound) < unit.min_member:
                unit.scheduled = False  # a gang that was evicted comes back as a whole

    def _lose(self, unit: Unit, rows: set[int]) -> None:
        """Rows are no longer the unit's."""
        by_row = self._units.by_row
        for row in rows:
            by_row[row] = None
        if unit.kind is UnitKind.POD:
            unit.pending = unit.bound = ()
            self._places.end(unit)
            return
        self._places.forget(unit, rows)
        self._touch(unit, Touch.CHANGED)

    # ------------------------------------------------------------ pods that come

    def _arrive(self, arrivals: Sequence[Arrival], now: float) -> None:
        pods, units = self._pods, self._units
        index = np.array([arrival.row for arrival in arrivals], np.int64)
        serials = pods.serial[index]
        self._forget_former(index[units.serial[index] != serials].tolist())
        units.serial[index] = serials
        states, priorities = pods.state[index].tolist(), pods.priority[index].tolist()
        uids, by_row, read = pods.uid, units.by_row, self._reader.wish
        by_identity, touched = units.by_identity, self._touched
        sequence = units.next_sequence
        fresh: dict[str, list[Unit]] = {}
        plain: list[Unit] = []
        wishes = self._reader.of_templates()
        for arrival, state, priority in zip(arrivals, states, priorities, strict=True):
            row, meta, gated, uid, template = arrival
            if uids[row] != uid:
                continue
            if gated or state != _PENDING or by_row[row] is not None:
                wanted = self._admit(row, gated, state)
                if not wanted:
                    units.next_sequence = sequence
                    self._found(row, state, read(meta), now)
                    sequence = units.next_sequence
                    continue
            wish = wishes.get(template)
            if wish is None:
                wish = read(meta)
                if template >= 0:
                    wishes[template] = wish
            if wish is PLAIN:
                unit = Unit(
                    uid, UnitKind.POD, 1, DEFAULT_QUEUE, sequence, (row,), (), priority, now
                )
                sequence += 1
                unit.state = _COMPLETED
                by_row[row] = unit
                plain.append(unit)
                continue
            member_of = by_identity.get(wish.identity)
            if member_of is not None:
                member_of.want(row)
                if wish.duration < inf:
                    member_of.run_for(wish.duration)
                member_of.priority = max(member_of.priority, priority)
                by_row[row] = member_of
                touched[member_of] = Touch.GREW
                continue
            units.next_sequence = sequence
            self._join(row, uid, wish, (priority, now), fresh)
            sequence = units.next_sequence
        units.next_sequence = sequence
        if plain:
            self._places.queues.extend(DEFAULT_QUEUE, plain)
        for name, queued in fresh.items():
            self._places.queues.extend(name, queued)

    def _forget_former(self, rows: Iterable[int]) -> None:
        """Rows that are in use again though nobody told us that their pods went."""
        for row in rows:
            self.gated.discard(row)
            unit = self._units.by_row[row]
            if unit is not None:
                self._lose(unit, {row})

    def _admit(self, row: int, gated: bool, state: int) -> bool:
        """Whether a pod in an unusual state wants a place now; gates are opened and shut here."""
        states = self._pods.state
        if self._units.by_row[row] is not None or state in _ON_NODES or state == _GONE:
            return False
        if gated:
            if state == _PENDING:
                states[row] = _AFTER_GATE
            self.gated.add(row)
            return False
        self.gated.discard(row)
        if state == _GATED:
            states[row] = _AFTER_UNGATE
        else:
            self._places.queue_rows((row,))
        return True

    def _found(self, row: int, state: int, wish: Wish, now: float) -> None:
        """A pod that was on a node before we came counts for its gang."""
        if state not in _ON_NODES or self._units.by_row[row] is not None:
            return
        usage = self._places.usage
        if wish.kind is UnitKind.POD or wish.min_member == 1:
            if usage is not None:
                usage.found(row, wish.queue, wish.key, wish.duration)
            return
        unit = self._unit(wish, now)
        self._places.hold(unit, {row})
        self._units.by_row[row] = unit
        self._touch(unit, Touch.CHANGED)
        self._note_scheduled(unit)
        if usage is not None:
            unit.run_for(wish.duration)
            usage.found(row, unit.queue, unit.key, unit.duration)

    def _join(
        self, row: int, uid: str, wish: Wish, when: tuple[int, float], fresh: dict[str, list[Unit]]
    ) -> None:
        """Make a pod that is not plain part of its unit; ``when`` is (priority, now)."""
        priority, now = when
        if wish.kind is not UnitKind.POD:
            unit = self._unit(wish, now)
            unit.want(row)
            unit.priority = priority
            unit.run_for(wish.duration)
            self._units.by_row[row] = unit
            self._touch(unit, Touch.GREW)
            return
        unit = Unit(
            uid, UnitKind.POD, 1, wish.queue, self._units.sequence(), (row,), (), priority, now
        )
        self._units.by_row[row] = unit
        unit.duration = wish.duration
        if wish.fault:
            self._places.forming += 1
            self._places.fail(unit, FailureReason.ABNORMAL, wish.fault)
        else:
            unit.state = _COMPLETED
            fresh.setdefault(wish.queue, []).append(unit)

    def _unit(self, wish: Wish, now: float) -> Unit:
        """The unit of several pods that a wish names, made on first sight."""
        unit = self._units.by_identity.get(wish.identity)
        if unit is not None:
            return unit
        unit = Unit(wish.key, wish.kind, wish.min_member, wish.queue, self._units.sequence(), [])
        unit.bound, unit.created = set(), now
        unit.whole = wish.min_member == 0
        self._units.add(wish.identity, unit)
        self._places.forming += 1
        if wish.kind is UnitKind.POD_GROUP:
            self.groups.join(unit)
        return unit

    # ------------------------------------------------------------ pods that change

    def _regroup(self, again: Sequence[Arrival], now: float) -> None:
        """Pods whose gates, labels, annotations, owners or priority may say something else now."""
        moved = []
        for arrival in again:
            row, meta, gated, uid, _ = arrival
            if self._pods.uid[row] != uid:
                continue
            if not gated:
                self.gated.discard(row)
            unit, wish = self._units.by_row[row], self._reader.wish(meta)
            if unit is not None and not gated and self._is_member(unit, wish):
                self._update(unit, row, wish)
                continue
            if unit is not None:
                self._lose(unit, {row})
                self._places.queue_rows((row,))
            moved.append(arrival)
        if moved:
            self._arrive(moved, now)

    def _is_member(self, unit: Unit, wish: Wish) -> bool:
        """Whether a pod of the unit still belongs to it."""
        if wish.fault or (unit.state is UnitState.FAILED and unit.kind is UnitKind.POD):
            return False
        if wish.kind is UnitKind.POD:
            return unit.kind is UnitKind.POD
        return self._units.by_identity.get(wish.identity) is unit

    def _update(self, unit: Unit, row: int, wish: Wish) -> None:
        priority = int(self._pods.priority[row])
        unit.priority = priority if unit.kind is UnitKind.POD else max(unit.priority, priority)
        if unit.kind is UnitKind.OWNER:
            unit.whole = wish.min_member == 0
            unit.min_member = max(wish.min_member, 1)
        if unit.kind is UnitKind.POD:
            unit.duration = wish.duration
        else:
            unit.run_for(wish.duration)
        if wish.queue != unit.queue and not self.groups.names_queue(unit):
            self._places.change_queue(unit, wish.queue)
        self._touch(unit, Touch.RETURNED)

    # ------------------------------------------------------------ pods on nodes

    def _bind(self, rows: Sequence[int]) -> None:
        by_row, places, many = self._units.by_row, self._places, dict[Unit, set[int]]()
        states = self._pods.state[np.array(rows, np.int64)].tolist()
        watching = places.sleepers.is_watching
        for row, state in zip(rows, states, strict=True):
            unit = by_row[row]
            if state != _BOUND:  # it has gone since, and the row may be another pod's
                continue
            if unit is None:
                self.gated.discard(row)
            elif unit.kind is _POD:
                by_row[row] = None
                unit.pending = ()
                if watching or unit.state is not PLACED:
                    places.finish(unit)
            else:
                many.setdefault(unit, set()).add(row)
        for unit, bound in many.items():
            unit.attempts = 0
            if unit.min_member == 1 and not unit.whole and unit.kind is UnitKind.OWNER:
                self._lose(unit, bound)
                continue
            self._places.hold(unit, bound)
            self._note_scheduled(unit)
            self._touch(unit, Touch.CHANGED)

    def _note_scheduled(self, unit: Unit) -> None:
        """A gang of which enough pods are really on nodes was scheduled, whatever comes later."""
        if not unit.scheduled and len(unit.bound) >= unit.min_member:
            rows = np.fromiter(unit.bound, np.int64, len(unit.bound))
            on_nodes = np.count_nonzero(self._pods.state[rows] == _BOUND)
            unit.scheduled = not unit.whole and bool(on_nodes >= unit.min_member)

    def _release(self, rows: Iterable[int], now: float) -> None:
        """Pods that had a node, or nearly, and want one again."""
        for row in rows:
            if int(self._pods.state[row]) != _PENDING:
                continue
            unit = self._units.by_row[row]
            if unit is None:
                unit = Unit(self._pods.uid[row], UnitKind.POD, 1, DEFAULT_QUEUE, 0, (row,))
                unit.sequence, unit.created = self._units.sequence(), now
                unit.priority = int(self._pods.priority[row])
                self._units.by_row[row] = unit
                self._units.serial[row] = self._pods.serial[row]
                self._places.forming += 1
            elif row in unit.bound:
                unit.let_go({row})
            self._touch(unit, Touch.RETURNED)

    # ------------------------------------------------------------ one look at each unit

    def _reconsider(self, unit: Unit, touch: Touch, now: float) -> None:
        """Move a unit to where it belongs after its pods or its group have changed."""
        places = self._places
        if unit.whole:
            unit.min_member = max(unit.size, 1)
        if not unit.size:
            self._units.drop(unit)
            self.groups.leave(unit)
            places.end(unit)
        elif unit.state is UnitState.DISPATCHED:
            if not unit.away:
                places.conclude(unit, now)
        elif not places.settle_down(unit, now):
            self._go_on(unit, touch, now)

    def _go_on(self, unit: Unit, touch: Touch, now: float) -> None:
        """A unit that has what it needs wants a place for some of its pods."""
        places = self._places
        if unit.state is UnitState.FORMING:
            places.enter_queue(unit, UnitEvent.COMPLETE)
        elif unit.state is UnitState.PLACED:
            if touch is Touch.GREW and not unit.is_gang:
                unit.sequence = self._units.sequence()
            places.enter_queue(unit, UnitEvent.GROW)
        elif unit.state is UnitState.QUEUED:
            if places.queues.get(unit.queue).order.rank(unit) != unit.rank:
                places.requeue(unit)
            else:
                places.queues.changed(unit)
        elif unit.state is UnitState.UNSCHEDULABLE:
            wanted = touch is not Touch.CHANGED and not places.sleeps_on(unit)
            if wanted or places.needs_otherwise(unit):
                places.wake(unit, now)
        elif (
            unit.state is UnitState.FAILED
            and touch is not Touch.CHANGED
            and places.given_up[unit].reason is FailureReason.NO_PLACE
        ):
            places.enter_queue(unit, UnitEvent.REVIVE)
