"""New and updated pods: assign each to its unit.

The first pod of a unit creates it. Members that arrive in one batch join their unit together,
because the pods of a gang usually arrive together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.control.dispatcher.groups import Groups
from stretto.control.dispatcher.membership import PLAIN, Membership, MembershipReader
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.states.transitions import UnitEffect
from stretto.control.dispatcher.waiting.failures import FailureReason
from stretto.state.rows.lifecycle import (
    CHARGED,
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

_PENDING: Final = int(PodState.PENDING)
_GATED: Final = int(PodState.GATED)
_BOUND: Final = int(PodState.BOUND)
_GONE: Final = int(PodState.GONE)
_AFTER_GATE: Final = int(POD_LIFE.next(PodState.PENDING, PodEvent.GATE))
_AFTER_UNGATE: Final = int(POD_LIFE.next(PodState.GATED, PodEvent.UNGATE))
_COMPLETED: Final = UNIT_LIFE.next(UnitState.FORMING, UnitEvent.COMPLETE)

Touching = Callable[[Unit, UnitEffect], None]
"""Records the effect of a batch on a unit."""
Losing = Callable[[Unit, set[int]], None]
"""Removes rows from a unit."""


class PodArrivals:
    """Assigns new pods to their units."""

    def __init__(self, moves: UnitMoves, groups: Groups, touch: Touching, lose: Losing) -> None:
        """Start with no pod."""
        #: Rows with a scheduling gate.
        self.gated: set[int] = set()
        self._groups = groups
        self._moves = moves
        self._places = moves.states
        self._pods = moves.states.pods
        self._units = moves.states.units
        self._reader = MembershipReader(moves.states.config)
        self._touch = touch
        self._lose = lose

    def take(self, arrivals: Sequence[PodArrival], now: float) -> None:
        """Assign pending pods to units, in order."""
        pods, units = self._pods, self._units
        index = np.array([arrival.row for arrival in arrivals], np.int64)
        serials = pods.serial[index]
        self._drop_reused_rows(index[units.serial[index] != serials].tolist())
        units.serial[index] = serials
        states, priorities = pods.state[index].tolist(), pods.priority[index].tolist()
        uids, by_row, read = pods.uid, units.by_row, self._reader.membership
        sequence = units.next_sequence
        plain: list[Unit] = []
        fresh: dict[str, list[Unit]] = {DEFAULT_QUEUE: plain}
        together: dict[str, _UnitPods] = {}
        memberships, run, same = self._reader.of_templates(), -1, None
        for arrival, state, priority in zip(arrivals, states, priorities, strict=True):
            row, meta, gated, uid, template = arrival
            if uids[row] != uid:
                continue
            if gated or state != _PENDING or by_row[row] is not None:
                if not self._admit(row, gated, state):
                    units.next_sequence = sequence
                    self._found(row, state, read(meta), now)
                    sequence = units.next_sequence
                    continue
            elif template == run >= 0 and same is not None:
                by_row[row] = same.unit  # pods of a gang are usually adjacent
                same.rows.append(row)
                same.priorities.append(priority)
                continue
            membership = memberships.get(template)
            if membership is None:
                membership = read(meta)
                if template >= 0:
                    memberships[template] = membership
            if membership is PLAIN:
                unit = Unit(
                    uid, UnitKind.POD, 1, DEFAULT_QUEUE, sequence, (row,), (), priority, now
                )
                sequence += 1
                unit.state = _COMPLETED
                by_row[row] = unit
                plain.append(unit)
                continue
            members = together.get(membership.identity)
            if members is None:
                units.next_sequence = sequence
                if membership.kind is UnitKind.POD:
                    self._alone(row, membership, (priority, now), fresh)
                else:
                    members = self._members(membership, (priority, now))
                    together[membership.identity] = members
                sequence = units.next_sequence
            if members is not None:
                by_row[row] = members.unit
                members.rows.append(row)
                members.priorities.append(priority)
                members.unit.run_for(membership.duration)
                run, same = template, members
        units.next_sequence = sequence
        self._settle(together.values(), fresh)

    def _members(self, membership: Membership, when: tuple[int, float]) -> "_UnitPods":
        """The collected members of a pod's unit; ``when`` is (priority, now)."""
        priority, now = when
        is_new = membership.identity not in self._units.by_identity
        unit = self._unit(membership, now)
        if is_new:
            unit.priority = priority
        return _UnitPods(unit, [], [])

    def _alone(
        self,
        row: int,
        membership: Membership,
        when: tuple[int, float],
        fresh: dict[str, list[Unit]],
    ) -> None:
        """Create the unit of a single pod with annotations; ``when`` is (priority, now)."""
        priority, now = when
        uid, sequence = self._pods.uid[row], self._units.sequence()
        unit = Unit(uid, UnitKind.POD, 1, membership.queue, sequence, (row,), (), priority, now)
        self._units.by_row[row] = unit
        unit.duration = membership.duration
        if membership.fault:
            self._places.count_forming(1)
            self._moves.fail(unit, FailureReason.ABNORMAL, membership.fault)
        else:
            unit.state = _COMPLETED
            fresh.setdefault(membership.queue, []).append(unit)

    def _settle(self, together: Iterable["_UnitPods"], fresh: Mapping[str, list[Unit]]) -> None:
        """Add members to their units and queue single pods."""
        for unit, rows, priorities in together:
            unit.add_pending(rows)
            unit.priority = max(unit.priority, *priorities)
            self._touch(unit, UnitEffect.GREW)
        for name, queued in fresh.items():
            if queued:
                self._places.queues.extend(name, queued)

    def _drop_reused_rows(self, rows: Sequence[int]) -> None:
        """Remove reused rows whose deletions were not seen."""
        self.gated.difference_update(rows)
        by_row = self._units.by_row
        for row in [row for row in rows if by_row[row] is not None]:
            unit = by_row[row]
            if unit is not None:
                self._lose(unit, {row})

    def _admit(self, row: int, gated: bool, state: int) -> bool:
        """Return whether a pod in an unusual state is schedulable now; tracks gated rows."""
        states = self._pods.state
        if self._units.by_row[row] is not None or state in CHARGED or state == _GONE:
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
            self._moves.queue_rows((row,))
        return True

    def _found(self, row: int, state: int, membership: Membership, now: float) -> None:
        """Count a pod for its gang if it was bound before the scheduler started."""
        if state not in CHARGED or self._units.by_row[row] is not None:
            return
        usage = self._places.usage
        if membership.kind is UnitKind.POD or membership.min_member == 1:
            if usage is not None:
                usage.found(row, membership.queue, membership.key, membership.duration)
            return
        unit = self._unit(membership, now)
        self._moves.hold(unit, {row})
        self._units.by_row[row] = unit
        self._touch(unit, UnitEffect.CHANGED)
        note_scheduled(unit, self._pods)
        if usage is not None:
            unit.run_for(membership.duration)
            usage.found(row, unit.queue, unit.key, unit.duration)

    def _unit(self, membership: Membership, now: float) -> Unit:
        """Return the unit of a membership with several pods; create it at first sight."""
        unit = self._units.by_identity.get(membership.identity)
        if unit is not None:
            return unit
        unit = Unit(
            membership.key,
            membership.kind,
            membership.min_member,
            membership.queue,
            self._units.sequence(),
            [],
        )
        unit.bound, unit.created = RowSet(), now
        unit.whole = membership.min_member == 0
        self._units.add(membership.identity, unit)
        self._places.count_forming(1)
        if membership.kind is UnitKind.POD_GROUP:
            self._groups.join(unit)
        return unit

    def again(self, again: Sequence[PodArrival], now: float) -> None:
        """Process pods whose gates, labels, annotations, owners or priority may have changed."""
        moved = []
        for arrival in again:
            row, meta, gated, uid, _ = arrival
            if self._pods.uid[row] != uid:
                continue
            if not gated:
                self.gated.discard(row)
            unit, membership = self._units.by_row[row], self._reader.membership(meta)
            if unit is not None and not gated and self._is_member(unit, membership):
                self._update(unit, row, membership)
                continue
            if unit is not None:
                self._lose(unit, {row})
                self._moves.queue_rows((row,))
            moved.append(arrival)
        if moved:
            self.take(moved, now)

    def _is_member(self, unit: Unit, membership: Membership) -> bool:
        """Return whether the membership still names this unit."""
        if membership.fault or (unit.state is UnitState.FAILED and unit.kind is UnitKind.POD):
            return False
        if membership.kind is UnitKind.POD:
            return unit.kind is UnitKind.POD
        return self._units.by_identity.get(membership.identity) is unit

    def _update(self, unit: Unit, row: int, membership: Membership) -> None:
        priority = int(self._pods.priority[row])
        unit.priority = priority if unit.kind is UnitKind.POD else max(unit.priority, priority)
        if unit.kind is UnitKind.OWNER:
            unit.whole = membership.min_member == 0
            unit.min_member = max(membership.min_member, 1)
        if unit.kind is UnitKind.POD:
            unit.duration = membership.duration
        else:
            unit.run_for(membership.duration)
        if membership.queue != unit.queue and not self._groups.names_queue(unit):
            self._moves.change_queue(unit, membership.queue)
        self._touch(unit, UnitEffect.RETURNED)


class _UnitPods(NamedTuple):
    """Pods of one unit in one batch."""

    #: Unit of the pods.
    unit: Unit
    #: Rows of the pods.
    rows: list[int]
    #: Priorities of the pods, in the same order.
    priorities: list[int]


def note_scheduled(unit: Unit, pods: Pods, on_nodes: int = 0) -> None:
    """Mark a gang as scheduled once enough of its pods are bound.

    ``on_nodes`` is a known lower bound; if it is below the minimum, all pods are counted.
    """
    if unit.scheduled or unit.whole or len(unit.bound) < unit.min_member:
        return
    if on_nodes < unit.min_member:
        rows = np.fromiter(unit.bound, np.int64, len(unit.bound))
        on_nodes = int(np.count_nonzero(pods.state[rows] == _BOUND))
    unit.scheduled = on_nodes >= unit.min_member
