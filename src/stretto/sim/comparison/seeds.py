"""Runs a study for many policies and seeds on all cores, and summarises the runs.

Runs are independent, so they are distributed over processes, which are spawned on every platform.
After Ctrl-C, the finished runs are reported. A run that fails ends the others.
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

from stretto.base.cores import usable_cores
from stretto.base.errors import InputError, InvariantBrokenError
from stretto.inputs.neutral.fleet import Fleet
from stretto.sim.comparison.scene import DIGITS, OpenbStudy, StudyRun, StudyRunSpec

MAX_SEED: Final = 2**63 - 1
"""Largest seed of the random generator."""
MAX_RUNS: Final = 100_000
"""Maximum number of runs of one comparison; more would take over a day."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

OnRun = Callable[[StudyRun], None]
"""Receives each finished run, in the order of completion."""
Runs = Generator[tuple[int, StudyRun], None, None]
"""Runs with their index in the request, in the order of completion."""


class PolicySummary(msgspec.Struct, frozen=True, gc=False):
    """The seeds of one policy combined, at one percent of arrival."""

    #: The policy.
    policy: str
    #: GPU milli that have arrived, in percent of the fleet's.
    arrive_pct: int
    #: Mean over seeds of the GPU milli allocated, in percent of the fleet's.
    gpu_alloc_pct_mean: float
    #: Sample standard deviation of this mean's values; null for one seed.
    gpu_alloc_pct_sd: float | None
    #: Mean over seeds of the GPU milli fragmented, in percent of the fleet's.
    frag_pct_of_cluster_mean: float


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of a comparison."""

    #: The finished runs, in the order of the request.
    runs: tuple[StudyRun, ...]
    #: The seeds combined, by policy and percent.
    summary: tuple[PolicySummary, ...]
    #: True if it was interrupted, so that runs are missing.
    partial: bool = False


def compare(
    fleet: Fleet, specs: Sequence[StudyRunSpec], workers: int = 0, on_run: OnRun | None = None
) -> Comparison:
    """Execute runs of a study; ``workers`` 0 uses every core of this process's affinity."""
    workers = min(workers or usable_cores(), len(specs))
    done: dict[int, StudyRun] = {}
    partial = False
    runs = _sequential(fleet, specs) if workers <= 1 else _parallel(fleet, specs, workers)
    try:
        with closing(runs):
            for index, run in runs:
                done[index] = run
                if on_run is not None:
                    on_run(run)
    except KeyboardInterrupt:
        partial = True
    found = tuple(done[index] for index in sorted(done))
    return Comparison(found, summarise(found), partial)


def summarise(runs: Sequence[StudyRun]) -> tuple[PolicySummary, ...]:
    """The seeds of each policy combined, at every percent that all of them have reached."""
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
    """Parse seeds such as ``42,43,44``, ``42-51`` or ``42..51``; each is returned once.

    Raises:
        InputError: the text is not a list of seeds.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        low, dash, high = part.strip().replace("..", "-").partition("-")
        ends = (low, high if dash else low)
        if not all(end.isdecimal() and int(end) <= MAX_SEED for end in ends):
            raise InputError(where, text, "numbers and ranges such as 42,43,44 or 42-51")
        first, last = map(int, ends)
        if not 0 <= last - first < MAX_RUNS:
            raise InputError(where, text, f"ascending ranges of at most {MAX_RUNS:,} seeds")
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def _sequential(fleet: Fleet, specs: Sequence[StudyRunSpec]) -> Runs:
    """Runs in this process, one after the other."""
    study = OpenbStudy(fleet)
    for index, spec in enumerate(specs):
        yield index, study.run(spec)


def _parallel(fleet: Fleet, specs: Sequence[StudyRunSpec], workers: int) -> Runs:
    """Runs in other processes; closing the generator ends the unfinished runs."""
    context = get_context("spawn")
    child_end, parent_end = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _start, (fleet, child_end))
    try:
        with _signals_deferred():
            indices: dict[Future[StudyRun], int] = {
                pool.submit(_run, spec): i for i, spec in enumerate(specs)
            }
        for future in as_completed(indices):
            yield indices[future], future.result()
    finally:
        parent_end.close()
        pool.shutdown(wait=True, cancel_futures=True)
        child_end.close()


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer signals while workers are spawned, so that no partly started worker is orphaned.

    Workers start with the signals blocked until ``_start`` has set the handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = {each: signal.signal(each, lambda each, _: received.append(each)) for each in _SIGNALS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
        if received:
            signal.raise_signal(received[0])


class _Worker:
    """State of a worker process."""

    #: The study; ``None`` before ``_start``.
    study: OpenbStudy | None = None


def _start(fleet: Fleet, pipe: Connection) -> None:
    """Initialise a worker. It ignores Ctrl-C; the parent ends it by closing the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_exit_with_parent, args=(pipe,), daemon=True).start()
    _Worker.study = OpenbStudy(fleet)


def _exit_with_parent(pipe: Connection) -> None:
    """Exit when the other end is closed, because the parent has finished or was killed."""
    with suppress(OSError, EOFError):
        pipe.recv()
    os._exit(0)


def _run(spec: StudyRunSpec) -> StudyRun:
    """Execute one run in a worker."""
    if _Worker.study is None:
        raise InvariantBrokenError("a worker", "it was not started", "report this as a bug")
    return _Worker.study.run(spec)
