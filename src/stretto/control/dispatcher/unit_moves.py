"""Moves units between states, each move along the state tables.

A unit is forming, queued, dispatched, in back-off, unschedulable, or finished (placed, failed,
gone). All other parts move units through this module, so that the state of a unit, the states of
its pods and the container that holds it change together.
"""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from stretto.control.dispatcher.shards import Shards
from stretto.control.dispatcher.transitions import (
    BACK_IN_QUEUE,
    BROKEN,
    DELAYED,
    PARKED,
    WAYS_TO_BACK_OFF,
    WAYS_TO_QUEUE,
)
from stretto.control.dispatcher.waiting.delays import DelayedUnits
from stretto.control.dispatcher.waiting.failures import FailureReason, UnitFailure
from stretto.control.dispatcher.waiting.pool import NO_CLASS, WaitingUnits
from stretto.control.dispatcher.waiting.wait_groups import WaitGroupKey
from stretto.control.load_policies import load_policy
from stretto.control.queues.config import DispatcherConfig
from stretto.control.queues.fairness import TreeTurns, make_turns
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.queues import UnitQueues
from stretto.control.queues.round_robin import QueueTurns
from stretto.state.queries.pool import PoolView
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import UnitEvent, UnitState
from stretto.state.rows.pods import Pods
from stretto.state.work.units import Cure, Unit, UnitKind, UnitOutcome, Units

FEW: Final = 4
"""Number of rows up to which a Python loop is faster than NumPy."""


