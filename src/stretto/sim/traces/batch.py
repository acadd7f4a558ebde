"""Batch jobs on nodes: each job is a gang that waits in a queue, starts, runs and ends.

Protocol: times are rounded to whole seconds. Jobs are submitted in the order of their submission
times, equal times in the order of the file. At each instant, ends precede submissions, and one
scheduling pass follows. A job that does not fit on the empty nodes is skipped, so it cannot block a
queue. The queue order is ``FIFO`` and the policy that selects nodes ``packing`` unless options
select others; ties go to the smallest node name. No job is preempted.

The bounded slowdown of a job is max(1, (wait + run time) / max(run time, 10 s)): Feitelson et al.,
Theory and Practice in Parallel Job Scheduling, 1997.
"""

from collections import Counter
from collections.abc import Sequence
from math import floor
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from stretto.base.errors import InputError
from stretto.control.queues.policies import policy_named
from stretto.framework.compiled.ties import TieRule
from stretto.inputs.neutral.fleet import WHOLE_GPU, FleetNode
from stretto.inputs.traces.batch.jobs import (
    AMPLE_CPU_MILLI,
    BatchJob,
    BatchJobs,
    PodLimit,
    PodShare,
    QueueSource,
    gang_of,
    limit_of,
    needs_pool,
    shares_of,
)
from stretto.inputs.traces.batch.pods import selected
from stretto.sim.engine import NEVER, OnArrivals, PodWork, WorkRecord, WorkRunner
from stretto.sim.policies import policy_profile
from stretto.sim.traces.drivers import PreparedTrace, TraceRun
from stretto.sim.traces.hosts import DEFAULT_POLICY, NEVER_PREEMPTS
from stretto.sim.usage import SimulationResult, usage
from stretto.sim.world import WINDOW, WorldConfig, build_world

P95: Final = 0.95
"""Percentile in the report."""
BOUND_S: Final = 10
"""Minimum run time in the bounded slowdown, in seconds."""
DEFAULT_QUEUE: Final = "fifo"
"""Order of jobs by default."""


class BatchReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of a simulation of batch jobs; times in seconds."""

    #: Jobs that started.
    started: int
    #: Jobs that do not fit on the empty nodes.
    skipped_too_big: int
    #: Jobs of the trace that are not run, by reason.
    omitted: dict[str, int]
    #: Mean wait from submission to start; null if no job started.
    mean_wait_s: float | None
    #: 95th percentile of the wait: entry ⌊0.95 (n − 1)⌋ of the sorted waits.
    p95_wait_s: float | None
    #: Maximum wait.
    max_wait_s: float | None
    #: Mean time from submission to end, over jobs that have ended.
    mean_jct_s: float | None
    #: Mean bounded slowdown, over jobs that have ended; at least 1.
    mean_bounded_slowdown: float | None
    #: From the first submission to the last end.
    makespan_s: float
    #: Share of the core time of all nodes that was used, 0..1; null if no job requests CPU, or if
    #: the CPU of the nodes is unknown.
    cpu_util: float | None
    #: Share of the GPU time of all nodes that was used, 0..1; null if no job requests GPUs.
    gpu_util: float | None
    #: Mean wait by queue, with the trace's queue names; empty without ``queues_by``.
    mean_wait_s_by_queue: dict[str, float] = {}
    #: True if the run was interrupted.
    partial: bool = False


class BatchStudy(msgspec.Struct, frozen=True):
    """Settings of a simulation of batch jobs."""

    #: Order of jobs.
    queue: str = DEFAULT_QUEUE
    #: Policy that selects nodes.
    policy: str = DEFAULT_POLICY
    #: Seed of every draw.
    seed: int = 0


class _Gang(NamedTuple):
    """A job and its pods."""

    #: The job.
    job: BatchJob
    #: Its pods, as work.
    work: list[PodWork]


def prepare(run: TraceRun) -> PreparedTrace:
    """The driver of formats with batch jobs."""
    keys, options = run.keys, run.options
    jobs = selected(run.items(), keys.only)[: options.get("limit")]
    study = BatchStudy(
        options.get("queue", DEFAULT_QUEUE), options.get("policy", DEFAULT_POLICY), run.seed
    )
    limit = limit_of(keys, run.hosts)
    total = sum(each.pods for job in jobs if not job.omitted for each in shares_of(job, limit))
    return PreparedTrace(total, lambda report: simulate_batch(jobs, run.hosts, keys, study, report))


def simulate_batch(
    jobs: Sequence[BatchJob],
    nodes: Sequence[FleetNode],
    keys: BatchJobs,
    study: BatchStudy,
    on_arrivals: OnArrivals | None = None,
) -> SimulationResult[BatchReport]:
    """Run jobs on nodes.

    Raises:
        InputError: there are no nodes.
        UnknownNameError: the queue order or the policy does not exist.
    """
    if not nodes:
        raise InputError("nodes", None, "at least one node", "give --nodes or --nodes-like")
    gangs, too_big = _gangs(jobs, nodes, keys)
    shares = any(gang.job.gpu_milli < WHOLE_GPU for gang in gangs)
    config = WorldConfig(
        profile=policy_profile(study.policy, TieRule.NAME),
        queue=policy_named(study.queue),
        devices=shares and not needs_pool(nodes),
        window=WINDOW if keys.queues_by == "none" else 1,
        seed=study.seed,
    )
    work = [pod for gang in gangs for pod in gang.work]
    record = WorkRunner(build_world(config, nodes), work, on_arrivals=on_arrivals).run()
    omitted = dict(sorted(Counter(job.omitted for job in jobs if job.omitted).items()))
    result = _report(gangs, record, nodes, (too_big, omitted))
    waits = _by_queue(gangs, record, keys.queues_by)
    report = msgspec.structs.replace(result.report, mean_wait_s_by_queue=waits)
    return result._replace(report=report)


def _gangs(
    jobs: Sequence[BatchJob], nodes: Sequence[FleetNode], keys: BatchJobs
) -> tuple[list[_Gang], int]:
    """The jobs that fit on the empty nodes in order, and the number of the others."""
    limit = limit_of(keys, nodes)
    empty = _EmptyNodes(nodes)
    gangs: list[_Gang] = []
    too_big = 0
    for job in sorted((job for job in jobs if not job.omitted), key=lambda job: job.submit_s):
        if empty.hold(job, limit):
            gangs.append(_Gang(job, _work(job, limit, keys)))
        else:
            too_big += 1
    return gangs, too_big


def _work(job: BatchJob, limit: PodLimit, keys: BatchJobs) -> list[PodWork]:
    """The pods of a job. A job of one pod is a gang too, so all jobs are queued alike."""
    start, lifetime = floor(job.submit_s + 0.5), floor(job.duration_s + 0.5)
    pods = gang_of(job, shares_of(job, limit), keys.queues_by)
    own: dict[str, Any] = {
        "group": pods[0].group or pods[0].name,
        "duration_s": float(lifetime),
        "preemption_policy": NEVER_PREEMPTS if job.priority else "",
    }
    return [PodWork(msgspec.structs.replace(pod, **own), start, lifetime) for pod in pods]


class _EmptyNodes:
    """The nodes without pods; determines if a job fits."""

    def __init__(self, nodes: Sequence[FleetNode]) -> None:
        #: int64[node, resource]: CPU, memory and GPUs.
        self._free = np.array([(n.cpu_milli, n.memory_mib, n.gpus) for n in nodes], np.int64)
        self._known: dict[tuple[PodShare, ...], bool] = {}

    def hold(self, job: BatchJob, limit: PodLimit) -> bool:
        """True if all pods of a job fit at once."""
        shares = tuple(shares_of(job, limit))
        found = self._known.get(shares)
        if found is None:
            found = self._known[shares] = self._fit(shares)
        return found

    def _fit(self, shares: Sequence[PodShare]) -> bool:
        """First-fit packing, the largest pods first."""
        free = self._free.copy()
        for share in shares:
            wanted = np.array(share[:3], np.int64)
            used = wanted > 0
            left = share.pods
            if used.any():
                held = (free[:, used] // wanted[used]).min(axis=1)
                taken = np.clip(left - (np.cumsum(held) - held), 0, held)
                free -= taken[:, None] * wanted
                left -= int(taken.sum())
                if left > 0:
                    return False
        return True


def _report(
    gangs: Sequence[_Gang],
    record: WorkRecord,
    nodes: Sequence[FleetNode],
    left_out: tuple[int, dict[str, int]],
) -> SimulationResult[BatchReport]:
    """The report of a record."""
    sizes = np.array([len(gang.work) for gang in gangs], np.int64)
    lead = np.cumsum(sizes) - sizes
    submitted = np.array([gang.work[0].arrival for gang in gangs], np.int64)
    started, ended = record.started[lead], record.ended[lead]
    waited = np.sort((started - submitted)[started != NEVER])
    over = ended != NEVER
    jct, ran = (ended - submitted)[over], (ended - started)[over]
    slow = np.maximum(jct / np.maximum(ran, BOUND_S), 1.0)
    first = int(record.ticks[0]) if len(record.ticks) else 0
    span = int(ended.max(initial=first)) - first
    pods = [each.pod for gang in gangs for each in gang.work]
    cpu = usage(record, np.array([pod.cpu_milli for pod in pods], np.int64))
    gpus = usage(record, np.array([pod.gpu_milli_total for pod in pods], np.int64))
    ample = any(node.cpu_milli >= AMPLE_CPU_MILLI for node in nodes)
    all_cpu = sum(node.cpu_milli for node in nodes)
    all_gpus = WHOLE_GPU * sum(node.gpus for node in nodes)
    n, seconds = len(waited), max(span, 1)
    report = BatchReport(
        started=n,
        skipped_too_big=left_out[0],
        omitted=left_out[1],
        mean_wait_s=float(waited.mean()) if n else None,
        p95_wait_s=float(waited[floor(P95 * (n - 1))]) if n else None,
        max_wait_s=float(waited[-1]) if n else None,
        mean_jct_s=float(jct.mean()) if len(jct) else None,
        mean_bounded_slowdown=float(slow.mean()) if len(slow) else None,
        makespan_s=float(span),
        cpu_util=cpu.amount_ticks / (all_cpu * seconds) if cpu.peak and not ample else None,
        gpu_util=gpus.amount_ticks / (all_gpus * seconds) if gpus.peak else None,
        partial=record.partial,
    )
    lines = [cpu.line("CPU", all_cpu, 1.0)] if cpu.peak and not ample else []
    if gpus.peak:
        lines.append(gpus.line("GPUs", all_gpus, 1.0, colour=1))
    return SimulationResult(report, tuple(lines))


def _by_queue(gangs: Sequence[_Gang], record: WorkRecord, source: QueueSource) -> dict[str, float]:
    """The mean wait of the jobs that started, by queue; empty without queues."""
    waits: dict[str, list[int]] = {}
    if source == "none":
        return {}
    row = 0
    for gang in gangs:
        started = int(record.started[row])
        if started != NEVER:
            name = getattr(gang.job, source) or "default"
            waits.setdefault(name, []).append(started - gang.work[0].arrival)
        row += len(gang.work)
    return {name: sum(each) / len(each) for name, each in sorted(waits.items())}
