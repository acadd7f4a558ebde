"""Policies against seeds: many runs of one study, on every core, and what they say together.

A run shares nothing with another, so runs are spread over processes (started afresh, so that it
works the same everywhere). Ctrl-C keeps the runs that are done. A run that fails ends the rest.
"""

import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import closing
from multiprocessing import get_context
from statistics import fmean, stdev
from typing import Final

import msgspec

from stretto.base.errors import InputError, InvariantBrokenError
from stretto.inputs.fleet import Fleet
from stretto.sim.openb import DIGITS, Asked, Run, Study

MAX_SEED: Final = 2**63 - 1
"""Seeds are numbers of a generator: more than that it does not take."""
MAX_RUNS: Final = 100_000
"""More is a mistake: it would take a day."""

Told = Callable[[Run], None]
"""Told of each run that is done, in the order in which they end."""
Runs = Generator[tuple[int, Run], None, None]
"""Runs with their place in the order asked, as they end."""


class Summary(msgspec.Struct, frozen=True, gc=False):
    """What the seeds of one policy say together at one percent of arrival."""

    #: The policy.
    policy: str
    #: GPU milli that have arrived, in percent of the fleet's.
    arrive_pct: int
    #: Mean over seeds of the GPU milli allocated, in percent of the fleet's.
    gpu_alloc_pct_mean: float
    #: Sample deviation of the same; null for one seed.
    gpu_alloc_pct_sd: float | None
    #: Mean over seeds of the GPU milli fragmented, in percent of the fleet's.
    frag_pct_of_cluster_mean: float


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a comparison found."""

    #: The runs that are done, in the order asked.
    runs: tuple[Run, ...]
    #: What the seeds say together, by policy and percent.
    summary: tuple[Summary, ...]
    #: Whether it was interrupted: runs are missing.
    partial: bool = False


def compare(
    fleet: Fleet, asked: Sequence[Asked], workers: int = 0, told: Told | None = None
) -> Comparison:
    """Make runs of a study; ``workers`` 0 takes every core this process may use."""
    workers = min(workers or len(os.sched_getaffinity(0)), len(asked))
    done: dict[int, Run] = {}
    partial = False
    runs = _in_turn(fleet, asked) if workers <= 1 else _side_by_side(fleet, asked, workers)
    try:
        with closing(runs):
            for place, run in runs:
                done[place] = run
                if told is not None:
                    told(run)
    except KeyboardInterrupt:
        partial = True
    found = tuple(done[place] for place in sorted(done))
    return Comparison(found, summarise(found), partial)


def summarise(runs: Sequence[Run]) -> tuple[Summary, ...]:
    """The seeds of each policy together, at every percent that all of them have reached."""
    found = []
    for policy in dict.fromkeys(run.policy for run in runs):
        curves = [{p.arrive_pct: p for p in run.points} for run in runs if run.policy == policy]
        for percent in sorted(set.intersection(*map(set, curves))):
            points = [curve[percent] for curve in curves]
            alloc = [point.gpu_alloc_pct for point in points]
            frag = [point.frag_pct_of_cluster for point in points]
            deviation = round(stdev(alloc), DIGITS) if len(alloc) > 1 else None
            mean, lost = round(fmean(alloc), DIGITS), round(fmean(frag), DIGITS)
            found.append(Summary(policy, percent, mean, deviation, lost))
    return tuple(found)


def read_seeds(text: str, where: str = "seeds") -> tuple[int, ...]:
    """Seeds such as ``42,43,44`` or ``42-51``, each once.

    Raises:
        InputError: it is no such list.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        ends = (low, high if dash else low)
        if not all(end.isdecimal() and int(end) <= MAX_SEED for end in ends):
            raise InputError(where, text, "numbers and ranges such as 42,43,44 or 42-51")
        first, last = map(int, ends)
        if not 0 <= last - first < MAX_RUNS:
            raise InputError(where, text, f"ranges that rise, of at most {MAX_RUNS:,} seeds")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def _in_turn(fleet: Fleet, asked: Sequence[Asked]) -> Runs:
    """One run after another, here."""
    study = Study(fleet)
    for place, each in enumerate(asked):
        yield place, study.run(each)


def _side_by_side(fleet: Fleet, asked: Sequence[Asked], workers: int) -> Runs:
    """Runs in other processes, as they end; closing it lets the running ones end and no more."""
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (fleet,))
    try:
        places: dict[Future[Run], int] = {pool.submit(_run, a): i for i, a in enumerate(asked)}
        for future in as_completed(places):
            yield places[future], future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Worker:
    """What a worker process holds."""

    #: The study; ``None`` before the process has been started.
    study: Study | None = None


def _start(fleet: Fleet) -> None:
    """Make a worker ready; Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Worker.study = Study(fleet)


def _run(asked: Asked) -> Run:
    """One run in a worker."""
    if _Worker.study is None:
        raise InvariantBrokenError("a worker", "it was not started", "report this as a bug")
    return _Worker.study.run(asked)
