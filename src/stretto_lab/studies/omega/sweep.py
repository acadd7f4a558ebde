"""The sweep of Omega's experiment: decision times × schedulers, and what each mode costs.

The work is drawn by a seed: jobs come in a Poisson stream, have a geometric number of like tasks
and run for exponential times, so that together they hold ``load`` of the cell's cores beside the
``fill`` that never ends. The production traces of the paper are not public; shapes can be compared
with it, absolute figures cannot.

Two sweeps over the decision time of a job: one with several numbers of schedulers in the product's
own mode (a claim conflicts when it no longer fits, the rest of the job is kept), one with every
mode at one number of schedulers. A point is *saturated* when its schedulers think all the time:
less is placed then, the cell is emptier, and its conflicts say little.
"""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Final

import msgspec
import numpy as np

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.sim.plots import PlotLine, PlotTexts, curves_png
from stretto.state.work.claims import CommitMode, ConflictMode
from stretto_lab.studies.omega.model import OmegaCell, OmegaJob, OmegaRun
from stretto_lab.studies.omega.simulation import run_omega

SATURATED: Final = 0.95
"""Part of the time from which on a scheduler is taken for always busy."""
SIZES_MILLI: Final = (500, 1000, 1500)
"""What a task asks for, each as likely: one core on the mean."""
HOUR_S: Final = 3600.0

Told = Callable[[int], None]
"""Told how many runs are done."""
Mode = tuple[ConflictMode, CommitMode]

PLAIN: Final[Mode] = (ConflictMode.FIT, CommitMode.INCREMENTAL)
"""The product's own mode, and Omega's."""
MODES: Final[tuple[Mode, ...]] = tuple((c, m) for c in ConflictMode for m in CommitMode)


