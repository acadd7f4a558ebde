"""Policies against seeds: many runs of one study, on every core, and what they say together.

A run shares nothing with another, so runs are spread over processes (started afresh, so that it
works the same everywhere). Ctrl-C keeps the runs that are done. A run that fails ends the rest.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import fmean, stdev
from typing import Final

import msgspec

from stretto.base.errors import InputError, InvariantBrokenError
from stretto.inputs.neutral.fleet import Fleet
from stretto.sim.comparison.scene import DIGITS, OpenbStudy, StudyRun, StudyRunSpec

MAX_SEED: Final = 2**63 - 1
"""Seeds are numbers of a generator: more than that it does not take."""
MAX_RUNS: Final = 100_000
"""More is a mistake: it would take a day."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

Told = Callable[[StudyRun], None]
"""Told of each run that is done, in the order in which they end."""
Runs = Generator[tuple[int, StudyRun], None, None]
"""Runs with their place in the order asked, as they end."""


class PolicySummary(msgspec.Struct, frozen=True, gc=False):
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
    runs: tuple[StudyRun, ...]
    #: What the seeds say together, by policy and percent.
    summary: tuple[PolicySummary, ...]
    #: Whether it was interrupted: runs are missing.
    partial: bool = False


def compare(
    fleet: Fleet, asked: Sequence[StudyRunSpec], workers: int = 0, told: Told | None = None
) -> Comparison:
    """Make runs of a study; ``workers`` 0 takes every core this process may use."""
    workers = min(workers or len(os.sched_getaffinity(0)), len(asked))
    done: dict[int, StudyRun] = {}
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


def summarise(runs: Sequence[StudyRun]) -> tuple[PolicySummary, ...]:
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
            found.append(PolicySummary(policy, percent, mean, deviation, lost))
    return tuple(found)


def read_seeds(text: str, where: str = "seeds") -> tuple[int, ...]:
    """Seeds such as ``42,43,44`` or ``42-51`` (``42..51`` too), each once.

    Raises:
        InputError: it is no such list.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        low, dash, high = part.strip().replace("..", "-").partition("-")
        ends = (low, high if dash else low)
        if not all(end.isdecimal() and int(end) <= MAX_SEED for end in ends):
            raise InputError(where, text, "numbers and ranges such as 42,43,44 or 42-51")
        first, last = map(int, ends)
        if not 0 <= last - first < MAX_RUNS:
            raise InputError(where, text, f"ranges that rise, of at most {MAX_RUNS:,} seeds")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def _in_turn(fleet: Fleet, asked: Sequence[StudyRunSpec]) -> Runs:
    """One run after another, here."""
    study = OpenbStudy(fleet)
    for place, each in enumerate(asked):
        yield place, study.run(each)


def _side_by_side(fleet: Fleet, asked: Sequence[StudyRunSpec], workers: int) -> Runs:
    """Runs in other processes, as they end; closing it ends those that are not done."""
    context = get_context("spawn")
    line, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _start, (fleet, line))
    try:
        with _undisturbed():
            places: dict[Future[StudyRun], int] = {
                pool.submit(_run, a): i for i, a in enumerate(asked)
            }
        for future in as_completed(places):
            yield places[future], future.result()
    finally:
        held.close()
        pool.shutdown(wait=True, cancel_futures=True)
        line.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait while workers are started: a worker half made would be nobody's.

    Workers begin with the signals blocked, until ``_start`` has said what they mean there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {each: signal.signal(each, lambda each, _: came.append(each)) for each in _SIGNALS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


class _Worker:
    """What a worker process holds."""

    #: The study; ``None`` before the process has been started.
    study: OpenbStudy | None = None


def _start(fleet: Fleet, line: Connection) -> None:
    """Make a worker ready; Ctrl-C is the parent's business, who lets the line go to end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_exit_with_parent, args=(line,), daemon=True).start()
    _Worker.study = OpenbStudy(fleet)


def _exit_with_parent(line: Connection) -> None:
    """Leave when nobody holds the other end: the parent is done, or was killed and cannot say."""
    with suppress(OSError, EOFError):
        line.recv()
    os._exit(0)


def _run(asked: StudyRunSpec) -> StudyRun:
    """One run in a worker."""
    if _Worker.study is None:
        raise InvariantBrokenError("a worker", "it was not started", "report this as a bug")
    return _Worker.study.run(asked)
