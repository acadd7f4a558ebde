"""Reference of queues on a pool of GPUs: FIFO, shortest first, skipping, EASY, conservative."""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from math import floor
from typing import Any, NamedTuple

from stretto.inputs.traces.philly import PhillyJob


class Job(NamedTuple):
    """One job; times are whole tenths of a second."""

    submitted: int
    number: int
    size: int
    duration: int


class Started(NamedTuple):
    """A started job."""

    job: Job
    at: int

    @property
    def end(self) -> int:
        return self.at + self.job.duration


class PoolState:
    """Pending jobs in order of arrival, running jobs and free GPUs."""

    def __init__(self, gpus: int) -> None:
        self.free, self.now = gpus, 0
        self.queue: list[Job] = []
        self.running: list[tuple[int, int]] = []
        self.starts: list[Started] = []
        #: Earliest shadow time of each head under ``easy``, by job.
        self.shadows: dict[Job, int] = {}

    def start(self, job: Job) -> None:
        self.queue.remove(job)
        self.free -= job.size
        heapq.heappush(self.running, (self.now + job.duration, job.size))
        self.starts.append(Started(job, self.now))


def _fifo(pool: PoolState) -> None:
    while pool.queue and pool.queue[0].size <= pool.free:
        pool.start(pool.queue[0])


def _sjf(pool: PoolState) -> None:
    for job in sorted(pool.queue, key=lambda job: (job.duration, job.submitted, job.number)):
        if job.size > pool.free:
            return
        pool.start(job)


def _skip(pool: PoolState) -> None:
    for job in list(pool.queue):
        if job.size <= pool.free:
            pool.start(job)


def _easy(pool: PoolState) -> None:
    _fifo(pool)
    if not pool.queue:
        return
    head, *others = pool.queue
    shadow, extra = reservation(pool, head.size)
    pool.shadows[head] = min(shadow, pool.shadows.get(head, shadow))
    for job in others:
        by_shadow = pool.now + job.duration <= shadow
        if job.size <= pool.free and (by_shadow or job.size <= extra):
            pool.start(job)
            extra -= 0 if by_shadow else job.size


def _conservative(pool: PoolState) -> None:
    """Every job in order at its earliest start, with running jobs and earlier reservations."""
    held = [(pool.now, end, size) for end, size in pool.running]
    whole = pool.free + sum(size for _, size in pool.running)
    for job in list(pool.queue):
        times = sorted({pool.now, *(end for _, end, _ in held)})
        at = next(t for t in times if _fits(held, whole, job, t))
        held.append((at, at + job.duration, job.size))
        if at == pool.now:
            pool.start(job)


def _fits(held: Sequence[tuple[int, int, int]], whole: int, job: Job, at: int) -> bool:
    """Return whether a job fits from a time on, for its whole run time."""
    instants = {at, *(start for start, _, _ in held if at < start < at + job.duration)}
    return all(
        job.size + sum(size for start, end, size in held if start <= t < end) <= whole
        for t in instants
    )


def reservation(pool: PoolState, size: int) -> tuple[int, int]:
    """Time when enough GPUs are free, and how many more are free then."""
    free, shadow = pool.free, None
    for end, freed in sorted(pool.running):
        if shadow is not None and end > shadow:
            break
        free += freed
        if shadow is None and free >= size:
            shadow = end
    assert shadow is not None, "whatever is not too big fits once all has ended"
    return shadow, free - size


PASSES: dict[str, Callable[[PoolState], None]] = {
    "fifo": _fifo,
    "sjf": _sjf,
    "skip": _skip,
    "easy": _easy,
    "conservative": _conservative,
}


def starts(jobs: Sequence[PhillyJob], gpus: int, policy: str = "fifo") -> list[Started]:
    """All starts in order."""
    return lived(jobs, gpus, policy).starts


def lived(jobs: Sequence[PhillyJob], gpus: int, policy: str) -> PoolState:
    """Run all jobs: at one instant completions, then arrivals, then one pass."""
    coming = deque(
        sorted(
            Job(round(job.submit_s * 10), int(job.job_id), job.gpus, round(job.duration_s * 10))
            for job in jobs
            if job.gpus <= gpus
        )
    )
    pool = PoolState(gpus)
    while coming or pool.running:
        times = [coming[0].submitted] if coming else []
        pool.now = min([*times, pool.running[0][0]] if pool.running else times)
        while pool.running and pool.running[0][0] == pool.now:
            pool.free += heapq.heappop(pool.running)[1]
        while coming and coming[0].submitted == pool.now:
            pool.queue.append(coming.popleft())
        PASSES[policy](pool)
    assert not pool.queue
    return pool


def run(jobs: Sequence[PhillyJob], gpus: int, policy: str = "fifo") -> dict[str, Any]:
    """Results of the jobs, with the names of the command."""
    found = starts(jobs, gpus, policy)
    waits = sorted(each.at - each.job.submitted for each in found)
    completions = [each.end - each.job.submitted for each in found]
    first = min(each.job.submitted for each in found)
    span = max(each.end for each in found) - first
    busy = sum(each.job.size * each.job.duration for each in found)
    return {
        "started": len(waits),
        "skipped_too_big": len(jobs) - len(found),
        "mean_wait_s": sum(waits) / len(waits) / 10,
        "p95_wait_s": waits[floor(0.95 * (len(waits) - 1))] / 10,
        "max_wait_s": waits[-1] / 10,
        "mean_jct_s": sum(completions) / len(completions) / 10,
        "makespan_s": span / 10,
        "gpu_util": busy / (gpus * span),
    }
