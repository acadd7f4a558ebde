"""Chooses the units of a backfilling queue that may start now without delaying its reservations.

The timetable places reserved units on nodes over time, so that a gang that needs whole nodes gets
them. For one node, or without a view of nodes, it uses the sums of the pool.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from stretto.base.amounts import add_amounts
from stretto.control.dispatcher.states.containers import UnitStates
from stretto.control.queues.backfill import covers
from stretto.control.queues.kept_starts import KeptStarts, StartPlan
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.timetable import NodeGrounds, PoolGround, Timetable, expected_end
from stretto.state.queues.end_times import MICROS, NEVER, micros
from stretto.state.queues.starts import StartGround, StartJob, StartReservation
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import ON_NODES, UnitState
from stretto.state.work.evictions import short_of
from stretto.state.work.units import Unit

RESERVED: Final = 256
"""Maximum number of reservations of a queue with conservative backfill; later units wait."""
SEARCHED: Final = 4096
"""Maximum number of units behind an EASY head that are examined in one round."""


class BackfillStart(NamedTuple):
    """A unit that may start now."""

    #: The unit.
    unit: Unit
    #: Rows to send.
    rows: tuple[int, ...]
    #: Slot of each row; empty if amounts alone decide.
    slots: tuple[int, ...]


class BackfillPlanner:
    """Builds the timetable of a queue and selects the units that may start now."""

    def __init__(self, states: UnitStates) -> None:
        """Plan for these states; without nodes until ``use``."""
        self._states = states
        self._nodes: NodeGrounds | None = None
        #: The last round of each queue with conservative backfill.
        self._kept: dict[str, KeptStarts] = {}

    def use(self, nodes: NodeGrounds) -> None:
        """Plan on nodes."""
        self._nodes = nodes

    def is_used_by(self, unit: Unit) -> bool:
        """Return whether the queue of a unit uses backfill."""
        return self._states.queues.get(unit.queue).backfills

    def timetable(self, queue: UnitQueue, now: float) -> Timetable | None:
        """Empty timetable of a queue; ``None`` if the sums of the pool suffice."""
        usage, ground = self._usage(), None
        if self._nodes is not None:
            ground = self._nodes.ground(list(self._running(usage, micros(now))))
        if ground is None and not queue.policy.reserves_all:
            return None
        if ground is None:
            pool: StartGround = PoolGround(usage.uncommitted(), usage.ends, micros(now))
            return Timetable(pool, micros(now))
        table = Timetable(ground, micros(now))
        for unit in usage.sent():
            if unit.away:
                table.occupy(self._job(unit, tuple(unit.away), unit.still_needed))
        return table

    def starts(self, queue: UnitQueue, table: Timetable) -> Iterator[BackfillStart]:
        """Yield units that may start now, in order; each counts as started once it was yielded."""
        queue.reserved.clear()
        yield from (self._all if queue.policy.reserves_all else self._behind_head)(queue, table)

    # ------------------------------------------------------------ policies

    def _behind_head(self, queue: UnitQueue, table: Timetable) -> Iterator[BackfillStart]:
        """EASY: one reservation, for the failed unit that is first in order."""
        head = min(queue.blockers, key=_rank)
        kept = self._reserve_failed(queue, table, head)
        usage = self._usage()
        beside = None if kept else dict(usage.uncommitted())
        if beside is not None:  # it never fits next to the running pods: reserve all for it
            add_amounts(beside, usage.demand(head).least, -1)
        for unit in heapq.nsmallest(SEARCHED, queue.order, key=_rank):
            if not usage.may_start(unit):
                continue
            job = self._pending_job(unit)
            if job.duration >= NEVER and beside is not None and not covers(beside, job.amounts):
                continue
            found = table.starts_now(job)
            if found is not None:
                yield _start(unit, found)
                table.add(found)

    def _all(self, queue: UnitQueue, table: Timetable) -> Iterator[BackfillStart]:
        """Conservative backfill: a reservation for every unit, in order."""
        usage, plan = self._usage(), StartPlan(table, self._kept.pop(queue.name, None))
        self._kept[queue.name] = KeptStarts(table.ground, plan.planned)
        for unit in heapq.nsmallest(RESERVED, [*queue.blockers, *queue.order], key=_rank):
            if unit in queue.blockers:
                before = len(table.reservations)
                if self._reserve_failed(queue, table, unit):
                    (made,) = table.reservations[before:]
                    plan.note(unit.key, made.job, made)
                continue
            if unit.state is not UnitState.QUEUED or not usage.may_start(unit):
                continue
            found = plan.earliest(unit.key, self._pending_job(unit))
            if found is None:
                continue
            if found.is_now:
                yield _start(unit, found)
            else:
                queue.reserved[unit.key] = found.start / MICROS
            table.add(found)

    def _reserve_failed(self, queue: UnitQueue, table: Timetable, unit: Unit) -> bool:
        """Reserve for a failed unit; returns whether it fits at any time."""
        rows = tuple(unit.pending[: max(unit.still_needed, 1)])
        if not rows:
            return False
        waits = unit.state is UnitState.BACKOFF
        found = table.earliest(self._job(unit, rows, len(rows)), after_an_end=not waits)
        if found is None:
            return False
        if found.is_now:
            start = max(found.start, micros(unit.not_before))
            end = NEVER if found.end >= NEVER else found.end + start - found.start
            found = found._replace(start=start, end=end, is_now=False)
        table.add(found)
        queue.reserved[unit.key] = found.start / MICROS
        return True

    # ------------------------------------------------------------ jobs

    def _pending_job(self, unit: Unit) -> StartJob:
        """Pending pods of a queued unit that the limits of its queue admit."""
        rows = tuple(self._usage().within(unit, unit.pending))
        return self._job(unit, rows, max(unit.still_needed, short_of(unit, self._states.pods)))

    def _job(self, unit: Unit, rows: tuple[int, ...], at_least: int) -> StartJob:
        usage, pods = self._usage(), self._states.pods
        classes = tuple(int(pods.class_id[row]) for row in rows)
        at_least = min(max(at_least, 1), len(rows))
        duration = micros(unit.duration)
        amounts: dict[int, int] = {}
        for class_id, count in Counter(classes).items():
            add_amounts(amounts, usage.pool.requests_of(class_id), count)
        return StartJob(rows, classes, at_least, duration, tuple(sorted(amounts.items())))

    def _running(self, usage: QueueUsage, now: int) -> Iterator[tuple[int, int]]:
        """(expected end in microseconds, row) of pods on nodes."""
        states = self._states.pods.state
        for row, held in usage.held().items():
            if held.end < NEVER and int(states[row]) in ON_NODES:
                yield expected_end(held.end, now), row

    def _usage(self) -> QueueUsage:
        usage = self._states.usage
        assert usage is not None
        return usage


def _rank(unit: Unit) -> int:
    return unit.rank


def _start(unit: Unit, found: StartReservation) -> BackfillStart:
    """Pods of a unit that have a place in its reservation."""
    rows: Sequence[int] = found.job.rows
    slots = found.placement.slots
    if not slots:
        return BackfillStart(unit, tuple(rows), ())
    placed = [(row, slot) for row, slot in zip(rows, slots, strict=True) if slot >= 0]
    return BackfillStart(unit, tuple(r for r, _ in placed), tuple(s for _, s in placed))
