"""Moves units between states, each move along the state tables.

A unit is forming, queued, dispatched, in back-off, unschedulable, or finished (placed, failed,
gone). All other parts move units through this module, so that the state of a unit, the states of
its pods and its container change together.
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.dispatcher.states.transitions import (
    BACK_IN_QUEUE,
    BROKEN,
    DELAYED,
    PARKED,
    WAYS_TO_BACK_OFF,
)
from stretto.control.dispatcher.waiting.failures import FailureReason, UnitFailure
from stretto.control.dispatcher.waiting.pool import NO_CLASS
from stretto.control.dispatcher.waiting.wait_groups import WaitGroupKey
from stretto.state.rows.lifecycle import UnitEvent, UnitState
from stretto.state.work.units import Unit, UnitKind

FEW: Final = 4
"""Number of rows up to which a Python loop is faster than NumPy."""


class UnitMoves:
    """The moves of units between their containers."""

    def __init__(self, states: UnitStates) -> None:
        """Move units of these states."""
        #: The containers.
        self.states = states
        self._pods = states.pods

    def leave(self, unit: Unit, event: UnitEvent) -> None:
        """Step a unit by an event and remove it from its container."""
        before = unit.state
        unit.step(event)
        if before is UnitState.DISPATCHED:
            self.states.shards.release_unit(unit)
            if self.states.usage is not None:
                self.states.usage.back(unit)
            self.states.queues.unit_returned(unit)
        elif before is UnitState.QUEUED:
            self.states.queues.get(unit.queue).order.discard()
            self.states.queues.turns.enlist(self.states.queues.get(unit.queue))
        elif before is UnitState.BACKOFF:
            self.states.count_delayed(-1)
            self.states.queues.unblock(unit)
        elif before is UnitState.UNSCHEDULABLE:
            if unit.wait_group >= 0:
                self.states.unschedulable.discard(unit)
            self.states.queues.unblock(unit)
        elif before is UnitState.FORMING:
            self.states.count_forming(-1)
        elif before is UnitState.FAILED:
            self.states.given_up.pop(unit, None)

    def enter_forming(self, unit: Unit) -> None:
        """Wait for the missing pods of the unit."""
        if unit.state is UnitState.FAILED:
            self.leave(unit, UnitEvent.REVIVE)
            unit.step(UnitEvent.SHRINK)
        else:
            self.leave(unit, UnitEvent.SHRINK)
        self.states.count_forming(1)
        self.step_rows(unit.pending, BACK_IN_QUEUE)
        self.states.unschedulable.not_placed(unit)

    def enter_queue(self, unit: Unit, event: UnitEvent) -> None:
        """Queue the unit by its rank."""
        self.leave(unit, event)
        self.step_rows(unit.pending, BACK_IN_QUEUE)
        self.states.queues.push(unit)

    def requeue(self, unit: Unit) -> None:
        """Queue the unit again, because its rank has changed or is about to change."""
        self.states.queues.get(unit.queue).order.discard()
        self.states.queues.push(unit)

    def back_off(self, unit: Unit, until: float) -> None:
        """Back off until a clock time."""
        way = WAYS_TO_BACK_OFF[unit.state]
        self.leave(unit, way[0])
        for event in way[1:]:
            unit.step(event)
        unit.not_before = until
        self.step_rows(unit.pending, DELAYED)
        self.states.count_delayed(1)
        self.states.delays.add(unit, until)
        self.states.queues.block(unit)
        self.states.unschedulable.not_placed(unit)

    def wait_for_cure(self, unit: Unit, now: float) -> None:
        """Wait for an event that may cure the failure (``blocking_class`` and ``cures``)."""
        self.leave(unit, UnitEvent.PARK)
        if not unit.is_gang and unit.kind is not UnitKind.POD_GROUP:
            usage = self.states.usage
            guarantees = usage is not None and usage.tree.any_guarantees
            self.states.unschedulable.close(unit, by_queue=guarantees)
        self._park(unit, now, tried=True)

    def _park(self, unit: Unit, now: float, tried: bool) -> None:
        """Add a unit that has just become unschedulable to its wait group."""
        self.step_rows(unit.pending, PARKED)
        self.states.unschedulable.add(unit, self._wait_group(unit), now, tried)
        self.states.queues.block(unit)

    def finish(self, unit: Unit) -> None:
        """Move a unit to placed: every pod of the unit is claimed or bound."""
        if unit.state is UnitState.FAILED:
            self.leave(unit, UnitEvent.REVIVE)
            unit.step(UnitEvent.PLACE)
        elif unit.state is not UnitState.PLACED:
            self.leave(unit, UnitEvent.PLACE)
        self.states.unschedulable.placed(unit)

    def fail(self, unit: Unit, reason: FailureReason, message: str) -> None:
        """Mark a unit as failed."""
        if unit.state is UnitState.PLACED:
            unit.step(UnitEvent.GROW)
            unit.step(UnitEvent.FAIL)
        elif unit.state is not UnitState.FAILED:
            self.leave(unit, UnitEvent.FAIL)
        abnormal = reason is FailureReason.ABNORMAL
        self.step_rows(unit.pending, BROKEN if abnormal else PARKED)
        failure = UnitFailure(unit, tuple(unit.pending), reason, message)
        if self.states.given_up.get(unit) != failure:
            self.states.given_up[unit] = failure
            self.states.failures.append(failure)
        self.states.unschedulable.not_placed(unit)

    def end(self, unit: Unit) -> None:
        """Move a unit without pods to gone."""
        if unit.state is not UnitState.GONE:
            self.leave(unit, UnitEvent.END)
            self.states.unschedulable.not_placed(unit)

    def wake(self, unit: Unit, now: float) -> None:
        """Retry an unschedulable unit.

        If no class can be probed, the cure is uncertain, so the unit waits for the rest of its
        back-off. The back-off began at the last attempt.
        """
        if unit.blocking_class == NO_CLASS and now < unit.not_before:
            self.back_off(unit, unit.not_before)
        else:
            self.enter_queue(unit, UnitEvent.WAKE)

    def park_untried(self, unit: Unit, now: float) -> bool:
        """Park a dequeued unit without an attempt if its class is closed."""
        class_id = self._closed_class(unit)
        if class_id == NO_CLASS:
            return False
        unit.blocking_class, unit.cures = class_id, self.states.unschedulable.closed[class_id].cures
        unit.tick = self.states.unschedulable.tick
        unit.step(UnitEvent.PARK)
        self._park(unit, now, tried=False)
        return True

    def stays_parked(self, unit: Unit) -> bool:
        """Return whether an unschedulable unit with new pods stays parked without a retry."""
        if self._closed_class(unit) != unit.blocking_class or unit.blocking_class == NO_CLASS:
            return False
        self.step_rows(unit.pending, PARKED)
        return True

    def _closed_class(self, unit: Unit) -> int:
        """The class of all pending pods of a unit if it is closed; -1 otherwise."""
        if unit.is_gang or unit.kind is UnitKind.POD_GROUP:
            return NO_CLASS
        class_ids = self._pods.class_id
        class_id = int(class_ids[unit.pending[0]])
        known = self.states.unschedulable.closed.get(class_id)
        if known is None or not known.holds_back(unit):
            return NO_CLASS
        if any(int(class_ids[row]) != class_id for row in unit.pending[1:]):
            return NO_CLASS
        return class_id

    # ------------------------------------------------------------ members

    def forget(self, unit: Unit, rows: AbstractSet[int]) -> None:
        """Remove rows from the unit."""
        self._take_back(unit, rows)
        unit.remove(rows)

    def hold(self, unit: Unit, rows: AbstractSet[int]) -> None:
        """Mark rows of the unit as placed."""
        self._take_back(unit, rows)
        unit.mark_placed(rows)

    def change_queue(self, unit: Unit, name: str) -> None:
        """Move a unit to another queue, behind its units."""
        before, after = self.states.queues.get(unit.queue), self.states.queues.get(name)
        if unit.state is UnitState.UNSCHEDULABLE:
            self.enter_queue(unit, UnitEvent.WAKE)
        self.states.queues.unblock(unit)
        if self.states.usage is not None:
            self.states.usage.move(unit, name)
        unit.queue, unit.sequence = name, self.states.units.sequence()
        if unit.state is UnitState.QUEUED:
            self.states.queues.push(unit)
            before.order.discard()
        elif unit.state is UnitState.BACKOFF:
            unit.rank = after.order.rank(unit)
            self.states.queues.block(unit)
        elif unit.state is UnitState.DISPATCHED:
            before.away -= before.blocking
            after.away += after.blocking
            self.states.queues.turns.enlist(before)

    def need_changed(self, unit: Unit) -> bool:
        """Return whether the wait group of an unschedulable unit has changed."""
        return self.states.unschedulable.key_of(unit) != self._wait_group(unit)

    def queue_rows(self, rows: Collection[int]) -> None:
        """Set pods that may be queued to pending."""
        self.step_rows(rows, BACK_IN_QUEUE)

    def step_rows(self, rows: Collection[int], after: dict[int, int]) -> None:
        """Move the pods whose state allows it; the others keep their state."""
        states = self._pods.state
        if len(rows) > FEW:
            index = np.array(rows, np.int64)
            states[index] = [after.get(state, state) for state in states[index].tolist()]
            return
        for row in rows:
            found = after.get(int(states[row]))
            if found is not None:
                states[row] = found

    def _wait_group(self, unit: Unit) -> WaitGroupKey:
        """The wait group of a unit.

        ``need`` counts only pods of the blamed class, because pods of other classes may complete
        the gang.
        """
        need, others = unit.still_needed, 0
        if need > 1:
            classes = self._pods.class_id[np.array(unit.pending, np.int64)]
            others = int(np.count_nonzero(classes != unit.blocking_class))
        return WaitGroupKey(
            unit.blocking_class, unit.cures, unit.queue, max(1, need - others), others > 0
        )

    def _take_back(self, unit: Unit, rows: AbstractSet[int]) -> None:
        if unit.away:
            self.states.shards.pods[unit.shard] -= unit.answered(rows)
