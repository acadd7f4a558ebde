"""The dispatcher: forms units, orders them, and hands them to shards.

One object, one thread, plain functions: batches of changes and answers go in, work for shards comes
out. It never looks at a node. Time comes in with each call.

    absorb(changes)   what came, went and changed
    wake(cures)       what an event may have cured
    due()             delays, deadlines, the safety net
    dispatch(room)    work by shard
    placed(rows)      claims that were granted
    settle(refused)   claims that were not
    set_back(...)     what shards could not place
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
    """Who is next, and which shard tries it."""

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
        #: Looks after queues that are owed something.
        self.reclaimer = Reclaimer(self._places)
        self._broken_gangs = BrokenGangs(pods)
        self._pods = pods
        #: Blocking queues that may send more in this round.
        self._sending: list[UnitQueue] = []
        #: Positions, counts and what each unit waits for.
        self.views = UnitViews(self._places, self._intake.groups)

    # ------------------------------------------------------------ what changed

    def absorb(self, changes: ClusterChanges, now: float) -> None:
        """Take in a batch of changes; its ``cures`` are for ``wake``."""
        gated, places = self._intake.gated, self._places
        if gated and places.usage is not None and not gated.isdisjoint(changes.bound):
            places.uncounted = True  # bound by others behind its gate: nobody knows its queue
        self._intake.absorb(changes, now)

    def needs_census(self) -> bool:
        """Whether pods on nodes are to be told of once more, so that they count; asks once."""
        wanted, self._places.uncounted = self._places.uncounted, False
        return wanted

    def wake(self, cures: Cure, probe: Probe, now: float) -> int:
        """Queue the sleepers that events may have cured; returns how many units.

        Args:
            cures: the events since the last call, OR-ed; call it with none, too, once a round.
            probe: an upper bound of how many pods of a class fit now.
            now: clock time.
        """
        places, count = self._places, 0
        asks = self._pool.requesters() if self._pool is not None else None
        woken = places.sleepers.cured(int(cures), probe, now, asks)
        while woken:
            count += len(woken)
            for unit in woken:
                places.wake(unit, now)
            stuck = [unit for unit in woken if places.queues.is_behind_blocked_head(unit)]
            for unit in stuck:
                places.sleepers.left(unit)
            woken = places.sleepers.cured(0, probe, now) if stuck else []
        if cures:
            places.queues.retry_backfill()
        return count

    def reclaim(self, floor: ReclaimNodes, now: float) -> list[EvictionOrder]:
        """Who is to leave: gangs that are not whole in time, and for queues that are owed."""
        return [*self._broken_gangs.orders(now), *self.reclaimer.orders(floor, now)]

    def due(self, now: float) -> None:
        """Do what the time has come for: end delays, give up late gangs, spread the safety net."""
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
        for unit in places.sleepers.overdue(now):
            places.enter_queue(unit, UnitEvent.WAKE)

    def next_due(self) -> float:
        """When ``due`` or ``wake`` has something to do without any event; the past means now."""
        places = self._places
        return min(
            places.delays.next_due(_is_delayed),
            places.deadlines.next_due(_is_awaited),
            places.sleepers.next_check(),
            self.reclaimer.next_due(),
            self._broken_gangs.next_due(),
        )

    # ------------------------------------------------------------ handing out

    def room(self, batch: int, said: Sequence[tuple[int, int]]) -> list[int]:
        """Pods that each shard takes now, whatever it says of itself.

        Args:
            batch: pods that a shard places in a cycle.
            said: (number, pods that it says it has in hand) of each.
        """
        handed = self._places.shards.pods
        return [capacity_of(batch, has, handed[number]) for number, has in said]

    def dispatch(self, now: float, room: Sequence[int]) -> list[list[Dispatch]]:
        """Hand out units in the order of their queues while shards have room.

        Args:
            now: clock time.
            room: how many pods each shard takes, by number; a gang goes as a whole where there is
                room for one pod.

        Returns:
            The work of each shard, in order.
        """
        turns = self._places.queues.turns
        turns.begin()
        current = DispatchRound(self._places.shards, room)
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
        """Send what may go before another queue has its turn; returns how many pods."""
        if queue.blocking:
            if queue.leads:
                return self._send_window(queue, current, now)
            return self._send_backfill(queue, current, now)
        if self._places.usage is not None:
            return self._send_counted(queue, current, now)
        pods, closed, order = 0, self._places.sleepers.closed, queue.order
        tick, alone = self._places.sleepers.tick, self._places.queues.turns.is_alone
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
        """Send the single pods at the front to the one shard that takes any; returns how many."""
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
        """Send one unit, or all while no other queue waits, each promised to its queue."""
        pods, places = 0, self._places
        while current.has_capacity:
            chosen, queue.chosen = queue.chosen, None
            unit = chosen if chosen is not None else queue.order.pop()
            if unit is None:
                break
            if not (places.sleepers.closed and places.park_untried(unit, now)):
                pods += self._send(unit, current, places.sleepers.tick)
            if chosen is not None:
                queue.order.discard()
            if not places.queues.turns.is_alone:
                break
        return pods

    def _send_backfill(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send units that may pass the blocked head of a backfilling queue, the first first."""
        pods, places, order = 0, self._places, queue.order
        usage = places.usage
        assert usage is not None
        head = min(queue.blockers, key=lambda unit: unit.rank)
        kept = reserve(usage, head, now)
        while current.has_capacity:
            longest = within_limits(usage, queue.name, kept.longest)
            found = order.candidate(longest, usage.demand)
            if found is None:
                queue.searched = True
                queue.stop_sending()
                break
            unit, asked = found
            if not usage.may_start(unit):  # the last of it has ended: it is one more unit again
                order.changed(unit)
                continue
            if not (places.sleepers.closed and places.park_untried(unit, now)):
                kept.take(asked, micros(unit.duration))
                pods += self._send(unit, current, places.sleepers.tick)
                queue.away += 1
            order.discard()
            if self._yields_turn(queue):
                break
        return pods

    def _send_window(self, queue: UnitQueue, current: DispatchRound, now: float) -> int:
        """Send the first units of a blocking queue to one shard, to be tried in order."""
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
            if places.sleepers.closed and places.park_untried(unit, now):
                break
            queue.shard = unit.shard = queue.shard if queue.shard >= 0 else current.choose(-1)[0]
            pods += self._send(unit, current, places.sleepers.tick, blocking=True)
            queue.away += 1
            if self._yields_turn(queue):
                return pods
        queue.stop_sending()
        return pods

    def _yields_turn(self, queue: UnitQueue) -> bool:
        """Whether others are asked before a blocking queue sends more in this round."""
        turns = self._places.queues.turns
        if not turns.one_by_one or turns.is_alone:
            return False
        queue.sending = True
        self._sending.append(queue)
        return True

    def _send(self, unit: Unit, current: DispatchRound, tick: int, blocking: bool = False) -> int:
        """Give a unit that has left its queue to a shard; returns how many pods of it go."""
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
        """Step all pods that were sent; what has changed under our feet comes back first."""
        if not current.rows:
            return current.work
        rows = np.array(current.rows, np.int64)
        if (self._pods.state[rows] != PodState.PENDING).any():
            rows = self._take_back_units(current)
        step_pods(self._pods.state, rows, PodEvent.DISPATCH)
        return current.work

    def _take_back_units(self, current: DispatchRound) -> npt.NDArray[np.int64]:
        """Take units back whose pods are no longer pending: the change that says so will come."""
        states = self._pods.state
        rows: list[int] = []
        for number, work in enumerate(current.work):
            kept = []
            for each in work:
                if all(states[row] == PodState.PENDING for row in each.rows):
                    kept.append(each)
                    rows.extend(each.rows)
                else:
                    self._places.enter_queue(each.unit, UnitEvent.GIVE_BACK)
            current.work[number] = kept
        return np.array(rows, np.int64)

    # ------------------------------------------------------------ answers

    def placed(self, unit: Unit, rows: Sequence[int], now: float) -> None:
        """Claims of one unit were granted."""
        del unit
        self._answers.placed(np.array(rows, np.int64), now)

    def placed_rows(self, rows: npt.NDArray[np.int64], now: float) -> None:
        """Claims were granted: rows of any units."""
        self._answers.placed(rows, now)

    def settle(self, refused: Iterable[Refusal], now: float) -> None:
        """Claims were refused, by the binder or later by the store."""
        self._answers.settle(refused, now)

    def set_back(self, setbacks: Iterable[Setback], now: float) -> None:
        """Shards could not place pods, or gave them back."""
        self._answers.set_back(setbacks, now)

    def drain_failures(self) -> list[UnitFailure]:
        """Units given up since the last call."""
        failures, self._places.failures = self._places.failures, []
        return failures

    def audit(self) -> list[str]:
        """Every law of the dispatcher that does not hold now; it should be none."""
        return audit(self._places, self._intake.gated)

    # ------------------------------------------------------------ shards

    @property
    def shares(self) -> dict[int, float]:
        """Part of what all nodes give that each shard tries first, for whoever deals them out."""
        return self._places.shards.shares

    def add_shard(self, number: int) -> None:
        """A shard came, or came back."""
        self._places.shards.add(number)

    def set_remote_load(self, number: int, pods: int) -> None:
        """So many pods are with a shard whose answers come through the store: that is its load."""
        self._places.shards.pods[number] = pods

    def remove_shard(self, number: int, now: float) -> None:
        """A shard died: what it has not answered is queued again; what is assumed stays."""
        self._answers.lose_shard(number, now)

    def binder_lost(self, now: float) -> None:
        """The binder died: what it gave back without our hearing of it is queued again."""
        self._answers.binder_lost(now)


def _is_delayed(until: float, unit: Unit) -> bool:
    return unit.state is UnitState.BACKOFF and unit.not_before == until


def _is_awaited(until: float, unit: Unit) -> bool:
    over = (UnitState.FAILED, UnitState.GONE)
    return unit.deadline == until and unit.still_needed > 0 and unit.state not in over