class OmegaStudy(msgspec.Struct, frozen=True):
    """What is swept, over what."""

    #: Machines of four cores and 16 GiB.
    machines: int = 1000
    #: Part of the cores taken by what never ends.
    fill: float = 0.6
    #: Part of the cores that the jobs hold on the mean, once the cell is in balance.
    load: float = 0.25
    #: Jobs a second.
    jobs_per_s: float = 0.5
    #: Tasks of a job on the mean.
    tasks: float = 10.0
    #: Hours simulated.
    hours: float = 1.0
    #: Seconds of thinking for each job, swept.
    decisions_s: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    #: Seconds of thinking for each task.
    task_s: float = 0.005
    #: Numbers of schedulers, swept.
    schedulers: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    #: Schedulers with which every mode is run.
    modes_at: int = 8
    #: The profile by which machines are chosen.
    policy: str = "random"
    #: Seed of every draw.
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("jobs_per_s", "tasks", "hours", "load"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise InputError(name, value, "a number above 0")
        if not 0 < self.fill + self.load < 1:
            expected = f"with the fill of {self.fill} less than the whole cell"
            raise InputError("load", self.load, expected, "lower one of them")
        if not self.decisions_s or not self.schedulers:
            raise InputError("decisions_s", self.decisions_s, "one value at least")


class OmegaPoint(msgspec.Struct, frozen=True):
    """One run in figures."""

    #: Schedulers.
    schedulers: int
    #: Seconds of thinking for each job.
    decision_s: float
    #: When a claim conflicts.
    conflicts: ConflictMode
    #: What a conflict does to the rest of the job.
    commit: CommitMode
    #: Failed transactions for each that succeeded; null where none did.
    conflict_fraction: float | None
    #: Part of the time that a scheduler thinks, the mean over them.
    busyness: float
    #: The same of each scheduler.
    busyness_each: tuple[float, ...]
    #: Part of the time spent on transactions that failed.
    wasted: float
    #: Whether the schedulers think all the time.
    saturated: bool
    #: Mean seconds from a job's arrival to its first thought.
    wait_mean_s: float | None
    #: The 90th percentile of the same.
    wait_p90_s: float | None
    #: Jobs done.
    done: int
    #: Jobs given up.
    abandoned: int
    #: Claims granted.
    granted: int
    #: Claims refused: work done again.
    refused: int


def omega_jobs(study: OmegaStudy) -> list[OmegaJob]:
    """The jobs of a study, in the order of their arrival."""
    draw = Rng(study.seed).child("jobs").numpy()
    cores = study.machines * OmegaCell().cpu_milli / 1000
    lasts = study.load * cores / (study.jobs_per_s * study.tasks * np.mean(SIZES_MILLI) / 1000)
    end = study.hours * HOUR_S
    jobs: list[OmegaJob] = []
    now = draw.exponential(1 / study.jobs_per_s)
    while now < end:
        tasks = int(draw.geometric(1 / study.tasks))
        size = int(draw.choice(SIZES_MILLI))
        jobs.append(OmegaJob(float(now), tasks, float(draw.exponential(lasts)), size, size))
        now += draw.exponential(1 / study.jobs_per_s)
    return jobs


def run_study(study: OmegaStudy, told: Told | None = None) -> list[OmegaPoint]:
    """Every run of a study: by schedulers in the plain mode, then by mode."""
    jobs = omega_jobs(study)
    points: list[OmegaPoint] = []
    for schedulers, decision, mode in runs_of(study):
        cell = OmegaCell(
            machines=study.machines,
            fill=study.fill,
            schedulers=schedulers,
            job_s=decision,
            task_s=study.task_s,
            conflicts=mode[0],
            commit=mode[1],
            policy=study.policy,
            until_s=study.hours * HOUR_S,
            seed=study.seed,
        )
        points.append(_point(cell, run_omega(jobs, cell)))
        if told is not None:
            told(len(points))
    return points


def runs_of(study: OmegaStudy) -> Iterator[tuple[int, float, Mode]]:
    """Schedulers, decision time and mode of every run, none twice."""
    for schedulers in dict.fromkeys((*study.schedulers, study.modes_at)):
        for mode in MODES if schedulers == study.modes_at else (PLAIN,):
            for decision in study.decisions_s:
                yield schedulers, decision, mode


def omega_plots(points: Sequence[OmegaPoint], modes_at: int) -> dict[str, bytes]:
    """PNG files by name: conflicts and busyness, by schedulers and by mode."""
    plain = [each for each in points if (each.conflicts, each.commit) == PLAIN]
    counts = dict.fromkeys(each.schedulers for each in plain)
    by_count = {
        f"{n} scheduler{'s' * (n > 1)}": [each for each in plain if each.schedulers == n]
        for n in counts
    }
    by_mode = {
        f"{c.value}, {m.value}": [
            each
            for each in points
            if (each.schedulers, each.conflicts, each.commit) == (modes_at, c, m)
        ]
        for c, m in MODES
    }
    at = f"{modes_at} schedulers"
    return {
        "omega-conflicts.png": _conflicts(by_count, "Omega: conflicts"),
        "omega-busyness.png": _busyness(by_count, "Omega: busyness"),
        "omega-modes-conflicts.png": _conflicts(by_mode, f"Omega: conflicts by mode, {at}"),
        "omega-modes-busyness.png": _busyness(by_mode, f"Omega: busyness by mode, {at}"),
    }


_ALONG: Final = "decision time of a job (s)"


def _conflicts(groups: dict[str, list[OmegaPoint]], title: str) -> bytes:
    """Conflict fractions; what is saturated is left out."""
    shown = {
        name: [(e.decision_s, e.conflict_fraction or 0.0) for e in found if not e.saturated]
        for name, found in groups.items()
    }
    words = PlotTexts(title, _ALONG, "failed transactions for each that succeeded", log_x=True)
    return _curves(shown, words)


def _busyness(groups: dict[str, list[OmegaPoint]], title: str) -> bytes:
    shown = {name: [(e.decision_s, e.busyness) for e in found] for name, found in groups.items()}
    return _curves(
        shown, PlotTexts(title, _ALONG, "part of the time a scheduler thinks", log_x=True)
    )


def _curves(shown: dict[str, list[tuple[float, float]]], words: PlotTexts) -> bytes:
    lines = [
        PlotLine(name, [x for x, _ in found], [y for _, y in found], colour)
        for colour, (name, found) in enumerate(shown.items())
        if found
    ]
    return curves_png(lines, words)


def _point(cell: OmegaCell, run: OmegaRun) -> OmegaPoint:
    waits = np.array(run.waits_s)
    waits = waits[~np.isnan(waits)]
    span = run.span_s or 1.0
    each = tuple(round(use.busy_s / span, 6) for use in run.schedulers)
    fraction = run.conflict_fraction
    return OmegaPoint(
        schedulers=cell.schedulers,
        decision_s=cell.job_s,
        conflicts=cell.conflicts,
        commit=cell.commit,
        conflict_fraction=None if fraction is None else round(fraction, 6),
        busyness=round(run.busyness, 6),
        busyness_each=each,
        wasted=round(sum(use.wasted_s for use in run.schedulers) / (span * len(each)), 6),
        saturated=run.busyness >= SATURATED,
        wait_mean_s=round(float(waits.mean()), 6) if len(waits) else None,
        wait_p90_s=round(float(np.percentile(waits, 90)), 6) if len(waits) else None,
        done=run.done,
        abandoned=run.abandoned,
        granted=run.granted,
        refused=run.refused,
    )
