"""The part of a trace that is read: a window of time, a sample of jobs, a number of jobs.

Published traces have millions of rows. Readers call ``keeps`` for each row, so only the kept part
is in memory.
"""

import zlib
from collections.abc import Sequence
from math import inf
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import FleetPod

MAX_KEPT: Final = 2_000_000
"""Maximum number of kept pods: about 4 GB of objects."""
WINDOW_EXAMPLE: Final = "seconds of the trace as START:END, such as 0:86400"
"""Form of ``--window``."""


class TraceBounds(msgspec.Struct, frozen=True):
    """The part of a trace that is read."""

    #: First second, inclusive; jobs that run at that second are kept too.
    start_s: float = -inf
    #: Last second, exclusive.
    end_s: float = inf
    #: Share of the jobs, 0..1; a job is kept or omitted as a whole.
    sample: float = 1.0
    #: Maximum number of jobs in order of arrival; ``None`` for all.
    jobs: int | None = None

    def keeps(self, job: str, arrival_s: float, end_s: float = -inf) -> bool:
        """True if a job is kept, apart from the number of jobs.

        Args:
            job: its identity.
            arrival_s: second of its arrival.
            end_s: second of its end in the trace; a job that runs at the start is kept.
        """
        return self.overlaps(arrival_s, end_s) and self.samples(job)

    def overlaps(self, arrival_s: float, end_s: float = -inf) -> bool:
        """True if a job arrives in the window, or runs at its start."""
        return arrival_s < self.end_s and (arrival_s >= self.start_s or end_s > self.start_s)

    def samples(self, job: str) -> bool:
        """True if a job belongs to the sample, independent of its arrival."""
        return self.sample >= 1.0 or zlib.crc32(job.encode()) < self.sample * 2**32

    def first_jobs(self, pods: Sequence[FleetPod]) -> tuple[FleetPod, ...]:
        """The pods by arrival (equal ones in their order), at most those of ``jobs`` jobs."""
        ordered = sorted(pods, key=lambda pod: pod.arrival_s or 0.0)
        if self.jobs is None:
            return tuple(ordered)
        kept: dict[str, None] = {}
        for pod in ordered:
            if len(kept) == self.jobs:
                break
            kept.setdefault(job_of(pod))
        return tuple(pod for pod in ordered if job_of(pod) in kept)

    def of(self, pods: Sequence[FleetPod]) -> tuple[FleetPod, ...]:
        """The kept pods of a list that is completely in memory, by arrival."""
        found = [pod for pod in pods if self.keeps(job_of(pod), pod.arrival_s or 0.0, _end_of(pod))]
        return self.first_jobs(found)


EVERYTHING: Final = TraceBounds()
"""The whole trace."""


def job_of(pod: FleetPod) -> str:
    """The job of a pod: the job in the trace, its gang, its controller, or itself."""
    return pod.extra.get("job") or pod.group or pod.owner or pod.name


def _end_of(pod: FleetPod) -> float:
    """Second of the end of a pod; minus infinity if the trace does not state one."""
    if pod.departure_s is not None:
        return pod.departure_s
    return -inf if pod.duration_s is None else (pod.arrival_s or 0.0) + pod.duration_s


def check_kept(count: int, where: str) -> None:
    """Refuse a trace that does not fit into memory.

    Raises:
        InputError: more pods than ``MAX_KEPT`` are kept.
    """
    if count > MAX_KEPT:
        hint = "keep a part of it: --window START:END or --sample 0.01"
        raise InputError(where, f"more than {MAX_KEPT:,} pods", f"at most {MAX_KEPT:,}", hint)


def parse_window(text: str) -> tuple[float, float]:
    """Start and end of a window such as ``0:86400``; either may be missing.

    Raises:
        InputError: the text is not a window, or the window is empty.
    """
    first, colon, last = text.partition(":")
    try:
        start, end = float(first or "-inf"), float(last or "inf")
    except ValueError:
        start, end = inf, -inf
    if not colon or not start < end:
        raise InputError("--window", text, WINDOW_EXAMPLE)
    return start, end
