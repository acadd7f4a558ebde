"""Omega's experiment: schedulers that think for a while, and claims that may have been overtaken.

After Schwarzkopf et al., EuroSys 2013, and its lightweight simulator. Each scheduler has a queue of
jobs. It takes a snapshot of the cell, thinks ``job_s + task_s × tasks`` about the first job, and
commits what it has decided: one transaction a job. Whatever others have committed meanwhile may be
in its way. What did not get a place (or was refused) is queued again a second later; a job that has
placed nothing in more than 100 attempts, or is not done after more than 1,000, is abandoned.

Only time is simulated. The snapshot, the choice and the plan are a shard's (``control.scheduler``),
the claims are judged by the binder's own ``PlanJudge`` on the ledger. A plan is made on the
snapshot when thinking begins and judged when it ends, which is the same as deciding at the end on a
private copy of the beginning. Time is counted in whole microseconds, so that equal instants are
equal; at one instant what ends goes first, then commits, then arrivals, each in the order in which
it was planned.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from math import inf
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.heads import decode_pod_head
from stretto.base.errors import InputError, InvariantBrokenError
from stretto.base.rng import Rng
from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.control.scheduler.loop import LoopId, SchedulingLoop
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.objects.objects import node_body, pod_body
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodEvent, step_pods
from stretto.state.rows.pods import NewPod
from stretto.state.work.claims import CommitMode, ConflictMode, Plan
from stretto.state.work.units import DEFAULT_QUEUE, Dispatch, Unit, UnitKind

MICROS: Final = 1_000_000
"""Ticks of one second."""
AGAIN_S: Final = 1.0
"""Seconds after which a job that is not done is queued again."""
HOPELESS: Final = 100
"""Attempts after which a job that has placed nothing is abandoned."""
ENDLESS: Final = 1000
"""Attempts after which any job is abandoned."""
_BUG: Final = "report this as a bug"

Ints = npt.NDArray[np.int64]


class OmegaJob(msgspec.Struct, frozen=True):
    """Like tasks that one scheduler places in one transaction."""

    #: Second of its arrival.
    arrival_s: float
    #: Tasks.
    tasks: int
    #: Seconds that each task runs.
    lasts_s: float
    #: Thousandths of a core that each task asks for.
    cpu_milli: int = 1000
    #: MiB that each task asks for.
    memory_mib: int = 1024


class OmegaCell(msgspec.Struct, frozen=True):
    """The machines, the schedulers and how they meet."""

    #: Machines.
    machines: int = 1000
    #: Thousandths of a core of each machine.
    cpu_milli: int = 4000
    #: MiB of each machine.
    memory_mib: int = 16384
    #: Part of the cores that is taken by what never ends, 0..1.
    fill: float = 0.0
    #: Schedulers; jobs go to them in turn.
    schedulers: int = 1
    #: Seconds of thinking for each job.
    job_s: float = 0.1
    #: Seconds of thinking for each task.
    task_s: float = 0.005
    #: When a claim conflicts.
    conflicts: ConflictMode = ConflictMode.FIT
    #: What a conflict does to the other claims of the transaction.
    commit: CommitMode = CommitMode.INCREMENTAL
    #: The profile by which machines are chosen; Omega's own choice is ``random``.
    policy: str = "random"
    #: Seconds after which nothing more begins; what has begun is not counted.
    until_s: float = inf
    #: Seed of every draw.
    seed: int = 0
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"

    def __post_init__(self) -> None:
        for name, low in (("machines", 1), ("schedulers", 1), ("job_s", 0), ("task_s", 0)):
            value = getattr(self, name)
            if not low <= value < inf:
                raise InputError(name, value, f"a number from {low} on")
        if not 0 <= self.fill < 1:
            raise InputError("fill", self.fill, "a part of the cores from 0 up to 1")


class SchedulerUse(msgspec.Struct, frozen=True):
    """What one scheduler did with its time; seconds."""

    #: Thinking that was committed without a conflict.
    useful_s: float
    #: Thinking of which something was refused.
    wasted_s: float
    #: Thinking that found no place for any task.
    fruitless_s: float
    #: Transactions without a conflict.
    succeeded: int
    #: Transactions with one at least.
    failed: int

    @property
    def busy_s(self) -> float:
        """All thinking."""
        return self.useful_s + self.wasted_s + self.fruitless_s


class OmegaRun(msgspec.Struct, frozen=True):
    """What came of it."""

    #: Each scheduler.
    schedulers: tuple[SchedulerUse, ...]
    #: float[job]: seconds from arrival to the first thought; NaN where there was none.
    waits_s: tuple[float, ...]
    #: Jobs whose tasks were all placed.
    done: int
    #: Jobs given up.
    abandoned: int
    #: Claims granted.
    granted: int
    #: Claims refused.
    refused: int
    #: Second of the last event; the end of the last task where nothing cuts it off.
    ends_s: float
    #: Seconds over which busyness counts.
    span_s: float

    @property
    def conflict_fraction(self) -> float | None:
        """Failed transactions for each that succeeded; ``None`` where none did."""
        good = sum(each.succeeded for each in self.schedulers)
        return sum(each.failed for each in self.schedulers) / good if good else None

    @property
    def busyness(self) -> float:
        """Part of the time that a scheduler thinks, the mean over them."""
        busy = sum(each.busy_s for each in self.schedulers)
        return busy / (self.span_s * len(self.schedulers)) if self.span_s else 0.0


class _OmegaEvent(IntEnum):
    """What happens, in the order in which one instant is served."""

    END = 0
    COMMIT = 1
    COME = 2


class _PendingJob(msgspec.Struct, eq=False):
    """A job on its way."""

    #: Its number.
    number: int
    #: The unit that its plans are made for.
    unit: Unit
    #: Rows without a place.
    rows: tuple[int, ...]
    #: Attempts so far.
    attempts: int = 0
    #: Tick of its arrival.
    arrival: int = 0


class _OmegaScheduler(msgspec.Struct, eq=False):
    """One scheduler with its queue and its books; times in ticks."""

    loop: SchedulingLoop
    queue: deque[_PendingJob]
    thinking: bool = False
    useful: int = 0
    wasted: int = 0
    fruitless: int = 0
    succeeded: int = 0
    failed: int = 0


def run_omega(jobs: Sequence[OmegaJob], cell: OmegaCell) -> OmegaRun:
    """Run jobs, in the order of their arrival, through a cell."""
    return _Omega(jobs, cell).run()


class _Omega:
    """One run."""

    def __init__(self, jobs: Sequence[OmegaJob], cell: OmegaCell) -> None:
        self._jobs = jobs
        self._cell = cell
        self._rng = Rng(cell.seed)
        self._cluster = Cluster()
        for number in range(cell.machines):
            node = FleetNode(f"m{number}", cell.cpu_milli, cell.memory_mib, max_pods=cell.cpu_milli)
            self._cluster.node_updates.put(decode_as(Node, node_body(node)))
        self._engine = CompiledProfile(load_profile(cell.policy), self._cluster)
        self._judge = PlanJudge(
            self._cluster, ClaimChecks(self._engine.is_eligible), cell.conflicts, cell.commit
        )
        self._fill()
        self._schedulers = [self._scheduler(number) for number in range(cell.schedulers)]
        self._classes: dict[tuple[int, int], int] = {}
        self._agenda: list[tuple[int, _OmegaEvent, int, Callable[[], None]]] = []
        self._planned = self._now = self._done = self._abandoned = 0
        self._granted = self._refused = 0
        self._waits = np.full(len(jobs), np.nan)

    def run(self) -> OmegaRun:
        """Until nothing is left, or time is up."""
        for number, job in enumerate(self._jobs):
            self._plan(_ticks(job.arrival_s), _OmegaEvent.COME, partial(self._admit, number))
        limit = self._cell.until_s * MICROS
        while self._agenda and self._agenda[0][0] <= limit:
            self._now, _, _, happen = heapq.heappop(self._agenda)
            happen()
        return self._report()

    # ------------------------------------------------------------ what happens

    def _plan(self, tick: int, kind: _OmegaEvent, happen: Callable[[], None]) -> None:
        self._planned += 1
        heapq.heappush(self._agenda, (tick, kind, self._planned, happen))

    def _come(self, pending: _PendingJob) -> None:
        """A job arrives, or comes back."""
        scheduler = self._schedulers[pending.number % len(self._schedulers)]
        scheduler.queue.append(pending)
        if not scheduler.thinking:
            self._think(scheduler)

    def _think(self, scheduler: _OmegaScheduler) -> None:
        """Take a snapshot and decide; the answer is there when thinking ends."""
        if not scheduler.queue:
            scheduler.thinking = False
            return
        pending = scheduler.queue.popleft()
        if not pending.attempts:
            self._waits[pending.number] = (self._now - pending.arrival) / MICROS
        scheduler.thinking = True
        scheduler.loop.accept([Dispatch(pending.unit, pending.rows, 1)])
        plan = scheduler.loop.cycle()
        cell = self._cell
        took = _ticks(cell.job_s) + _ticks(cell.task_s * len(pending.rows))
        if plan is None:
            raise InvariantBrokenError("a shard", "was handed tasks and made no plan", _BUG)
        commit = partial(self._commit, scheduler, pending, plan, took)
        self._plan(self._now + took, _OmegaEvent.COMMIT, commit)

    def _commit(
        self, scheduler: _OmegaScheduler, pending: _PendingJob, plan: Plan, took: int
    ) -> None:
        """Thinking is over: the claims are judged on the cell as it is now."""
        judgement = self._judge.judge(plan)
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
            step_pods(self._cluster.pods.state, rows, PodEvent.ASSUME)
            lasts = _ticks(self._jobs[pending.number].lasts_s)
            self._plan(self._now + lasts, _OmegaEvent.END, partial(self._end, rows))
        self._go_on(pending, set(rows.tolist()))
        self._think(scheduler)

    def _go_on(self, pending: _PendingJob, placed: set[int]) -> None:
        """What is left of a job is queued again, or it is done, or given up."""
        pending.attempts += 1
        pending.rows = tuple(row for row in pending.rows if row not in placed)
        nothing = len(pending.rows) == self._jobs[pending.number].tasks
        if not pending.rows:
            self._done += 1
        elif (nothing and pending.attempts > HOPELESS) or pending.attempts > ENDLESS:
            self._abandoned += 1
        else:
            self._plan(self._now + _ticks(AGAIN_S), _OmegaEvent.COME, partial(self._come, pending))

    def _end(self, rows: Ints) -> None:
        """Tasks have run their time."""
        pods = self._cluster.pods
        self._cluster.charges.uncharge_plain(rows, pods.slot[rows])
        for row in rows.tolist():
            self._cluster.classes.release(int(pods.class_id[row]))
            pods.remove(row)

    # ------------------------------------------------------------ what is there

    def _scheduler(self, number: int) -> _OmegaScheduler:
        rng = self._rng.child("scheduler", number)
        runtime = Runtime(self._engine, rng, self._cell.tier)
        loop = SchedulingLoop(LoopId(number), runtime, self._cluster.pods, self._engine.cures_of)
        return _OmegaScheduler(loop, deque())

    def _fill(self) -> None:
        """Take a part of the cores for good, core by core, on machines drawn by the seed."""
        cell = self._cell
        cores = cell.cpu_milli // 1000
        places = np.repeat(np.array(sorted(self._cluster.nodes.by_name.values())), cores)
        draws = self._rng.child("fill").numpy()
        taken = draws.permutation(places)[: int(cell.fill * len(places))]
        ledger = self._cluster.ledger
        share = cell.memory_mib * (1 << 20) // max(1, cores)
        cpu, memory = ledger.resources.column("cpu"), ledger.resources.column("memory")
        for slot in taken.tolist():
            ledger.charge(slot, [(cpu, 1000), (memory, share // 2)])

    def _admit(self, number: int) -> None:
        """A job comes: rows for its tasks."""
        job, cluster = self._jobs[number], self._cluster
        shape = (job.cpu_milli, job.memory_mib)
        class_id = self._classes.get(shape)
        if class_id is None:
            body = pod_body(FleetPod("task", *shape))
            class_id = cluster.classes.intern(decode_pod_head(body), body)
            cluster.classes.use(class_id)  # kept: the next job of this shape will ask for it
            self._classes[shape] = class_id
        names = [f"{number}-{task}" for task in range(job.tasks)]
        now = self._now / MICROS
        rows = cluster.pods.add([NewPod(n, "omega", n, class_id, 0, 1, now) for n in names])
        cluster.classes.use(class_id, len(rows))
        step_pods(cluster.pods.state, rows, PodEvent.DISPATCH)
        unit = Unit(f"job-{number}", UnitKind.POD_GROUP, 1, DEFAULT_QUEUE, number)
        self._come(_PendingJob(number, unit, tuple(rows.tolist()), arrival=self._now))

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
        return OmegaRun(
            schedulers=uses,
            waits_s=tuple(self._waits.tolist()),
            done=self._done,
            abandoned=self._abandoned,
            granted=self._granted,
            refused=self._refused,
            ends_s=ends,
            span_s=(until if until < inf else ends) - first,
        )


def _ticks(seconds: float) -> int:
    """Seconds in whole ticks, the nearest."""
    return round(seconds * MICROS)
