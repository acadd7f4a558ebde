"""Takes units from the queues in order and sends them to shards with capacity."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.control.dispatcher.backfilling import BackfillPlanner, BackfillStart
from stretto.control.dispatcher.shards import DispatchRound, capacity_of
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.queues.backfill import reserve, within_limits
from stretto.control.queues.orders import UnitOrder
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.timetable import Timetable
from stretto.state.queues.end_times import MICROS, micros
from stretto.state.rows.lifecycle import (
    UNIT_LIFE,
    PodEvent,
    PodState,
    UnitEvent,
    UnitState,
    step_pods,
)
from stretto.state.work.evictions import short_of
from stretto.state.work.units import Dispatch, Unit, UnitKind

_SENT: Final = UNIT_LIFE.next(UnitState.QUEUED, UnitEvent.DISPATCH)


class UnitSender:
    """Dispatches units; policies, backfill and blocking queues determine the next one."""

    def __init__(self, moves: UnitMoves) -> None:
        """Send units of these states."""
        self._moves = moves
        self._states = moves.states
        self._pods = moves.states.pods
        #: Plans backfill; the plane provides its nodes.
        self.backfill = BackfillPlanner(moves.states)
        #: Blocking queues that may send more in this round.
        self._sending: list[UnitQueue] = []

    def capacities(self, batch: int, reported: Sequence[tuple[int, int]]) -> list[int]:
        """The number of pods that each shard accepts now.

        Args:
            batch: number of pods that a shard places in a cycle.
            reported: (number of the shard, reported number of pods in its inbox) of each shard.
        """
        unanswered = self._states.shards.pods
        return [capacity_of(batch, has, unanswered[number]) for number, has in reported]

    def dispatch(self, now: float, capacity: Sequence[int]) -> list[list[Dispatch]]:
        """Dispatch units in the order of their queues while shards have capacity.

        Args:
            now: clock time.
            capacity: number of pods that each shard accepts, by shard number; a gang is dispatched
                as a whole if there is capacity for one pod.

        Returns:
            The work of each shard, in order.
        """
        turns = self._states.queues.turns
        turns.begin()
        current = DispatchRound(self._states.shards, capacity)
        while current.open:
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
        if self._states.usage is not None:
            return self._send_counted(queue, current, now)
        pods, closed, order = 0, self._states.unschedulable.closed, queue.order
        tick, alone = self._states.unschedulable.tick, self._states.queues.turns.is_alone
        open_shards, park_untried = current.open, self._moves.park_untried
        while open_shards:
            if alone and not closed and len(open_shards) == 1:
                pods += self._send_singles(order, current, tick)
            unit = order.pop() if open_shards else None
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
        """Send one unit, or all while no other queue waits; each unit is promised to its queue."""
        pods, places = 0, self._states
        while current.open:
            chosen, queue.chosen = queue.chosen, None
            unit = chosen if chosen is not None else queue.order.pop()
            if unit is None:
                break
            if not (places.unschedulable.closed and self._moves.park_untried(unit, now)):
                pods += self._send(unit, current, places.unschedulable.tick)
            if chosen is not None:
                queue.order.discard()
            if not places.queues.turns.is_alone:
                break
        return pods

    def _send_backfill(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send units that may pass the blocked head of a backfilling queue, in order."""
        pods, places, order = 0, self._states, queue.order
        usage = places.usage
        assert usage is not None
        table = self.backfill.timetable(queue, now)
        if table is not None:
            return self._send_planned(queue, current, now, table)
        head = min(queue.blockers, key=lambda unit: unit.rank)
        reservation = reserve(usage, head, now)
        queue.reserve_only(head, reservation.shadow / MICROS)
        while current.open:
            longest = within_limits(usage, queue.name, reservation.longest)
            found = order.candidate(longest, usage.demand)
            if found is None:
                queue.end_search()
                break
            unit, demand = found
            if not usage.may_start(
                unit
            ):  # its last pod has ended, so it counts as one more unit again
                order.changed(unit)
                continue
            if not (places.unschedulable.closed and self._moves.park_untried(unit, now)):
                reservation.take(demand, micros(unit.duration))
                pods += self._send(unit, current, places.unschedulable.tick)
                queue.count_sent()
            order.discard()
            if self._yields_turn(queue):
                break
        return pods

    def _send_planned(
        self, queue: UnitQueue, current: DispatchRound, now: float, table: Timetable
    ) -> int:
        """Send units that start now by a timetable, on the nodes of the timetable."""
        pods, places, order = 0, self._states, queue.order
        for planned in self.backfill.starts(queue, table):
            unit = planned.unit
            if not (places.unschedulable.closed and self._moves.park_untried(unit, now)):
                pods += self._send(unit, current, places.unschedulable.tick, planned=planned)
                queue.count_sent()
            order.discard()
            if not current.open or self._yields_turn(queue):
                return pods
        queue.end_search()
        return pods

    def _send_window(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send the first units of a blocking queue to one shard, which tries them in order."""
        pods, places = 0, self._states
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
            if places.unschedulable.closed and self._moves.park_untried(unit, now):
                break
            queue.shard = unit.shard = queue.shard if queue.shard >= 0 else current.choose(-1)[0]
            pods += self._send(unit, current, places.unschedulable.tick, blocking=True)
            queue.count_sent()
            if self._yields_turn(queue):
                return pods
        queue.stop_sending()
        return pods

    def _yields_turn(self, queue: UnitQueue) -> bool:
        """True if other queues have a turn before a blocking queue sends more in this round."""
        turns = self._states.queues.turns
        if not turns.one_by_one or turns.is_alone:
            return False
        queue.sending = True
        self._sending.append(queue)
        return True

    def _send(
        self,
        unit: Unit,
        current: DispatchRound,
        tick: int,
        blocking: bool = False,
        planned: BackfillStart | None = None,
    ) -> int:
        """Send a unit that was taken out of its queue; returns the number of pods sent."""
        slots: tuple[int, ...] = ()
        if planned is not None:
            number, _ = current.choose(unit.shard)
            at_least = max(unit.still_needed, short_of(unit, self._pods), 1)
            rows, slots = planned.rows, planned.slots
        elif unit.kind is UnitKind.POD:
            number, _ = current.choose(unit.shard if blocking else -1)
            rows, at_least = tuple(unit.pending), 1
        else:
            number, places = current.choose(unit.shard)
            at_least = max(unit.still_needed, short_of(unit, self._pods), 1)
            rows = tuple(unit.pending if at_least > 1 else unit.pending[:places])
            if self._states.usage is not None:
                rows = tuple(self._states.usage.within(unit, rows))
        unit.state = _SENT
        unit.shard = number
        unit.away = rows
        unit.tick = tick
        if self._states.usage is not None:
            self._states.usage.promise(unit)
        current.send(Dispatch(unit, rows, at_least, blocking, slots), number)
        return len(rows)

    def _hand_over(self, current: DispatchRound) -> list[list[Dispatch]]:
        """Set the states of all sent pods, after taking back units that changed in the meantime."""
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
                    self._moves.enter_queue(each.unit, UnitEvent.GIVE_BACK)
            current.work[number] = intact
        return np.array(rows, np.int64)
