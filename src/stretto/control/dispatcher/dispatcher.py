"""The dispatcher: forms units, orders them and dispatches them to shards.

A dispatcher is one object, used by one thread. Batches of changes and answers go in, work for the
shards comes out. It never reads a node. Each call gets the current time.

    absorb(changes)   pods, PodGroups and queues that were added, changed or deleted
    wake(cures)       requeue units that an event may cure
    due()             back-offs, deadlines, the safety net
    dispatch(capacity)  work by shard
    placed(rows)      claims that were granted
    settle(refused)   claims that were refused
    set_back(...)     pods that shards could not place
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.control.dispatcher.answers import Answers, Refusal
from stretto.control.dispatcher.audit import audit
from stretto.control.dispatcher.intake import UnitTracker
from stretto.control.dispatcher.reclaimer import Reclaimer, ReclaimNodes
from stretto.control.dispatcher.shards import DispatchRound, capacity_of
from stretto.control.dispatcher.unit_moves import UnitStates
from stretto.control.dispatcher.views import UnitViews
from stretto.control.dispatcher.waiting.broken_gangs import BrokenGangs
from stretto.control.dispatcher.waiting.failures import UnitFailure
from stretto.control.dispatcher.waiting.pool import Probe
from stretto.control.queues.backfill import reserve, within_limits
from stretto.control.queues.config import DispatcherConfig
from stretto.control.queues.orders import UnitOrder
from stretto.control.queues.queue import UnitQueue
from stretto.state.queries.pool import PoolView
from stretto.state.queues.end_times import micros
from stretto.state.rows.lifecycle import (
    UNIT_LIFE,
    PodEvent,
    PodState,
    UnitEvent,
    UnitState,
    step_pods,
)
from stretto.state.rows.pods import Pods
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.evictions import EvictionOrder, short_of
from stretto.state.work.units import Cure, Dispatch, Setback, Unit, UnitKind, Units

_SENT: Final = UNIT_LIFE.next(UnitState.QUEUED, UnitEvent.DISPATCH)


class Dispatcher:
    """Chooses the next unit and the shard that tries it."""

    def __init__(
        self,
        pods: Pods,
        units: Units,
        config: DispatcherConfig | None = None,
        pool: PoolView | None = None,
    ) -> None:
        """Start with no unit and no shard; DRF, fair share and backfill need the ``pool``."""
        self._pool = pool
        self._places = UnitStates(pods, units, config or DispatcherConfig(), pool)
        self._intake = UnitTracker(self._places)
        self._answers = Answers(self._places)
        #: Evicts borrowing pods for queues below their guarantee.
        self.reclaimer = Reclaimer(self._places)
        self._broken_gangs = BrokenGangs(pods)
        self._pods = pods
        #: Blocking queues that may send more in this round.
        self._sending: list[UnitQueue] = []
        #: Positions, counts and the cure that each unit waits for.
        self.views = UnitViews(self._places, self._intake.groups)

    # ------------------------------------------------------------ what changed

    def absorb(self, changes: ClusterChanges, now: float) -> None:
        """Apply a batch of changes; pass its ``cures`` to ``wake``."""
        gated, places = self._intake.gated, self._places
        if gated and places.usage is not None and not gated.isdisjoint(changes.bound):
            places.uncounted = True  # another binder bound a gated pod, whose queue is unknown
        self._intake.absorb(changes, now)

    def needs_census(self) -> bool:
        """Whether pods on nodes must be reported again to be counted; reading resets the flag."""
        wanted, self._places.uncounted = self._places.uncounted, False
        return wanted

    def wake(self, cures: Cure, probe: Probe, now: float) -> int:
        """Requeue the unschedulable units that events may have cured; returns the number of units.

        Args:
            cures: the events since the last call, OR-ed; also call it without events once a round.
            probe: class id to an upper bound of the pods of the class that fit now.
            now: clock time.
        """
        places, count = self._places, 0
        requesters = self._pool.requesters() if self._pool is not None else None
        woken = places.unschedulable.cured(int(cures), probe, now, requesters)
        while woken:
            count += len(woken)
            for unit in woken:
                places.wake(unit, now)
            stuck = [unit for unit in woken if places.queues.is_behind_blocked_head(unit)]
            for unit in stuck:
                places.unschedulable.not_placed(unit)
            woken = places.unschedulable.cured(0, probe, now) if stuck else []
        if cures:
            places.queues.retry_backfill()
        return count

    def reclaim(self, view: ReclaimNodes, now: float) -> list[EvictionOrder]:
        """Evictions for late incomplete gangs and for queues below their guarantee."""
        return [*self._broken_gangs.orders(now), *self.reclaimer.orders(view, now)]

    def due(self, now: float) -> None:
        """End back-offs, fail late gangs and retry the units of the safety net."""
        places = self._places
        for until, unit in places.delays.pop_due(now):
            if _is_delayed(until, unit):
                places.enter_queue(unit, UnitEvent.WAKE)
        for until, unit in places.deadlines.pop_due(now):
            if not _is_awaited(until, unit) or unit.state is UnitState.DISPATCHED:
                continue
            if unit.bound:
                self._broken_gangs.add(unit, now)
            if unit.state is not UnitState.PLACED:
                places.fail_late_gang(unit)
        for unit in places.unschedulable.overdue(now):
            places.enter_queue(unit, UnitEvent.WAKE)

    def next_due(self) -> float:
        """Clock time at which ``due`` or ``wake`` has work without an event; the past means now."""
        places = self._places
        return min(
            places.delays.next_due(_is_delayed),
            places.deadlines.next_due(_is_awaited),
            places.unschedulable.next_check(),
            self.reclaimer.next_due(),
            self._broken_gangs.next_due(),
        )

    # ------------------------------------------------------------ dispatch

    def capacities(self, batch: int, reported: Sequence[tuple[int, int]]) -> list[int]:
        """The number of pods that each shard accepts now.

        Args:
            batch: pods that a shard places in a cycle.
            reported: (number, pods in its inbox as it reports them) of each shard.
        """
        unanswered = self._places.shards.pods
        return [capacity_of(batch, has, unanswered[number]) for number, has in reported]

    def dispatch(self, now: float, capacity: Sequence[int]) -> list[list[Dispatch]]:
        """Dispatch units in the order of their queues while shards have capacity.

        Args:
            now: clock time.
            capacity: pods that each shard accepts, by number; a gang is dispatched as a whole if
                there is capacity for one pod.

        Returns:
            The work of each shard, in order.
        """
        turns = self._places.queues.turns
        turns.begin()
        current = DispatchRound(self._places.shards, capacity)
        while current.has_capacity:
            queue = turns.pick()
            if queue is None:
                break
            turns.charge(queue, self._send_from(queue, current, now))
        for queue in self._sending:
            queue.stop_sending()
        self._sending.clear()
        return self._hand_over(current)

    def _send_from(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send units until another queue has its turn; returns the number of pods."""
        if queue.blocking:
            if queue.leads:
                return self._send_window(queue, current, now)
            return self._send_backfill(queue, current, now)
        if self._places.usage is not None:
            return self._send_counted(queue, current, now)
        pods, closed, order = 0, self._places.unschedulable.closed, queue.order
        tick, alone = self._places.unschedulable.tick, self._places.queues.turns.is_alone
        takers, park_untried = current.open, self._places.park_untried
        while takers:
            if alone and not closed and len(takers) == 1:
                pods += self._send_singles(order, current, tick)
            unit = order.pop() if takers else None
            if unit is None:
                break
            if not (closed and park_untried(unit, now)):
                pods += self._send(unit, current, tick)
                if not alone:
                    break
        return pods

    def _send_singles(self, order: UnitOrder, current: DispatchRound, tick: int) -> int:
        """Send single pods from the front to the only open shard; returns their number."""
        most, number = current.places(), current.open[0][1]
        work: list[Dispatch] = []
        rows: list[int] = []
        for unit in order.pop_singles(most):
            unit.away = mine = tuple(unit.pending)
            unit.state, unit.tick, unit.shard = _SENT, tick, number
            work.append(Dispatch(unit, mine, 1))
            rows += mine
        current.send_singles(work, rows, number)
        return len(rows)

    def _send_counted(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send one unit, or all while no other queue waits; each is promised to its queue."""
        pods, places = 0, self._places
        while current.has_capacity:
            chosen, queue.chosen = queue.chosen, None
            unit = chosen if chosen is not None else queue.order.pop()
            if unit is None:
                break
            if not (places.unschedulable.closed and places.park_untried(unit, now)):
                pods += self._send(unit, current, places.unschedulable.tick)
            if chosen is not None:
                queue.order.discard()
            if not places.queues.turns.is_alone:
                break
        return pods

    def _send_backfill(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send units that may pass the blocked head of a backfilling queue, in order."""
        pods, places, order = 0, self._places, queue.order
        usage = places.usage
        assert usage is not None
        head = min(queue.blockers, key=lambda unit: unit.rank)
        reservation = reserve(usage, head, now)
        while current.has_capacity:
            longest = within_limits(usage, queue.name, reservation.longest)
            found = order.candidate(longest, usage.demand)
            if found is None:
                queue.searched = True
                queue.stop_sending()
                break
            unit, demand = found
            if not usage.may_start(
                unit
            ):  # its last pod has ended, so it counts as one more unit again
                order.changed(unit)
                continue
            if not (places.unschedulable.closed and places.park_untried(unit, now)):
                reservation.take(demand, micros(unit.duration))
                pods += self._send(unit, current, places.unschedulable.tick)
                queue.away += 1
            order.discard()
            if self._yields_turn(queue):
                break
        return pods

    def _send_window(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send the first units of a blocking queue to one shard, which tries them in order."""
        pods, places = 0, self._places
        limit = min((unit.rank for unit in queue.blockers), default=None)
        while queue.away < places.config.blocking_window:
            unit = queue.order.peek()
            if unit is None or (limit is not None and unit.rank > limit):
                break
            if queue.shard >= 0 and not current.takes(queue.shard):
                break
            if places.usage is not None and not places.usage.may_start(unit):
                break
            queue.order.pop()
            if places.unschedulable.closed and places.park_untried(unit, now):
                break
            queue.shard = unit.shard = queue.shard if queue.shard >= 0 else current.choose(-1)[0]
            pods += self._send(unit, current, places.unschedulable.tick, blocking=True)
            queue.away += 1
            if self._yields_turn(queue):
                return pods
        queue.stop_sending()
        return pods

    def _yields_turn(self, queue: UnitQueue) -> bool:
        """Whether other queues have a turn before a blocking queue sends more in this round."""
        turns = self._places.queues.turns
        if not turns.one_by_one or turns.is_alone:
            return False
        queue.sending = True
        self._sending.append(queue)
        return True

    def _send(self, unit: Unit, current: DispatchRound, tick: int, blocking: bool = False) -> int:
        """Send a unit that was taken out of its queue; returns the number of pods sent."""
        if unit.kind is UnitKind.POD:
            number, _ = current.choose(unit.shard if blocking else -1)
            rows, at_least = tuple(unit.pending), 1
        else:
            number, places = current.choose(unit.shard)
            at_least = max(unit.still_needed, short_of(unit, self._pods), 1)
            rows = tuple(unit.pending if at_least > 1 else unit.pending[:places])
            if self._places.usage is not None:
                rows = tuple(self._places.usage.within(unit, rows))
        unit.state = _SENT
        unit.shard = number
        unit.away = rows
        unit.tick = tick
        if self._places.usage is not None:
            self._places.usage.promise(unit)
        current.send(Dispatch(unit, rows, at_least, blocking), number)
        return len(rows)

    def _hand_over(self, current: DispatchRound) -> list[list[Dispatch]]:
        """Step all pods that were sent; first take back units that changed meanwhile."""
        if not current.rows:
            return current.work
        rows = np.array(current.rows, np.int64)
        if (self._pods.state[rows] != PodState.PENDING).any():
            rows = self._take_back_units(current)
        step_pods(self._pods.state, rows, PodEvent.DISPATCH)
        return current.work

    def _take_back_units(self, current: DispatchRound) -> npt.NDArray[np.int64]:
        """Take back units with pods that are no longer pending; a change event follows for them."""
        states = self._pods.state
        rows: list[int] = []
        for number, work in enumerate(current.work):
            intact = []
            for each in work:
                if all(states[row] == PodState.PENDING for row in each.rows):
                    intact.append(each)
                    rows.extend(each.rows)
                else:
                    self._places.enter_queue(each.unit, UnitEvent.GIVE_BACK)
            current.work[number] = intact
        return np.array(rows, np.int64)

    # ------------------------------------------------------------ answers

    def placed(self, unit: Unit, rows: Sequence[int], now: float) -> None:
        """Claims of one unit were granted."""
        del unit
        self._answers.placed(np.array(rows, np.int64), now)

    def placed_rows(self, rows: npt.NDArray[np.int64], now: float) -> None:
        """Claims of any units were granted."""
        self._answers.placed(rows, now)

    def settle(self, refused: Iterable[Refusal], now: float) -> None:
        """Claims were refused, by the binder or later by the store."""
        self._answers.settle(refused, now)

    def set_back(self, setbacks: Iterable[Setback], now: float) -> None:
        """Shards could not place pods, or returned them untried."""
        self._answers.set_back(setbacks, now)

    def drain_failures(self) -> list[UnitFailure]:
        """Units given up since the last call."""
        failures, self._places.failures = self._places.failures, []
        return failures

    def audit(self) -> list[str]:
        """Descriptions of violated invariants; empty if all hold."""
        return audit(self._places, self._intake.gated)

    # ------------------------------------------------------------ shards

    @property
    def shares(self) -> dict[int, float]:
        """Fraction of the capacity in each shard's partition; the partitioner writes it."""
        return self._places.shards.shares

    def add_shard(self, number: int) -> None:
        """A shard was added or restarted."""
        self._places.shards.add(number)

    def set_remote_load(self, number: int, pods: int) -> None:
        """Set the load of a shard that answers through the store: the pods that it holds."""
        self._places.shards.pods[number] = pods

    def remove_shard(self, number: int, now: float) -> None:
        """A shard died: requeue its unanswered pods; assumed pods stay."""
        self._answers.lose_shard(number, now)

    def binder_lost(self, now: float) -> None:
        """The binder died: requeue pods whose refusals were lost."""
        self._answers.binder_lost(now)


def _is_delayed(until: float, unit: Unit) -> bool:
    return unit.state is UnitState.BACKOFF and unit.not_before == until


def _is_awaited(until: float, unit: Unit) -> bool:
    over = (UnitState.FAILED, UnitState.GONE)
    return unit.deadline == until and unit.still_needed > 0 and unit.state not in over
