"""The Omega simulation: schedulers with a decision time, and claims on state that has changed.

The model follows Schwarzkopf et al., EuroSys 2013, and its lightweight simulator. Each scheduler
has a queue of jobs. The scheduler takes a snapshot of the cell, decides for ``job_s + task_s ×
tasks`` seconds about the first job, and commits the result in one transaction. Commits of other
schedulers in that time may conflict with it. Tasks that found no machine or were refused are queued
again a second later. A job is abandoned if more than 100 attempts have placed none of its tasks, or
if the job is not done after 1,000 attempts.

The simulation replaces only the time. Snapshot, choice and plan are those of a shard
(``control.scheduler``), and the binder's own ``PlanJudge`` checks the claims against the ledger.
The plan is computed when the decision starts and checked when it ends. This equals a decision at
the end on a private copy of the state at the start. Time is in whole microseconds, so that equal
instants are equal numbers. At one instant, task ends are handled first, then commits, then
arrivals, each in the order of planning.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from math import inf
from typing import Final

import msgspec
import numpy as np

from stretto.base.errors import InvariantBrokenError
from stretto.base.rng import Rng
from stretto.control.scheduler.candidates import HostCandidates
from stretto.control.scheduler.loop import LoopHelpers, LoopId, SchedulingLoop
from stretto.framework.engine.runtime import Runtime
from stretto.state.work.claims import Plan
from stretto.state.work.units import DEFAULT_QUEUE, Dispatch, Unit, UnitKind
from stretto_lab.studies.omega.cell import SimulatedCell
from stretto_lab.studies.omega.model import OmegaCell, OmegaJob, OmegaRun, SchedulerUse
from stretto_lab.studies.omega.tasks import TaskRows

MICROS: Final = 1_000_000
"""Ticks of one second."""
RETRY_S: Final = 1.0
"""Seconds after which a job that is not done is queued again."""
FRUITLESS_ATTEMPTS: Final = 100
"""Attempts after which a job without a placed task is abandoned."""
MOST_ATTEMPTS: Final = 1000
"""Attempts after which any job is abandoned."""
_BUG: Final = "report this as a bug"


class _OmegaEvent(IntEnum):
    """Kinds of events; events of one instant are handled in this order."""

    END = 0
    COMMIT = 1
    ARRIVE = 2


class _PendingJob(msgspec.Struct, eq=False):
    """A job that is not done."""

    #: Its number.
    number: int
    #: The unit of its plans.
    unit: Unit
    #: Rows of tasks without a machine.
    rows: tuple[int, ...]
    #: Attempts so far.
    attempts: int = 0
    #: Tick of its arrival.
    arrival: int = 0


class _OmegaScheduler(msgspec.Struct, eq=False):
    """One scheduler with its queue and counters; times in ticks."""

    loop: SchedulingLoop
    queue: deque[_PendingJob]
    deciding: bool = False
    useful: int = 0
    wasted: int = 0
    fruitless: int = 0
    succeeded: int = 0
    failed: int = 0


def run_omega(jobs: Sequence[OmegaJob], cell: OmegaCell) -> OmegaRun:
    """Simulate jobs, given in the order of their arrival, in a cell."""
    return _Omega(jobs, cell).run()


class _Omega:
    """One run of the simulation."""

    def __init__(self, jobs: Sequence[OmegaJob], cell: OmegaCell) -> None:
        self._jobs = jobs
        self._cell = cell
        self._rng = Rng(cell.seed)
        self._simulated = SimulatedCell(cell, self._rng)
        self._tasks = TaskRows(self._simulated.cluster)
        self._schedulers = [self._scheduler(number) for number in range(cell.schedulers)]
        self._agenda: list[tuple[int, _OmegaEvent, int, Callable[[], None]]] = []
        self._planned = self._now = self._done = self._abandoned = 0
        self._granted = self._refused = 0
        #: Tasks about which schedulers are deciding.
        self._in_flight = 0
        self._waits = np.full(len(jobs), np.nan)

    def run(self) -> OmegaRun:
        """Run until no event is left or ``until_s`` has passed."""
        for number, job in enumerate(self._jobs):
            self._plan(_ticks(job.arrival_s), _OmegaEvent.ARRIVE, partial(self._admit, number))
        limit = self._cell.until_s * MICROS
        while self._agenda and self._agenda[0][0] <= limit:
            self._now, _, _, happen = heapq.heappop(self._agenda)
            happen()
        return self._report()

    # ------------------------------------------------------------ events

    def _plan(self, tick: int, kind: _OmegaEvent, happen: Callable[[], None]) -> None:
        self._planned += 1
        heapq.heappush(self._agenda, (tick, kind, self._planned, happen))

    def _queue(self, pending: _PendingJob) -> None:
        """Queue a new job or a retry."""
        scheduler = self._schedulers[pending.number % len(self._schedulers)]
        scheduler.queue.append(pending)
        if not scheduler.deciding:
            self._decide(scheduler)

    def _decide(self, scheduler: _OmegaScheduler) -> None:
        """Take a snapshot and decide; the plan is committed when the decision time has passed."""
        if not scheduler.queue:
            scheduler.deciding = False
            return
        pending = scheduler.queue.popleft()
        if not pending.attempts:
            self._waits[pending.number] = (self._now - pending.arrival) / MICROS
        scheduler.deciding = True
        scheduler.loop.accept([Dispatch(pending.unit, pending.rows, 1)])
        plan = scheduler.loop.cycle()
        cell = self._cell
        took = _ticks(cell.job_s) + _ticks(cell.task_s * len(pending.rows))
        if plan is None:
            raise InvariantBrokenError("a shard", "received tasks and made no plan", _BUG)
        self._in_flight += len(plan.rows)
        commit = partial(self._commit, scheduler, pending, plan, took)
        self._plan(self._now + took, _OmegaEvent.COMMIT, commit)

    def _commit(
        self, scheduler: _OmegaScheduler, pending: _PendingJob, plan: Plan, took: int
    ) -> None:
        """Check the claims against the current state of the cell."""
        self._in_flight -= len(plan.rows)
        judgement = self._simulated.judge.judge(plan)
        rows = plan.rows[judgement.granted]
        refused = len(plan.rows) - len(rows)
        self._granted += len(rows)
        self._refused += refused
        if not len(plan.rows):
            scheduler.fruitless += took
        elif refused:
            scheduler.failed += 1
            scheduler.wasted += took
        else:
            scheduler.succeeded += 1
            scheduler.useful += took
        if len(rows):
            self._tasks.assume(rows)
            lasts = _ticks(self._jobs[pending.number].lasts_s)
            self._plan(self._now + lasts, _OmegaEvent.END, partial(self._tasks.end, rows))
        self._retry(pending, set(rows.tolist()))
        self._decide(scheduler)

    def _retry(self, pending: _PendingJob, placed: set[int]) -> None:
        """Retry the rest of a job, or count it as done or abandoned."""
        pending.attempts += 1
        pending.rows = tuple(row for row in pending.rows if row not in placed)
        none_placed = len(pending.rows) == self._jobs[pending.number].tasks
        if not pending.rows:
            self._done += 1
        elif (
            none_placed and pending.attempts > FRUITLESS_ATTEMPTS
        ) or pending.attempts > MOST_ATTEMPTS:
            self._abandoned += 1
        else:
            self._plan(
                self._now + _ticks(RETRY_S), _OmegaEvent.ARRIVE, partial(self._queue, pending)
            )

    # ------------------------------------------------------------ parts

    def _scheduler(self, number: int) -> _OmegaScheduler:
        rng = self._rng.child("scheduler", number)
        simulated = self._simulated
        engine, pods = simulated.engine, simulated.cluster.pods
        runtime = Runtime(engine, rng, self._cell.tier)
        candidates = None
        if simulated.hosts is not None:
            tables, draws = (pods, simulated.cluster.classes), rng.child("hosts")
            candidates = HostCandidates(
                runtime, tables, self._cell.hosts, draws, lambda: self._in_flight
            )
        helpers = LoopHelpers(candidates=candidates)
        loop = SchedulingLoop(LoopId(number), runtime, pods, engine.cures_of, helpers)
        return _OmegaScheduler(loop, deque())

    def _admit(self, number: int) -> None:
        """Admit a job: create rows for its tasks and queue it."""
        rows = self._tasks.add(number, self._jobs[number], self._now / MICROS)
        unit = Unit(f"job-{number}", UnitKind.POD_GROUP, 1, DEFAULT_QUEUE, number)
        self._queue(_PendingJob(number, unit, rows, arrival=self._now))

    def _report(self) -> OmegaRun:
        uses = tuple(
            SchedulerUse(
                each.useful / MICROS,
                each.wasted / MICROS,
                each.fruitless / MICROS,
                each.succeeded,
                each.failed,
            )
            for each in self._schedulers
        )
        ends = self._now / MICROS
        first = self._jobs[0].arrival_s if self._jobs else 0.0
        until = self._cell.until_s
        hosts, granted = self._simulated.hosts, max(self._granted, 1)
        ranks = hosts.ranks if hosts is not None else Counter[int]()
        return OmegaRun(
            schedulers=uses,
            waits_s=tuple(self._waits.tolist()),
            done=self._done,
            abandoned=self._abandoned,
            granted=self._granted,
            refused=self._refused,
            ends_s=ends,
            span_s=(until if until < inf else ends) - first,
            rank_mean=sum(rank * count for rank, count in ranks.items()) / granted,
            behind_mean=hosts.behind / granted if hosts is not None else 0.0,
        )


def _ticks(seconds: float) -> int:
    """Return seconds as whole ticks, rounded."""
    return round(seconds * MICROS)
