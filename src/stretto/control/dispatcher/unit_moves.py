"""The moves of units between the places where they can be, each lawful by the tables.

A unit is in exactly one place: forming, a queue, a shard, back-off, the waiting room, or done with
(placed, failed, gone). Whoever learns something about a unit comes here to move it, so that the
unit's state, its pods' states and the place always change together.
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
from stretto.control.queues.usage import QueueUsage
from stretto.state.queries.pool import PoolView
from stretto.state.rows.lifecycle import UnitEvent, UnitState
from stretto.state.rows.pods import Pods
from stretto.state.work.units import Cure, Unit, UnitKind, UnitOutcome, Units

FEW: Final = 4
"""Rows that are quicker looked at one by one."""


class UnitStates:
    """Every place where a unit can be."""

    def __init__(
        self, pods: Pods, units: Units, config: DispatcherConfig, pool: PoolView | None = None
    ) -> None:
        """Start with all places empty.

        Raises:
            ValueError: what is configured asks for usage, and there is no pool to count in.
        """
        #: The pods, whose states move with their units.
        self.pods = pods
        #: The table of units.
        self.units = units
        #: What may be set.
        self.config = config
        self._pool = pool
        #: What queues hold, where anything asks for it.
        self.usage: QueueUsage | None = None
        if config.counts_usage:
            self.usage = QueueUsage(pods, units, self.need_pool())
        #: Pods that ran before anything was counted are not counted yet.
        self.uncounted: bool = self.usage is not None
        turns = make_turns(config, self.usage)
        #: Units that wait for their turn.
        self.queues = UnitQueues(config, turns)
        #: Units that wait for a cure.
        self.sleepers = WaitingUnits(config.safety_net)
        self.wake_in_turns(turns)
        #: What is wrong with Queue objects that could not be read, by name.
        self.queue_faults: dict[str, str] = {}
        #: Units that wait out a delay.
        self.delays = DelayedUnits()
        #: Gangs that must be scheduled by a time.
        self.deadlines = DelayedUnits()
        #: Shards and what they have.
        self.shards = Shards(load_policy(config.dispatch, "profile: stretto.dispatch"))
        #: Units given up since the caller last looked.
        self.failures: list[UnitFailure] = []
        #: Why a unit that is given up was, while it exists.
        self.given_up: dict[Unit, UnitFailure] = {}
        #: What is wrong with units whose PodGroup contradicts itself.
        self.faults: dict[Unit, str] = {}
        #: Units in back-off.
        self.delayed: int = 0
        #: Units that do not have the pods they need yet.
        self.forming: int = 0

    def need_pool(self) -> PoolView:
        """The cluster as one pool.

        Raises:
            ValueError: what is configured asks for usage, and there is no pool to count in.
        """
        if self._pool is None:
            raise ValueError("DRF, fair share and backfill need the pool: pass one")
        return self._pool

    def wake_in_turns(self, turns: QueueTurns) -> None:
        """Let sleepers wake in the order of these turns."""
        self.sleepers.standing = turns.standing if isinstance(turns, TreeTurns) else None
        if isinstance(turns, TreeTurns):
            turns.on_rest = self._rest

    def _rest(self, queue: UnitQueue) -> None:
        """Limits keep a queue: the room that its units were woken for may serve others."""
        if self.sleepers.is_watching:
            for unit in self.sleepers.stuck(queue.name):
                self.sleepers.left(unit)

    # ------------------------------------------------------------ leaving

    def leave(self, unit: Unit, event: UnitEvent) -> None:
        """Step a unit by an event and take it out of the place where it was."""
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
            if unit.ward >= 0:
                self.sleepers.discard(unit)
            self.queues.unblock(unit)
        elif before is UnitState.FORMING:
            self.forming -= 1
        elif before is UnitState.FAILED:
            self.given_up.pop(unit, None)

    # ------------------------------------------------------------ the moves

    def enter_forming(self, unit: Unit) -> None:
        """Wait until the pods that are needed exist."""
        if unit.state is UnitState.FAILED:
            self.leave(unit, UnitEvent.REVIVE)
            unit.step(UnitEvent.SHRINK)
        else:
            self.leave(unit, UnitEvent.SHRINK)
        self.forming += 1
        self.step_rows(unit.pending, BACK_IN_QUEUE)
        self.sleepers.left(unit)

    def enter_queue(self, unit: Unit, event: UnitEvent) -> None:
        """Wait for its turn, at its place in the order."""
        self.leave(unit, event)
        self.step_rows(unit.pending, BACK_IN_QUEUE)
        self.queues.push(unit)

    def requeue(self, unit: Unit) -> None:
        """Wait for its turn at another place: its rank is about to change or has changed."""
        self.queues.get(unit.queue).order.discard()
        self.queues.push(unit)

    def back_off(self, unit: Unit, until: float) -> None:
        """Wait out a delay."""
        way = WAYS_TO_BACK_OFF[unit.state]
        self.leave(unit, way[0])
        for event in way[1:]:
            unit.step(event)
        unit.not_before = until
        self.step_rows(unit.pending, DELAYED)
        self.delayed += 1
        self.delays.add(unit, until)
        self.queues.block(unit)
        self.sleepers.left(unit)

    def sleep(self, unit: Unit, now: float) -> None:
        """Wait for an event that may cure what ``blame`` and ``cures`` say."""
        self.leave(unit, UnitEvent.PARK)
        if not unit.is_gang and unit.kind is not UnitKind.POD_GROUP:
            self.sleepers.close(unit)
        self._park(unit, now, tried=True)

    def _park(self, unit: Unit, now: float, tried: bool) -> None:
        """Put a unit that has just become unschedulable into the waiting room."""
        self.step_rows(unit.pending, PARKED)
        self.sleepers.add(unit, self._wait_group(unit), now, tried)
        self.queues.block(unit)

    def finish(self, unit: Unit) -> None:
        """Every pod it has is claimed or bound."""
        if unit.state is UnitState.FAILED:
            self.leave(unit, UnitEvent.REVIVE)
            unit.step(UnitEvent.PLACE)
        elif unit.state is not UnitState.PLACED:
            self.leave(unit, UnitEvent.PLACE)
        self.sleepers.placed(unit)

    def fail(self, unit: Unit, reason: FailureReason, message: str) -> None:
        """Give a unit up."""
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
        self.sleepers.left(unit)

    def end(self, unit: Unit) -> None:
        """None of its pods is left."""
        if unit.state is not UnitState.GONE:
            self.leave(unit, UnitEvent.END)
            self.sleepers.left(unit)

    def wake(self, unit: Unit, now: float) -> None:
        """A sleeper may have a chance now.

        Where no class can be probed the chance is only a guess, so the delay comes first.
        """
        if unit.blame == NO_CLASS and unit.attempts:
            self.back_off(unit, now + self.config.delay(unit.attempts))
        else:
            self.enter_queue(unit, UnitEvent.WAKE)

    def park_untried(self, unit: Unit, now: float) -> bool:
        """Put a unit that has left its queue to sleep untried, if its class fits nowhere."""
        class_id = self._closed_class(unit)
        if class_id == NO_CLASS:
            return False
        unit.blame, unit.cures = class_id, self.sleepers.closed[class_id][0]
        unit.tick = self.sleepers.tick
        unit.step(UnitEvent.PARK)
        self._park(unit, now, tried=False)
        return True

    def stays_parked(self, unit: Unit) -> bool:
        """Whether a sleeper that has got more pods need not be tried for them."""
        if self._closed_class(unit) != unit.blame or unit.blame == NO_CLASS:
            return False
        self.step_rows(unit.pending, PARKED)
        return True

    def _closed_class(self, unit: Unit) -> int:
        """The one class of all waiting pods of a unit, if that is known to fit nowhere; or -1."""
        if unit.is_gang or unit.kind is UnitKind.POD_GROUP:
            return NO_CLASS
        class_ids = self.pods.class_id
        class_id = int(class_ids[unit.pending[0]])
        known = self.sleepers.closed.get(class_id)
        if known is None or unit.priority > known[1]:
            return NO_CLASS
        if any(int(class_ids[row]) != class_id for row in unit.pending[1:]):
            return NO_CLASS
        return class_id

    # ------------------------------------------------------------ after an attempt

    def conclude(self, unit: Unit, now: float) -> None:
        """The last answer of an attempt is in: move the unit to where the answers send it."""
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
        """Move a unit that has all it wants, or lacks what it needs; whether it was moved."""
        if unit.bound and unit.still_needed > 0 and now < unit.deadline < np.inf:
            self.deadlines.add(unit, unit.deadline)  # dropped while all of it was claimed
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
        """Give up a gang whose time is over."""
        if unit.is_complete:
            message = f"timed out: no room for {unit.still_needed} pods together"
        else:
            message = f"timed out: {unit.size} of the {unit.min_member} pods it needs exist"
        self.fail(unit, FailureReason.TIMED_OUT, message)

    def _no_place(self, unit: Unit, now: float) -> None:
        """After a "no": give up, wait out a delay, or sleep."""
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
        self.sleep(unit, now)

    def _is_several(self, unit: Unit) -> bool:
        """Whether pods of several classes wait one by one: the "no" to one says little of others.

        Such a unit does not sleep, because what cures one of its pods need not cure the one to
        blame, and some of them may not have been tried at all.
        """
        if len(unit.pending) < 2 or unit.still_needed > 1:
            return False
        classes = self.pods.class_id[np.array(unit.pending, np.int64)]
        return bool((classes != classes[0]).any())

    def _put_last(self, unit: Unit, class_id: int) -> None:
        """Let pods of other classes be tried first."""
        classes = self.pods.class_id
        unit.pending = sorted(unit.pending, key=lambda row: int(classes[row]) == class_id)

    # ------------------------------------------------------------ members

    def forget(self, unit: Unit, rows: AbstractSet[int]) -> None:
        """Rows are the unit's no longer."""
        self._take_back(unit, rows)
        unit.remove(rows)

    def hold(self, unit: Unit, rows: AbstractSet[int]) -> None:
        """Rows of the unit have a node."""
        self._take_back(unit, rows)
        unit.mark_placed(rows)

    def change_queue(self, unit: Unit, name: str) -> None:
        """Let a unit go on in another queue, behind those that are there."""
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
        """Whether a sleeper needs more or fewer pods than when it went to sleep."""
        return self.sleepers.key_of(unit) != self._wait_group(unit)

    def queue_rows(self, rows: Collection[int]) -> None:
        """Make pods wait for a place, wherever they were on the way to one."""
        self.step_rows(rows, BACK_IN_QUEUE)

    def step_rows(self, rows: Collection[int], after: dict[int, int]) -> None:
        """Move the pods that may make the move; the others are on another walk and stay."""
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
        """Where a unit sleeps.

        As few pods of the class to blame must fit before another attempt makes sense: pods of
        other classes may make up the rest of a gang.
        """
        need, others = unit.still_needed, 0
        if need > 1:
            classes = self.pods.class_id[np.array(unit.pending, np.int64)]
            others = int(np.count_nonzero(classes != unit.blame))
        return WaitGroupKey(unit.blame, unit.cures, unit.queue, max(1, need - others), others > 0)

    def _take_back(self, unit: Unit, rows: AbstractSet[int]) -> None:
        if unit.away:
            self.shards.pods[unit.shard] -= unit.answered(rows)
