"""Philly jobs on one pool of GPUs: each job is a gang that waits in a queue, starts, runs and ends.

Protocol: times are counted in tenths of a second. Jobs are ordered by submission, then by job id
(as numbers if both are). The pool is one scalar resource of one node. A job of n GPUs is a gang of
n pods: all of them start or none. At each instant, completions precede arrivals, and one scheduling
pass follows. Under ``fifo``, the head of the queue blocks all later jobs; ``sjf`` orders by
duration first, and its head blocks too; under ``skip``, every job that fits starts, in the order of
the queue; ``easy`` reserves for the head only: a later job may start if it ends before the head can
start, or if it uses only GPUs that the head does not need; ``conservative`` reserves for every
waiting job in order. Both use the estimate of a job if it has one; the job ends after its run time.
With GPUs per node, the pool consists of nodes; a job that fits a node is one pod, a larger job is a
gang of whole nodes and a rest. Jobs larger than the pool are skipped and counted. The wait of a job
is the time from submission to start; its completion time (JCT) is the time from submission to end;
the makespan is the time from the first submission to the last end; utilisation is the GPU time used
divided by the pool's GPU time in the makespan.
"""

from collections.abc import Sequence
from math import floor
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.control.queues.policies import policy_named
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.philly import PhillyJob, job_pods
from stretto.sim.engine import NEVER, OnArrivals, PodWork, WorkRecord, WorkRunner
from stretto.sim.traces.drivers import PreparedTrace, TraceRun
from stretto.sim.usage import SimulationResult, usage
from stretto.sim.world import World, WorldConfig, build_world

TICKS_PER_S: Final = 10
"""Ticks per second: the trace has a resolution of 0.1 s."""
MAX_POOL: Final = 1_000_000
"""Maximum size of the pool in GPUs, about ten times the largest known cluster."""
P95: Final = 0.95
"""Percentile in the report."""

DEFAULT_GPUS: Final = 64
"""GPUs of the pool by default."""


class PoolSize(NamedTuple):
    """The pool of a simulation."""

    #: Its GPUs.
    gpus: int
    #: Maximum number of GPUs of one pod.
    pod_gpus: int


class PhillyReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of a simulation of jobs; times in seconds."""

    #: Jobs that started.
    started: int
    #: Jobs that request more GPUs than the pool has.
    skipped_too_big: int
    #: Mean wait from submission to start; null if no job started.
    mean_wait_s: float | None
    #: 95th percentile of the wait: entry ⌊0.95 (n − 1)⌋ of the sorted waits.
    p95_wait_s: float | None
    #: Maximum wait.
    max_wait_s: float | None
    #: Mean time from submission to end, over jobs that have ended.
    mean_jct_s: float | None
    #: From the first submission to the last end.
    makespan_s: float
    #: Share of the pool's GPU time that was used, 0..1.
    gpu_util: float
    #: True if the run was interrupted.
    partial: bool = False


def prepare(run: TraceRun) -> PreparedTrace:
    """The driver of the philly format."""
    jobs = run.format.read(run.path, None)
    options = run.options
    gpus, queue = options.get("gpus", DEFAULT_GPUS), options.get("queue", "fifo")
    node_gpus = options.get("gpus_per_node", 0)
    fitting = tuple(job for job in jobs if job.gpus <= gpus)
    total = len(job_pods(fitting, node_gpus or 1))
    return PreparedTrace(
        total, lambda report: simulate_philly(jobs, gpus, queue, report, node_gpus)
    )


def simulate_philly(
    jobs: Sequence[PhillyJob],
    gpus: int,
    queue: str = "fifo",
    on_arrivals: OnArrivals | None = None,
    node_gpus: int = 0,
) -> SimulationResult[PhillyReport]:
    """Run jobs through a pool of GPUs, on nodes of ``node_gpus`` each; 0 is one node.

    Raises:
        InputError: the size of the pool or of a node is out of range.
        UnknownNameError: the queue policy does not exist.
    """
    fitting, record = replay_jobs(jobs, gpus, queue, on_arrivals, node_gpus)
    pods = np.array([pod.gpus for pod in job_pods(tuple(fitting), node_gpus or 1)], np.int64)
    size = PoolSize(gpus, node_gpus or 1)
    return _report(fitting, record, size, len(jobs) - len(fitting), pods)


def replay_jobs(
    jobs: Sequence[PhillyJob],
    gpus: int,
    queue: str = "fifo",
    on_arrivals: OnArrivals | None = None,
    node_gpus: int = 0,
) -> tuple[list[PhillyJob], WorkRecord]:
    """The jobs that fit into the pool, in order, and the record of their pods, job by job.

    Raises:
        InputError: the size of the pool is out of range.
        UnknownNameError: the queue policy does not exist.
    """
    fitting, world, work = philly_world(jobs, gpus, queue, node_gpus)
    return fitting, WorkRunner(world, work, 1 / TICKS_PER_S, on_arrivals).run()


def philly_world(
    jobs: Sequence[PhillyJob], gpus: int, queue: str = "fifo", node_gpus: int = 0
) -> tuple[list[PhillyJob], World, list[PodWork]]:
    """The jobs that fit into the pool, in order; their world; and their pods as work.

    Raises:
        InputError: the size of the pool is out of range.
        UnknownNameError: the queue policy does not exist.
    """
    if not 1 <= gpus <= MAX_POOL:
        raise InputError("gpus", gpus, f"1..{MAX_POOL:,} GPUs in the pool")
    if node_gpus and (node_gpus < 1 or gpus % node_gpus):
        hint = "choose a divisor of the pool"
        raise InputError("gpus per node", node_gpus, f"a divisor of the {gpus} GPUs", hint)
    order = policy_named(queue)
    fitting = sorted((job for job in jobs if job.gpus <= gpus), key=_order)
    config = WorldConfig(profile=load_profile("default"), queue=order, devices=False)
    nodes = gpus // node_gpus if node_gpus else 1
    world = build_world(config, [pool_node(gpus // nodes, number) for number in range(nodes)])
    pod_gpus = node_gpus or 1
    return fitting, world, [piece for job in fitting for piece in _work(job, pod_gpus)]


def pool_node(gpus: int, number: int = 0) -> FleetNode:
    """One node of the pool."""
    return FleetNode(f"pool-{number}" if number else "pool", 1000, 1024, gpus, "any", max_pods=gpus)


def ticks(seconds: float) -> int:
    """Convert seconds to whole ticks; half a tick is rounded up."""
    return floor(seconds * TICKS_PER_S + 0.5)


def _order(job: PhillyJob) -> tuple[int, int, int, str]:
    """Sort key: submission, then job id; numeric ids are compared as numbers and come first."""
    number = int(job.job_id) if job.job_id.isdecimal() else -1
    return ticks(job.submit_s), number < 0, number, job.job_id


def _work(job: PhillyJob, pod_gpus: int) -> list[PodWork]:
    """The pods of a job, as a gang. A job of one GPU is a gang too, so that all queue alike."""
    name = f"job-{job.job_id}"
    lifetime = ticks(job.duration_s)
    pods = [
        msgspec.structs.replace(pod, group=name, duration_s=lifetime / TICKS_PER_S)
        for pod in job_pods((job,), pod_gpus)
    ]
    return [PodWork(pod, ticks(job.submit_s), lifetime) for pod in pods]


def _report(
    jobs: Sequence[PhillyJob],
    record: WorkRecord,
    size: PoolSize,
    skipped: int,
    pods: npt.NDArray[np.int64],
) -> SimulationResult[PhillyReport]:
    """The report of a record. Sums are of whole ticks, so rounding errors do not accumulate."""
    requested = np.array([-(-job.gpus // size.pod_gpus) for job in jobs], np.int64)
    submitted = np.array([ticks(job.submit_s) for job in jobs], np.int64)
    lead = np.cumsum(requested) - requested
    started, ended = record.started[lead], record.ended[lead]
    waited = np.sort((started - submitted)[started != NEVER])
    jct = (ended - submitted)[ended != NEVER]
    first = int(record.ticks[0]) if len(record.ticks) else 0
    span = int(ended.max(initial=first)) - first
    busy, gpus = usage(record, pods), size.gpus
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
    """The mean of ticks in seconds; ``None`` if the count is 0."""
    return int(total) / (count * TICKS_PER_S) if count else None