class UnitStates:
    """The containers of units, one for each state."""

    def __init__(
        self, pods: Pods, units: Units, config: DispatcherConfig, pool: PoolView | None = None
    ) -> None:
        """Start with all containers empty.

        Raises:
            ValueError: the configuration counts usage, and ``pool`` is missing.
        """
        #: The pods, whose states move with their units.
        self.pods = pods
        #: The table of units.
        self.units = units
        #: The configuration.
        self.config = config
        self._pool = pool
        #: Usage of queues; ``None`` if no policy counts usage.
        self.usage: QueueUsage | None = None
        if config.counts_usage:
            self.usage = QueueUsage(pods, units, self.need_pool())
        #: Whether pods that ran before counting began are not counted yet.
        self.uncounted: bool = self.usage is not None
        turns = make_turns(config, self.usage)
        #: Queued units.
        self.queues = UnitQueues(config, turns)
        #: Unschedulable units, which wait for a cure.
        self.unschedulable = WaitingUnits(config.safety_net)
        self.wake_in_turns(turns)
        #: Faults of unreadable Queue objects, by name.
        self.queue_faults: dict[str, str] = {}
        #: Units in back-off.
        self.delays = DelayedUnits()
        #: Gangs with a deadline.
        self.deadlines = DelayedUnits()
        #: The shards and their load.
        self.shards = Shards(load_policy(config.dispatch, "profile: stretto.dispatch"))
        #: Units that failed since the caller's last read.
        self.failures: list[UnitFailure] = []
        #: Failure of each failed unit that exists.
        self.given_up: dict[Unit, UnitFailure] = {}
        #: Faults of units whose PodGroup is inconsistent.
        self.faults: dict[Unit, str] = {}
        #: Units in back-off.
        self.delayed: int = 0
        #: Number of forming units.
        self.forming: int = 0

    def need_pool(self) -> PoolView:
        """The cluster as one pool.

        Raises:
            ValueError: the configuration counts usage, and there is no pool.
        """
        if self._pool is None:
            raise ValueError("DRF, fair share and backfill need the pool: pass one")
        return self._pool

    def wake_in_turns(self, turns: QueueTurns) -> None:
        """Wake unschedulable units in the order of these turns."""
        self.unschedulable.standing = turns.standing if isinstance(turns, TreeTurns) else None
        if isinstance(turns, TreeTurns):
            turns.on_rest = self._rest

    def _rest(self, queue: UnitQueue) -> None:
        """A limit holds a queue back: the capacity that its units were woken for may fit others."""
        if self.unschedulable.is_watching:
            for unit in self.unschedulable.stuck(queue.name):
                self.unschedulable.not_placed(unit)

    # ------------------------------------------------------------ exit

    def leave(self, unit: Unit, event: UnitEvent) -> None:
        """Step a unit by an event and remove it from its container."""
        before = unit.state
        unit.step(event)
        if before is UnitState.DISPATCHED:
            self.shards.release_unit(unit)
            if self.usage is not None:
                self.usage.back(unit)
            self.queues.unit_returned(unit)
        elif before is UnitState.QUEUED:
            self.queues.get(unit.queue).order.discard()
            self.queues.turns.enlist(self.queues.get(unit.queue))
        elif before is UnitState.BACKOFF:
            self.delayed -= 1
            self.queues.unblock(unit)
        elif before is UnitState.UNSCHEDULABLE:
            if unit.wait_group >= 0:
                self.unschedulable.discard(unit)
            self.queues.unblock(unit)
        elif before is UnitState.FORMING:
            self.forming -= 1
        elif before is UnitState.FAILED:
            self.given_up.pop(unit, None)

    # ------------------------------------------------------------ the moves

    def enter_forming(self, unit: Unit) -> None:
        """Wait for the missing pods of the unit."""
        if unit.state is UnitState.FAILED:
            self.leave(unit, UnitEvent.REVIVE)
            unit.step(UnitEvent.SHRINK)
        else:
            self.leave(unit, UnitEvent.SHRINK)
        self.forming += 1
        self.step_rows(unit.pending, BACK_IN_QUEUE)
        self.unschedulable.not_placed(unit)

    def enter_queue(self, unit: Unit, event: UnitEvent) -> None:
        """Queue the unit by its rank."""
        self.leave(unit, event)
        self.step_rows(unit.pending, BACK_IN_QUEUE)
        self.queues.push(unit)

    def requeue(self, unit: Unit) -> None:
        """Queue the unit again, because its rank has changed or is about to change."""
        self.queues.get(unit.queue).order.discard()
        self.queues.push(unit)

    def back_off(self, unit: Unit, until: float) -> None:
        """Back off until a clock time."""
        way = WAYS_TO_BACK_OFF[unit.state]
        self.leave(unit, way[0])
        for event in way[1:]:
            unit.step(event)
        unit.not_before = until
        self.step_rows(unit.pending, DELAYED)
        self.delayed += 1
        self.delays.add(unit, until)
        self.queues.block(unit)
        self.unschedulable.not_placed(unit)

    def wait_for_cure(self, unit: Unit, now: float) -> None:
        """Wait for an event that may cure the failure (``blame`` and ``cures``)."""
        self.leave(unit, UnitEvent.PARK)
        if not unit.is_gang and unit.kind is not UnitKind.POD_GROUP:
            self.unschedulable.close(unit)
        self._park(unit, now, tried=True)

    def _park(self, unit: Unit, now: float, tried: bool) -> None:
        """Add a unit that has just become unschedulable to its wait group."""
        self.step_rows(unit.pending, PARKED)
        self.unschedulable.add(unit, self._wait_group(unit), now, tried)
        self.queues.block(unit)

    def finish(self, unit: Unit) -> None:
        """Every pod of the unit is claimed or bound."""
        if unit.state is UnitState.FAILED:
            self.leave(unit, UnitEvent.REVIVE)
            unit.step(UnitEvent.PLACE)
        elif unit.state is not UnitState.PLACED:
            self.leave(unit, UnitEvent.PLACE)
        self.unschedulable.placed(unit)

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
        if self.given_up.get(unit) != failure:
            self.given_up[unit] = failure
            self.failures.append(failure)
        self.unschedulable.not_placed(unit)

    def end(self, unit: Unit) -> None:
        """The unit has no pods."""
        if unit.state is not UnitState.GONE:
            self.leave(unit, UnitEvent.END)
            self.unschedulable.not_placed(unit)

    def wake(self, unit: Unit, now: float) -> None:
        """Retry an unschedulable unit.

        If no class can be probed, the unit backs off first, because its cure is uncertain.
        """
        if unit.blame == NO_CLASS and unit.attempts:
            self.back_off(unit, now + self.config.delay(unit.attempts))
        else:
            self.enter_queue(unit, UnitEvent.WAKE)

    def park_untried(self, unit: Unit, now: float) -> bool:
        """Park a dequeued unit without an attempt if its class is closed."""
        class_id = self._closed_class(unit)
        if class_id == NO_CLASS:
            return False
        unit.blame, unit.cures = class_id, self.unschedulable.closed[class_id][0]
        unit.tick = self.unschedulable.tick
        unit.step(UnitEvent.PARK)
        self._park(unit, now, tried=False)
        return True

    def stays_parked(self, unit: Unit) -> bool:
        """Whether an unschedulable unit with new pods need not be retried."""
        if self._closed_class(unit) != unit.blame or unit.blame == NO_CLASS:
            return False
        self.step_rows(unit.pending, PARKED)
        return True

    def _closed_class(self, unit: Unit) -> int:
        """The class of all pending pods of a unit if it is closed; -1 otherwise."""
        if unit.is_gang or unit.kind is UnitKind.POD_GROUP:
            return NO_CLASS
        class_ids = self.pods.class_id
        class_id = int(class_ids[unit.pending[0]])
        known = self.unschedulable.closed.get(class_id)
        if known is None or unit.priority > known[1]:
            return NO_CLASS
        if any(int(class_ids[row]) != class_id for row in unit.pending[1:]):
            return NO_CLASS
        return class_id

    # ------------------------------------------------------------ after an attempt

    def conclude(self, unit: Unit, now: float) -> None:
        """The last answer of an attempt has arrived: move the unit by its outcome."""
        outcome, unit.outcome = unit.outcome, UnitOutcome.NONE
        if self.settle_down(unit, now) or unit.state is UnitState.FAILED:
            return
        if outcome is UnitOutcome.NO_PLACE:
            self._no_place(unit, now)
        elif outcome is UnitOutcome.BACK_OFF:
            if unit.state is not UnitState.BACKOFF:
                self.back_off(unit, unit.not_before)
        elif unit.state in WAYS_TO_QUEUE:
            self.enter_queue(unit, WAYS_TO_QUEUE[unit.state])

    def settle_down(self, unit: Unit, now: float) -> bool:
        """Move a unit that is fully placed, failed or short of pods; returns whether it moved."""
        if unit.bound and unit.still_needed > 0 and now < unit.deadline < np.inf:
            self.deadlines.add(
                unit, unit.deadline
            )  # it was removed while the whole gang was claimed
        if not unit.pending:
            self.finish(unit)
        elif unit in self.faults:
            self.fail(unit, FailureReason.ABNORMAL, self.faults[unit])
        elif unit.state is UnitState.FAILED:
            return False
        elif now >= unit.deadline and unit.still_needed > 0:
            self.fail_late_gang(unit)
        elif not unit.is_complete:
            if unit.state is not UnitState.FORMING:
                self.enter_forming(unit)
        else:
            return False
        return True

    def fail_late_gang(self, unit: Unit) -> None:
        """Fail a gang whose deadline has passed."""
        if unit.is_complete:
            message = f"timed out: no capacity for {unit.still_needed} pods together"
        else:
            message = f"timed out: {unit.size} of the {unit.min_member} pods it needs exist"
        self.fail(unit, FailureReason.TIMED_OUT, message)

    def _no_place(self, unit: Unit, now: float) -> None:
        """Handle an attempt that found no node: fail, back off or wait for a cure."""
        if not self.config.retry:
            self.fail(unit, FailureReason.NO_PLACE, "fits on no node")
            return
        several = self._is_several(unit)
        if unit.cures == Cure.NONE or unit.blame == NO_CLASS or several:
            unit.attempts += 1
        if several:
            self._put_last(unit, unit.blame)
        if unit.cures == Cure.NONE or several:
            self.back_off(unit, now + self.config.delay(unit.attempts))
            return
        self.wait_for_cure(unit, now)

    def _is_several(self, unit: Unit) -> bool:
        """Whether single pods of several classes are pending in the unit.

        Such a unit backs off, because an event that cures one class need not cure the blamed one,
        and some of its pods may not have been tried.
        """
        if len(unit.pending) < 2 or unit.still_needed > 1:
            return False
        classes = self.pods.class_id[np.array(unit.pending, np.int64)]
        return bool((classes != classes[0]).any())

    def _put_last(self, unit: Unit, class_id: int) -> None:
        """Move pods of the class behind those of other classes."""
        classes = self.pods.class_id
        unit.pending = sorted(unit.pending, key=lambda row: int(classes[row]) == class_id)

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
        before, after = self.queues.get(unit.queue), self.queues.get(name)
        if unit.state is UnitState.UNSCHEDULABLE:
            self.enter_queue(unit, UnitEvent.WAKE)
        self.queues.unblock(unit)
        if self.usage is not None:
            self.usage.move(unit, name)
        unit.queue, unit.sequence = name, self.units.sequence()
        if unit.state is UnitState.QUEUED:
            self.queues.push(unit)
            before.order.discard()
        elif unit.state is UnitState.BACKOFF:
            unit.rank = after.order.rank(unit)
            self.queues.block(unit)
        elif unit.state is UnitState.DISPATCHED:
            before.away -= before.blocking
            after.away += after.blocking
            self.queues.turns.enlist(before)

    def need_changed(self, unit: Unit) -> bool:
        """Whether the wait group of an unschedulable unit has changed."""
        return self.unschedulable.key_of(unit) != self._wait_group(unit)

    def queue_rows(self, rows: Collection[int]) -> None:
        """Set pods that may be queued to pending."""
        self.step_rows(rows, BACK_IN_QUEUE)

    def step_rows(self, rows: Collection[int], after: dict[int, int]) -> None:
        """Move the pods whose state allows it; the others keep their state."""
        states = self.pods.state
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

        ``need`` counts only pods of the blamed class: pods of other classes may make up the rest of
        a gang.
        """
        need, others = unit.still_needed, 0
        if need > 1:
            classes = self.pods.class_id[np.array(unit.pending, np.int64)]
            others = int(np.count_nonzero(classes != unit.blame))
        return WaitGroupKey(unit.blame, unit.cures, unit.queue, max(1, need - others), others > 0)

    def _take_back(self, unit: Unit, rows: AbstractSet[int]) -> None:
        if unit.away:
            self.shards.pods[unit.shard] -= unit.answered(rows)
