"""Returns waiting units to their queues: after cures, back-offs, deadlines and the safety net."""

from stretto.control.dispatcher.states.attempts import fail_late_gang, is_late
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.waiting.broken_gangs import BrokenGangs
from stretto.control.dispatcher.waiting.pool import Probe
from stretto.state.queries.pool import PoolView
from stretto.state.rows.lifecycle import (
    UnitEvent,
    UnitState,
)
from stretto.state.work.units import Cure, Unit


class UnitTimers:
    """Wakes unschedulable units and units in back-off, and fails late gangs."""

    def __init__(
        self, moves: UnitMoves, broken_gangs: BrokenGangs, pool: PoolView | None = None
    ) -> None:
        """Wake units of these states; late gangs with placed pods go to ``broken_gangs``."""
        self._moves = moves
        self._states = moves.states
        self._broken_gangs = broken_gangs
        self._pool = pool

    def wake(self, cures: Cure, probe: Probe, now: float) -> int:
        """Requeue the unschedulable units that events may have cured; returns the number of units.

        Args:
            cures: the events since the last call, OR-ed; call the method once per round even
                without events.
            probe: class id to an upper bound of the pods of the class that fit now.
            now: clock time.
        """
        places, count = self._states, 0
        requesters = self._pool.requesters() if self._pool is not None else None
        woken = places.unschedulable.cured(int(cures), probe, now, requesters)
        while woken:
            count += len(woken)
            for unit in woken:
                self._moves.wake(unit, now)
            stuck = [unit for unit in woken if places.queues.is_behind_blocked_head(unit)]
            for unit in stuck:
                places.unschedulable.not_placed(unit)
            woken = places.unschedulable.cured(0, probe, now) if stuck else []
        if cures & ~Cure.POD_EVICTABLE:
            places.queues.retry_backfill()
        return count

    def due(self, now: float) -> None:
        """End back-offs, fail late gangs and retry the units of the safety net."""
        places = self._states
        for until, unit in places.delays.pop_due(now) if now >= places.delays.earliest else ():
            if _is_delayed(until, unit):
                self._moves.enter_queue(unit, UnitEvent.WAKE)
        deadlines = places.deadlines
        for until, unit in deadlines.pop_due(now) if now >= deadlines.earliest else ():
            if not _is_awaited(until, unit) or unit.state is UnitState.DISPATCHED:
                continue
            if not is_late(self._moves, unit, now):
                continue
            if unit.bound:
                self._broken_gangs.add(unit, now)
            if unit.state is not UnitState.PLACED:
                fail_late_gang(self._moves, unit)
        waiting = places.unschedulable
        for unit in waiting.overdue(now) if now >= waiting.check_at else ():
            self._moves.enter_queue(unit, UnitEvent.WAKE)

    def next_due(self) -> float:
        """Clock time at which ``due`` or ``wake`` has work without an event; the past means now."""
        places = self._states
        due = places.unschedulable.next_check()
        if self._broken_gangs:
            due = min(due, self._broken_gangs.next_due())
        for delayed, counts in ((places.delays, _is_delayed), (places.deadlines, _is_awaited)):
            if delayed.earliest < due:
                due = min(due, delayed.next_due(counts))
        return due


def _is_delayed(until: float, unit: Unit) -> bool:
    return unit.state is UnitState.BACKOFF and unit.not_before == until


def _is_awaited(until: float, unit: Unit) -> bool:
    over = (UnitState.FAILED, UnitState.GONE)
    return unit.deadline == until and unit.still_needed > 0 and unit.state not in over
