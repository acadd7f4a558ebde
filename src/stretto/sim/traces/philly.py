"""Philly jobs on one pool of GPUs: gangs that wait in a queue, start together, run and leave.

The protocol. Times are counted in tenths of a second. Jobs are ordered by submission, then by job
id (as numbers where both are). The pool is one scalar resource of one node. A job of n GPUs is a
gang of n pods: all of them start or none. At one instant completions come first, then arrivals,
then one scheduling pass. Under ``fifo`` the head of the queue blocks all that are behind it;
``sjf`` orders by duration first, and its head blocks too; under ``skip`` whatever fits starts, in
the order of the queue; ``easy`` reserves for the head only: a later job may start when it ends by
the time at which the head can, or takes only what the head leaves over. Jobs larger than the pool
are skipped and counted. A job waits from its submission to its start; its completion time (JCT)
runs from its submission to its end; the makespan from the first submission to the last end;
utilisation is GPU time used over the pool's GPU time in the makespan.
"""

from collections.abc import Sequence
from math import floor
from typing import Final

import msgspec
import numpy as np

from stretto.base.errors import InputError
from stretto.control.queues.policies import policy_named
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.philly import PhillyJob, job_pods
from stretto.sim.engine import NEVER, Arrivals, PodWork, WorkRecord, WorkRunner
from stretto.sim.result import SimulationResult
from stretto.sim.traces.drivers import PreparedRun, TraceRun
from stretto.sim.usage import usage
from stretto.sim.world import World, WorldConfig, build_world

TICKS_PER_S: Final = 10
"""Ticks of one second: the trace is written in tenths."""
MAX_POOL: Final = 1_000_000
"""GPUs of the biggest pool: some ten times the biggest that exists."""
P95: Final = 0.95
"""The percentile that the report names."""

DEFAULT_GPUS: Final = 64
"""GPUs of the pool by default."""


class PhillyReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the jobs; times in seconds."""

    #: Jobs that started.
    started: int
    #: Jobs that ask for more GPUs than the pool has.
    skipped_too_big: int
    #: Mean wait from submission to start; null when nothing started.
    mean_wait_s: float | None
    #: 95th percentile of the wait: entry ⌊0.95 (n − 1)⌋ of the sorted waits.
    p95_wait_s: float | None
    #: Longest wait.
    max_wait_s: float | None
    #: Mean time from submission to end, over jobs that have ended.
    mean_jct_s: float | None
    #: From the first submission to the last end.
    makespan_s: float
    #: Share of the pool's GPU time that was used, 0..1.
    gpu_util: float
    #: Whether the run was interrupted.
    partial: bool = False


def prepare(run: TraceRun) -> PreparedRun:
    """The driver of the philly format."""
    jobs = run.format.read(run.path, None)
    gpus, queue = run.options.get("gpus", DEFAULT_GPUS), run.options.get("queue", "fifo")
    total = sum(job.gpus for job in jobs if job.gpus <= gpus)
    return PreparedRun(total, lambda told: simulate_philly(jobs, gpus, queue, told))


def simulate_philly(
    jobs: Sequence[PhillyJob], gpus: int, queue: str = "fifo", told: Arrivals | None = None
) -> SimulationResult[PhillyReport]:
    """Run jobs through a pool of GPUs.

    Raises:
        InputError: the pool has no GPU, or more than any pool has.
        UnknownNameError: there is no such order of the queue.
    """
    fitting, record = replay_jobs(jobs, gpus, queue, told)
    return _report(fitting, record, gpus, len(jobs) - len(fitting))


def replay_jobs(
    jobs: Sequence[PhillyJob], gpus: int, queue: str = "fifo", told: Arrivals | None = None
) -> tuple[list[PhillyJob], WorkRecord]:
    """The jobs that fit into the pool, in order, and what became of their pods, job by job.

    Raises:
        InputError: the pool has no GPU, or more than any pool has.
        UnknownNameError: there is no such order of the queue.
    """
    fitting, world, work = philly_world(jobs, gpus, queue)
    return fitting, WorkRunner(world, work, 1 / TICKS_PER_S, told).run()


def philly_world(
    jobs: Sequence[PhillyJob], gpus: int, queue: str = "fifo"
) -> tuple[list[PhillyJob], World, list[PodWork]]:
    """The jobs that fit into the pool, in order; the world that they run in; and their pods.

    Raises:
        InputError: the pool has no GPU, or more than any pool has.
        UnknownNameError: there is no such order of the queue.
    """
    if not 1 <= gpus <= MAX_POOL:
        raise InputError("gpus", gpus, f"1..{MAX_POOL:,} GPUs in the pool")
    order = policy_named(queue)
    fitting = sorted((job for job in jobs if job.gpus <= gpus), key=_order)
    config = WorldConfig(profile=load_profile("default"), queue=order, devices=False)
    world = build_world(config, [pool_node(gpus)])
    return fitting, world, [piece for job in fitting for piece in _work(job)]


def pool_node(gpus: int) -> FleetNode:
    """The node that is the pool."""
    return FleetNode("pool", 1000, 1024, gpus, "any", max_pods=gpus)


def ticks(seconds: float) -> int:
    """Seconds in whole ticks, half a tick rounded up."""
    return floor(seconds * TICKS_PER_S + 0.5)


def _order(job: PhillyJob) -> tuple[int, int, int, str]:
    """By submission, then by job id: numbers as numbers and before texts."""
    number = int(job.job_id) if job.job_id.isdecimal() else -1
    return ticks(job.submit_s), number < 0, number, job.job_id


def _work(job: PhillyJob) -> list[PodWork]:
    """A job as a gang. One of a single GPU is a gang too, so that all are queued alike."""
    name = f"job-{job.job_id}"
    lifetime = ticks(job.duration_s)
    pods = [
        msgspec.structs.replace(pod, group=name, duration_s=lifetime / TICKS_PER_S)
        for pod in job_pods((job,))
    ]
    return [PodWork(pod, ticks(job.submit_s), lifetime) for pod in pods]


def _report(
    jobs: Sequence[PhillyJob], record: WorkRecord, gpus: int, skipped: int
) -> SimulationResult[PhillyReport]:
    """A record in figures. Sums are of whole ticks, so no rounding builds up."""
    asked = np.array([job.gpus for job in jobs], np.int64)
    submitted = np.array([ticks(job.submit_s) for job in jobs], np.int64)
    lead = np.cumsum(asked) - asked
    started, ended = record.started[lead], record.ended[lead]
    waited = np.sort((started - submitted)[started != NEVER])
    jct = (ended - submitted)[ended != NEVER]
    first = int(record.ticks[0]) if len(record.ticks) else 0
    span = int(ended.max(initial=first)) - first
    busy = usage(record, np.ones(len(record.started), np.int64))
    n = len(waited)
    report = PhillyReport(
        started=n,
        skipped_too_big=skipped,
        mean_wait_s=_seconds(waited.sum(), n),
        p95_wait_s=_seconds(waited[floor(P95 * (n - 1))], 1) if n else None,
        max_wait_s=_seconds(waited[-1], 1) if n else None,
        mean_jct_s=_seconds(jct.sum(), len(jct)),
        makespan_s=span / TICKS_PER_S,
        gpu_util=busy.amount_ticks / (gpus * span) if span > 0 else 0.0,
        partial=record.partial,
    )
    return SimulationResult(report, (busy.line("GPUs", gpus, 1 / TICKS_PER_S),))


def _seconds(total: np.int64, count: int) -> float | None:
    """The mean of ticks in seconds; ``None`` of nothing."""
    return int(total) / (count * TICKS_PER_S) if count else None
