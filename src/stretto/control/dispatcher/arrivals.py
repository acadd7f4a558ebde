"""Pods that come, or are seen again with other words: each becomes part of its unit.

Units are made here, on first sight of one of their pods. The members of a unit that come in one
batch join it together, because the pods of a gang mostly do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.control.dispatcher.groups import Groups
from stretto.control.dispatcher.membership import PLAIN, Membership, MembershipReader
from stretto.control.dispatcher.transitions import UnitEffect
from stretto.control.dispatcher.unit_moves import UnitStates
from stretto.control.dispatcher.waiting.failures import FailureReason
from stretto.state.rows.lifecycle import (
    POD_LIFE,
    UNIT_LIFE,
    PodEvent,
    PodState,
    UnitEvent,
    UnitState,
)
from stretto.state.rows.pods import Pods
from stretto.state.rows.row_sets import RowSet
from stretto.state.work.changes import PodArrival
from stretto.state.work.units import DEFAULT_QUEUE, Unit, UnitKind

ON_NODES: Final = frozenset(
    int(state) for state in (PodState.NOMINATED, PodState.ASSUMED, PodState.BOUND)
)
"""States of pods that are on a node, or as good as."""
_PENDING: Final = int(PodState.PENDING)
_GATED: Final = int(PodState.GATED)
_BOUND: Final = int(PodState.BOUND)
_GONE: Final = int(PodState.GONE)
_AFTER_GATE: Final = int(POD_LIFE.next(PodState.PENDING, PodEvent.GATE))
_AFTER_UNGATE: Final = int(POD_LIFE.next(PodState.GATED, PodEvent.UNGATE))
_COMPLETED: Final = UNIT_LIFE.next(UnitState.FORMING, UnitEvent.COMPLETE)

Touching = Callable[[Unit, UnitEffect], None]
"""Notes what a batch does to a unit."""
Losing = Callable[[Unit, set[int]], None]
"""Takes rows from a unit."""


class PodArrivals:
    """Makes pods that come part of their units."""

    def __init__(self, places: UnitStates, groups: Groups, touch: Touching, lose: Losing) -> None:
        """Start with no pod."""
        #: Rows held by a scheduling gate.
        self.gated: set[int] = set()
        self._groups = groups
        self._places = places
        self._pods = places.pods
        self._units = places.units
        self._reader = MembershipReader(places.config)
        self._touch = touch
        self._lose = lose

    def take(self, arrivals: Sequence[PodArrival], now: float) -> None:
        """Pods that want a node, in order."""
        pods, units = self._pods, self._units
        index = np.array([arrival.row for arrival in arrivals], np.int64)
        serials = pods.serial[index]
        self._drop_reused_rows(index[units.serial[index] != serials].tolist())
        units.serial[index] = serials
        states, priorities = pods.state[index].tolist(), pods.priority[index].tolist()
        uids, by_row, read = pods.uid, units.by_row, self._reader.wish
        sequence = units.next_sequence
        plain: list[Unit] = []
        fresh: dict[str, list[Unit]] = {DEFAULT_QUEUE: plain}
        together: dict[str, _UnitPods] = {}
        wishes, run, same = self._reader.of_templates(), -1, None
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
            elif template == run >= 0 and same is not None:
                by_row[row] = same.unit  # the pods of a gang mostly come one after the other
                same.rows.append(row)
                same.priorities.append(priority)
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
            members = together.get(wish.identity)
            if members is None:
                units.next_sequence = sequence
                if wish.kind is UnitKind.POD:
                    self._alone(row, wish, (priority, now), fresh)
                else:
                    members = together[wish.identity] = self._members(wish, (priority, now))
                sequence = units.next_sequence
            if members is not None:
                by_row[row] = members.unit
                members.rows.append(row)
                members.priorities.append(priority)
                members.unit.run_for(wish.duration)
                run, same = template, members
        units.next_sequence = sequence
        self._settle(together.values(), fresh)

    def _members(self, wish: Membership, when: tuple[int, float]) -> "_UnitPods":
        """The unit that a pod is one of the members of; ``when`` is (priority, now)."""
        priority, now = when
        is_new = wish.identity not in self._units.by_identity
        unit = self._unit(wish, now)
        if is_new:
            unit.priority = priority
        return _UnitPods(unit, [], [])

    def _alone(
        self, row: int, wish: Membership, when: tuple[int, float], fresh: dict[str, list[Unit]]
    ) -> None:
        """Make a single pod that is not plain a unit; ``when`` is (priority, now)."""
        priority, now = when
        uid, sequence = self._pods.uid[row], self._units.sequence()
        unit = Unit(uid, UnitKind.POD, 1, wish.queue, sequence, (row,), (), priority, now)
        self._units.by_row[row] = unit
        unit.duration = wish.duration
        if wish.fault:
            self._places.forming += 1
            self._places.fail(unit, FailureReason.ABNORMAL, wish.fault)
        else:
            unit.state = _COMPLETED
            fresh.setdefault(wish.queue, []).append(unit)

    def _settle(self, together: Iterable["_UnitPods"], fresh: Mapping[str, list[Unit]]) -> None:
        """Let members join their units, and single pods their queues."""
        for unit, rows, priorities in together:
            unit.add_pending(rows)
            unit.priority = max(unit.priority, *priorities)
            self._touch(unit, UnitEffect.GREW)
        for name, queued in fresh.items():
            if queued:
                self._places.queues.extend(name, queued)

    def _drop_reused_rows(self, rows: Sequence[int]) -> None:
        """Rows that are in use again though nobody told us that their pods went."""
        self.gated.difference_update(rows)
        by_row = self._units.by_row
        for row in [row for row in rows if by_row[row] is not None]:
            unit = by_row[row]
            if unit is not None:
                self._lose(unit, {row})

    def _admit(self, row: int, gated: bool, state: int) -> bool:
        """Whether a pod in an unusual state wants a place now; gates are opened and shut here."""
        states = self._pods.state
        if self._units.by_row[row] is not None or state in ON_NODES or state == _GONE:
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

    def _found(self, row: int, state: int, wish: Membership, now: float) -> None:
        """A pod that was on a node before we came counts for its gang."""
        if state not in ON_NODES or self._units.by_row[row] is not None:
            return
        usage = self._places.usage
        if wish.kind is UnitKind.POD or wish.min_member == 1:
            if usage is not None:
                usage.found(row, wish.queue, wish.key, wish.duration)
            return
        unit = self._unit(wish, now)
        self._places.hold(unit, {row})
        self._units.by_row[row] = unit
        self._touch(unit, UnitEffect.CHANGED)
        note_scheduled(unit, self._pods)
        if usage is not None:
            unit.run_for(wish.duration)
            usage.found(row, unit.queue, unit.key, unit.duration)

    def _unit(self, wish: Membership, now: float) -> Unit:
        """The unit of several pods that a wish names, made on first sight."""
        unit = self._units.by_identity.get(wish.identity)
        if unit is not None:
            return unit
        unit = Unit(wish.key, wish.kind, wish.min_member, wish.queue, self._units.sequence(), [])
        unit.bound, unit.created = RowSet(), now
        unit.whole = wish.min_member == 0
        self._units.add(wish.identity, unit)
        self._places.forming += 1
        if wish.kind is UnitKind.POD_GROUP:
            self._groups.join(unit)
        return unit

    def again(self, again: Sequence[PodArrival], now: float) -> None:
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
            self.take(moved, now)

    def _is_member(self, unit: Unit, wish: Membership) -> bool:
        """Whether a pod of the unit still belongs to it."""
        if wish.fault or (unit.state is UnitState.FAILED and unit.kind is UnitKind.POD):
            return False
        if wish.kind is UnitKind.POD:
            return unit.kind is UnitKind.POD
        return self._units.by_identity.get(wish.identity) is unit

    def _update(self, unit: Unit, row: int, wish: Membership) -> None:
        priority = int(self._pods.priority[row])
        unit.priority = priority if unit.kind is UnitKind.POD else max(unit.priority, priority)
        if unit.kind is UnitKind.OWNER:
            unit.whole = wish.min_member == 0
            unit.min_member = max(wish.min_member, 1)
        if unit.kind is UnitKind.POD:
            unit.duration = wish.duration
        else:
            unit.run_for(wish.duration)
        if wish.queue != unit.queue and not self._groups.names_queue(unit):
            self._places.change_queue(unit, wish.queue)
        self._touch(unit, UnitEffect.RETURNED)


class _UnitPods(NamedTuple):
    """Pods of one unit that come together."""

    #: Their unit.
    unit: Unit
    #: Their rows.
    rows: list[int]
    #: Their priorities, in the same order.
    priorities: list[int]


def note_scheduled(unit: Unit, pods: Pods, on_nodes: int = 0) -> None:
    """A gang of which enough pods are really on nodes was scheduled, whatever comes later.

    So many at least are known to be; where that is too few, all of them are looked at.
    """
    if unit.scheduled or unit.whole or len(unit.bound) < unit.min_member:
        return
    if on_nodes < unit.min_member:
        rows = np.fromiter(unit.bound, np.int64, len(unit.bound))
        on_nodes = int(np.count_nonzero(pods.state[rows] == _BOUND))
    unit.scheduled = on_nodes >= unit.min_member
