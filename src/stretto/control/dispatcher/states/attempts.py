"""The end of an attempt: moves a unit after the answers of shard, binder and store."""

import numpy as np

from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.states.transitions import WAYS_TO_QUEUE
from stretto.control.dispatcher.waiting.failures import FailureReason
from stretto.control.dispatcher.waiting.pool import NO_CLASS
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import NO_GROUP, Cure, Unit, UnitOutcome


def conclude(moves: UnitMoves, unit: Unit, now: float) -> None:
    """Move a unit after the last answer of an attempt."""
    outcome, unit.outcome = unit.outcome, UnitOutcome.NONE
    if settle_down(moves, unit, now) or unit.state is UnitState.FAILED:
        return
    if outcome is UnitOutcome.NO_PLACE:
        _no_place(moves, unit, now)
    elif outcome is UnitOutcome.BACK_OFF:
        if unit.state is not UnitState.BACKOFF:
            moves.back_off(unit, unit.not_before)
    elif unit.state in WAYS_TO_QUEUE:
        moves.enter_queue(unit, WAYS_TO_QUEUE[unit.state])


def settle_down(moves: UnitMoves, unit: Unit, now: float) -> bool:
    """Move a unit that is fully placed, failed or short of pods; returns whether it moved."""
    if unit.bound and unit.still_needed > 0 and now < unit.deadline < np.inf:
        moves.states.deadlines.add(
            unit, unit.deadline
        )  # it was removed while the whole gang was claimed
    if unit.bound and len(unit.bound) < unit.min_member < NO_GROUP:
        moves.states.incomplete.setdefault(unit, now)
    if not unit.pending:
        moves.finish(unit)
    elif unit in moves.states.faults:
        moves.fail(unit, FailureReason.ABNORMAL, moves.states.faults[unit])
    elif unit.state is UnitState.FAILED:
        return False
    elif is_late(moves, unit, now):
        fail_late_gang(moves, unit)
    elif not unit.is_complete:
        if unit.state is not UnitState.FORMING:
            moves.enter_forming(unit)
    else:
        return False
    return True


def is_late(moves: UnitMoves, unit: Unit, now: float) -> bool:
    """Return whether the deadline of a gang has passed.

    The deadline is postponed while the gang waits for capacity.
    """
    if now < unit.deadline or unit.still_needed == 0:
        return False
    if not unit.waits_for_capacity:
        return True
    unit.start_by(now + moves.states.config.schedule_timeout, has_default_deadline=True)
    moves.states.deadlines.add(unit, unit.deadline)
    return False


def fail_late_gang(moves: UnitMoves, unit: Unit) -> None:
    """Fail a gang whose deadline has passed."""
    if unit.is_complete and unit.state is UnitState.QUEUED and not unit.attempts:
        message = f"timed out: held back by a limit or by other units of queue {unit.queue}"
    elif unit.is_complete:
        message = f"timed out: no capacity for {unit.still_needed} pods together"
    else:
        message = f"timed out: {unit.size} of the {unit.min_member} pods it needs exist"
    moves.fail(unit, FailureReason.TIMED_OUT, message)


def _no_place(moves: UnitMoves, unit: Unit, now: float) -> None:
    """Handle an attempt that found no node: fail, back off or wait for a cure."""
    if not moves.states.config.retry:
        moves.fail(unit, FailureReason.NO_PLACE, "fits on no node")
        return
    several = _is_several(moves, unit)
    uncertain = unit.cures == Cure.NONE or unit.blocking_class == NO_CLASS or several
    if uncertain and not moves.states.unschedulable.is_canary(unit):
        unit.count_failure(now + moves.states.config.delay(unit.attempts + 1))
    if several:
        _put_last(moves, unit, unit.blocking_class)
    if unit.cures == Cure.NONE or several:
        moves.back_off(unit, max(unit.not_before, now + moves.states.config.first_delay))
        return
    moves.wait_for_cure(unit, now)


def _is_several(moves: UnitMoves, unit: Unit) -> bool:
    """Return whether single pods of several classes are pending in the unit.

    Such a unit backs off, because an event that cures one class may not cure the blamed one, and
    some of its pods may not have been tried.
    """
    if len(unit.pending) < 2 or unit.still_needed > 1:
        return False
    classes = moves.states.pods.class_id[np.array(unit.pending, np.int64)]
    return bool((classes != classes[0]).any())


def _put_last(moves: UnitMoves, unit: Unit, class_id: int) -> None:
    """Move pods of the class behind those of other classes."""
    classes = moves.states.pods.class_id
    unit.pending = sorted(unit.pending, key=lambda row: int(classes[row]) == class_id)
