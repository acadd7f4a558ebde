"""Applies changes of pods, PodGroups and queues to units.

New pods find their units in ``arrivals``. The effects of a batch are collected by unit first, and
each unit is evaluated once: a thousand events about one unit cost one decision.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from stretto.control.dispatcher.arrivals import PodArrivals, note_scheduled
from stretto.control.dispatcher.groups import Groups
from stretto.control.dispatcher.queue_changes import QueueChanges
from stretto.control.dispatcher.states.attempts import conclude, settle_down
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.states.transitions import PLACED, UnitEffect
from stretto.control.dispatcher.waiting.failures import FailureReason
from stretto.state.rows.lifecycle import PodState, UnitEvent, UnitState
from stretto.state.work.changes import ClusterChanges, PodDeparture
from stretto.state.work.units import DEFAULT_QUEUE, Unit, UnitKind

_POD: Final = UnitKind.POD
_PENDING: Final = int(PodState.PENDING)
_BOUND: Final = int(PodState.BOUND)


class UnitTracker:
    """Synchronises units with the pods that exist."""

    def __init__(self, moves: UnitMoves) -> None:
        """Start with no pod."""
        #: Existing PodGroups.
        self.groups = Groups(moves)
        #: Existing Queues.
        self.queue_changes = QueueChanges(moves)
        self._moves = moves
        self._places = moves.states
        self._pods = moves.states.pods
        self._units = moves.states.units
        self._arrivals = PodArrivals(moves, self.groups, self._touch, self._lose)
        #: Rows with a scheduling gate.
        self.gated: set[int] = self._arrivals.gated
        #: Units affected by the batch, each with the strongest effect.
        self._touched: dict[Unit, UnitEffect] = {}

    def absorb(self, changes: ClusterChanges, now: float) -> None:
        """Apply a batch."""
        self._units.grow(self._pods.length)
        if changes.queues:
            self.queue_changes.change(changes.queues, now)
        if self._places.usage is not None:
            self._places.usage.absorb(changes, now)
        if changes.departures:
            self._remove_rows(changes.departures)
        for change in changes.groups:
            unit = self.groups.change(change, now)
            if unit is not None:
                self._touch(unit, UnitEffect.CHANGED)
        if changes.arrivals:
            self._arrivals.take(changes.arrivals, now)
        if changes.regrouped:
            self._arrivals.again(changes.regrouped, now)
        if changes.bound:
            self._bind(changes.bound)
        if changes.released:
            self._release(changes.released, now)
        touched, self._touched = self._touched, {}
        for unit, touch in touched.items():
            self._reconsider(unit, touch, now)

    def _touch(self, unit: Unit, touch: UnitEffect) -> None:
        self._touched[unit] = max(self._touched.get(unit, touch), touch)

    # ------------------------------------------------------------ deleted pods

    def _remove_rows(self, departures: Sequence[PodDeparture]) -> None:
        units = self._units
        index = np.array([departure.row for departure in departures], np.int64)
        units.grow(int(index.max()) + 1)
        known = units.serial[index].tolist()
        lost: dict[Unit, set[int]] = {}
        shrunk: set[Unit] = set()
        for (row, serial, _, evicted), ours in zip(departures, known, strict=True):
            if serial != ours:
                continue
            self.gated.discard(row)
            unit = units.by_row[row]
            if unit is not None:
                lost.setdefault(unit, set()).add(row)
                if evicted:
                    shrunk.add(unit)
        for unit, rows in lost.items():
            self._lose(unit, rows)
            if unit in shrunk and len(unit.bound) < unit.min_member:
                unit.scheduled = False  # an evicted gang is admitted again as a whole

    def _lose(self, unit: Unit, rows: set[int]) -> None:
        """Remove rows from the unit."""
        by_row = self._units.by_row
        for row in rows:
            by_row[row] = None
        if unit.kind is UnitKind.POD:
            unit.pending = unit.bound = ()
            self._moves.end(unit)
            return
        self._moves.forget(unit, rows)
        self._touch(unit, UnitEffect.CHANGED)

    # ------------------------------------------------------------ pods on nodes

    def _bind(self, rows: Sequence[int]) -> None:
        by_row, places, many = self._units.by_row, self._places, dict[Unit, set[int]]()
        states = self._pods.state[np.array(rows, np.int64)].tolist()
        watching = bool(places.unschedulable.woken_units)
        last, held = None, set[int]()
        for row, state in zip(rows, states, strict=True):
            unit = by_row[row]
            if state != _BOUND:  # the pod was deleted since, and the row may be reused
                continue
            if unit is None:
                self.gated.discard(row)
            elif unit is last:  # pods of a gang are usually adjacent
                held.add(row)
            elif unit.kind is not _POD:
                last, held = unit, many.setdefault(unit, set())
                held.add(row)
            else:
                by_row[row] = None
                unit.pending = ()
                if watching or unit.state is not PLACED:
                    self._moves.finish(unit)
        for unit, bound in many.items():
            unit.attempts = 0
            if unit.min_member == 1 and not unit.whole and unit.kind is UnitKind.OWNER:
                self._lose(unit, bound)
                continue
            if unit.pending or unit.away:  # otherwise the unit has no pending pod
                self._moves.hold(unit, bound)
            note_scheduled(unit, self._pods, len(bound))
            self._touch(unit, UnitEffect.CHANGED)

    def _release(self, rows: Iterable[int], now: float) -> None:
        """Process pods that were bound, assumed or nominated and are pending again."""
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
                self._places.count_forming(1)
            elif row in unit.bound:
                unit.mark_pending({row})
            self._touch(unit, UnitEffect.RETURNED)

    # ------------------------------------------------------------ evaluation of each unit

    def _reconsider(self, unit: Unit, touch: UnitEffect, now: float) -> None:
        """Move a unit to its new state after its pods or its group have changed."""
        if unit.whole:
            unit.min_member = max(unit.size, 1)
        if not unit.size:
            self._units.drop(unit)
            self.groups.leave(unit)
            self._moves.end(unit)
        elif unit.state is UnitState.DISPATCHED:
            if not unit.away:
                conclude(self._moves, unit, now)
        elif not settle_down(self._moves, unit, now):
            self._go_on(unit, touch, now)

    def _go_on(self, unit: Unit, touch: UnitEffect, now: float) -> None:
        """Schedule the pending pods of a complete unit."""
        places = self._places
        if unit.state is UnitState.FORMING:
            self._moves.enter_queue(unit, UnitEvent.COMPLETE)
        elif unit.state is UnitState.PLACED:
            if touch is UnitEffect.GREW and not unit.is_gang:
                unit.sequence = self._units.sequence()
            self._moves.enter_queue(unit, UnitEvent.GROW)
        elif unit.state is UnitState.QUEUED:
            if places.queues.get(unit.queue).order.rank(unit) != unit.rank:
                self._moves.requeue(unit)
            else:
                places.queues.changed(unit)
        elif unit.state is UnitState.UNSCHEDULABLE:
            wanted = touch is not UnitEffect.CHANGED and not self._moves.stays_parked(unit)
            if wanted or self._moves.need_changed(unit):
                self._moves.wake(unit, now)
        elif unit.state is UnitState.FAILED and touch is not UnitEffect.CHANGED:
            known = places.given_up[unit]
            if known.reason is FailureReason.NO_PLACE:
                self._moves.enter_queue(unit, UnitEvent.REVIVE)
            else:  # the failure also covers pods that were added later
                self._moves.fail(unit, known.reason, known.message)
