"""The Omega sweep: decision times and numbers of schedulers, and the cost of each mode.

The workload is drawn by the seed: jobs arrive in a Poisson stream, have a geometric number of equal
tasks and run for exponential times. They use ``load`` of the cores in addition to the occupied
``fill``. The production traces of the paper are not public, so only the shapes of the curves can be
compared with the paper.

There are two sweeps over the decision time: several numbers of schedulers in the default mode (a
claim conflicts if it no longer fits; the rest of the job is committed), and every mode with one
number of schedulers. A point is *saturated* if its schedulers are always busy. Such a point places
fewer tasks, so the cell is emptier and the conflicts are not comparable.
"""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.framework.profile.host_rules import DYNAMIC, HostRules
from stretto.state.work.claims import CommitMode, ConflictMode
from stretto_lab.studies.omega.model import OmegaCell, OmegaJob, OmegaRun
from stretto_lab.studies.omega.simulation import run_omega

SATURATED: Final = 0.95
"""Busyness at which a scheduler counts as saturated."""
SIZES_MILLI: Final = (500, 1000, 1500)
"""Milli-CPU and MiB of a task, equally likely: one core on average."""
HOUR_S: Final = 3600.0


class Mode(NamedTuple):
    """Rules that decide about claims."""

    #: Condition under which claims conflict.
    conflicts: ConflictMode
    #: Effect of a conflict on the rest of the job.
    commit: CommitMode
    #: Hosts of a claim; ``None`` for a number that follows the decisions in flight.
    hosts: int | None = 1

    @property
    def label(self) -> str:
        """Name of the mode in plots."""
        if self.conflicts is ConflictMode.HOSTS:
            return f"hosts, n = {DYNAMIC if self.hosts is None else self.hosts}"
        return f"{self.conflicts.value}, {self.commit.value}"


PLAIN: Final = Mode(ConflictMode.FIT, CommitMode.INCREMENTAL)
"""The default mode of Stretto and of Omega."""
HULK: Final = tuple(
    Mode(ConflictMode.HOSTS, CommitMode.INCREMENTAL, count) for count in (1, 3, 10, None)
)
"""HULK's host actors: one, three or ten hosts per claim, or a number that follows the load."""
MODES: Final[tuple[Mode, ...]] = (
    *(Mode(c, m) for c in (ConflictMode.FIT, ConflictMode.VERSION) for m in CommitMode),
    *HULK,
)
"""Omega's modes, then HULK's."""


class OmegaStudy(msgspec.Struct, frozen=True):
    """Parameters of the sweep."""

    #: Machines of four cores and 16 GiB.
    machines: int = 1000
    #: Share of cores that stays occupied.
    fill: float = 0.6
    #: Mean share of cores that jobs use in the steady state.
    load: float = 0.25
    #: Jobs per second.
    jobs_per_s: float = 0.5
    #: Mean number of tasks per job.
    tasks: float = 10.0
    #: Hours simulated.
    hours: float = 1.0
    #: Decision times per job in seconds, swept.
    decisions_s: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    #: Decision time per task in seconds.
    task_s: float = 0.005
    #: Numbers of schedulers, swept.
    schedulers: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    #: Number of schedulers for the comparison of modes.
    modes_at: int = 8
    #: Profile that chooses machines.
    policy: str = "random"
    #: Seed of every draw.
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("jobs_per_s", "tasks", "hours", "load"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise InputError(name, value, "a number above 0")
        if not 0 < self.fill + self.load < 1:
            expected = f"less than the whole cell together with the fill of {self.fill}"
            raise InputError("load", self.load, expected, "lower one of them")
        if not self.decisions_s or not self.schedulers:
            raise InputError("decisions_s", self.decisions_s, "one value at least")


class OmegaPoint(msgspec.Struct, frozen=True):
    """Figures of one run."""

    #: Schedulers.
    schedulers: int
    #: Decision time per job in seconds.
    decision_s: float
    #: Condition under which claims conflict.
    conflicts: ConflictMode
    #: Effect of a conflict on the rest of the job.
    commit: CommitMode
    #: Hosts of a claim if hosts decide, else 1; null for a number that follows the load.
    hosts: int | None
    #: Failed transactions per successful transaction; null if none was successful.
    conflict_fraction: float | None
    #: Mean share of time that schedulers are busy.
    busyness: float
    #: Busyness of each scheduler.
    busyness_each: tuple[float, ...]
    #: Share of time spent on failed transactions.
    wasted: float
    #: True if the schedulers are always busy.
    saturated: bool
    #: Mean seconds from the arrival of a job to its first decision.
    wait_mean_s: float | None
    #: 90th percentile of that wait.
    wait_p90_s: float | None
    #: Jobs done.
    done: int
    #: Abandoned jobs.
    abandoned: int
    #: Claims granted.
    granted: int
    #: Refused claims, whose work is repeated.
    refused: int
    #: Mean number of hosts that refused a granted claim before.
    rank_mean: float
    #: Mean difference in points between the best host and the host of a granted claim.
    behind_mean: float

    @property
    def mode(self) -> Mode:
        """Rules that decided about the claims."""
        return Mode(self.conflicts, self.commit, self.hosts)


def omega_jobs(study: OmegaStudy) -> list[OmegaJob]:
    """Draw the jobs of a study, in order of arrival."""
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


def omega_points(study: OmegaStudy) -> Iterator[OmegaPoint]:
    """Run the study and yield its points: by schedulers in the default mode, then by mode."""
    jobs = omega_jobs(study)
    for schedulers, decision, mode in runs_of(study):
        cell = OmegaCell(
            machines=study.machines,
            fill=study.fill,
            schedulers=schedulers,
            job_s=decision,
            task_s=study.task_s,
            conflicts=mode.conflicts,
            commit=mode.commit,
            hosts=HostRules(mode.hosts),
            policy=study.policy,
            until_s=study.hours * HOUR_S,
            seed=study.seed,
        )
        yield _point(cell, run_omega(jobs, cell))


def runs_of(study: OmegaStudy) -> Iterator[tuple[int, float, Mode]]:
    """Yield the schedulers, decision time and mode of every run, without duplicates."""
    for schedulers in dict.fromkeys((*study.schedulers, study.modes_at)):
        for mode in MODES if schedulers == study.modes_at else (PLAIN,):
            for decision in study.decisions_s:
                yield schedulers, decision, mode


def omega_plots(points: Sequence[OmegaPoint], modes_at: int) -> list[CurvePlot]:
    """Plots: conflicts and busyness, by schedulers and by mode; none before the first point."""
    plain = [each for each in points if each.mode == PLAIN]
    if not plain:
        return []
    counts = dict.fromkeys(each.schedulers for each in plain)
    by_count = {
        f"{n} scheduler{'s' * (n > 1)}": [each for each in plain if each.schedulers == n]
        for n in counts
    }
    by_mode = {
        mode.label: [e for e in points if (e.schedulers, e.mode) == (modes_at, mode)]
        for mode in MODES
    }
    by_hosts = {mode.label: by_mode[mode.label] for mode in HULK}
    return [
        _conflicts("omega-conflicts", by_count, "Omega, most conflicts"),
        _busyness("omega-busyness", by_count, "Omega, busiest"),
        _conflicts("omega-modes-conflicts", by_mode, f"Of {modes_at} schedulers, most conflicts"),
        _busyness("omega-modes-busyness", by_mode, f"Of {modes_at} schedulers, busiest"),
        _distance("omega-hosts-distance", by_hosts, modes_at),
    ]


_ALONG: Final = "decision time of a job (s)"


def _conflicts(name: str, groups: dict[str, list[OmegaPoint]], head: str) -> CurvePlot:
    """Plot conflict fractions without saturated points."""
    shown = {
        label: [(e.decision_s, e.conflict_fraction or 0.0) for e in found if not e.saturated]
        for label, found in groups.items()
    }
    label, top = _highest(shown)
    title = f"{head}: {label}, {top:.2f} per successful transaction"
    words = PlotTexts(title, _ALONG, "failed transactions per successful one", log_x=True)
    return CurvePlot(name, _curves(shown), words)


def _busyness(name: str, groups: dict[str, list[OmegaPoint]], head: str) -> CurvePlot:
    shown = {name: [(e.decision_s, e.busyness) for e in found] for name, found in groups.items()}
    label, top = _highest(shown)
    title = f"{head}: {label}, {100 * top:.0f} % of the time"
    words = PlotTexts(title, _ALONG, "share of time a scheduler is busy", log_x=True)
    return CurvePlot(name, _curves(shown), words)


def _distance(name: str, groups: dict[str, list[OmegaPoint]], at: int) -> CurvePlot:
    """Plot the number of hosts that refused a granted claim before, without saturated points."""
    shown = {
        label: [(e.decision_s, e.rank_mean) for e in found if not e.saturated]
        for label, found in groups.items()
    }
    label, top = _highest(shown)
    title = f"Of {at} schedulers, farthest from the best host: {label}, {top:.2f} hosts"
    words = PlotTexts(title, _ALONG, "hosts that refused a granted task", log_x=True)
    return CurvePlot(name, _curves(shown), words)


def _highest(shown: dict[str, list[tuple[float, float]]]) -> tuple[str, float]:
    """Return the group with the highest value, and that value."""
    tops = {label: max((y for _, y in found), default=0.0) for label, found in shown.items()}
    label = max(tops, key=tops.__getitem__)
    return label, tops[label]


def _curves(shown: dict[str, list[tuple[float, float]]]) -> list[PlotLine]:
    """Return one curve for each group; curves of hosts are dashed, because they may hide others."""
    hosts = {mode.label for mode in HULK} if len(shown) > len(HULK) else frozenset[str]()
    return [
        PlotLine(name, [x for x, _ in found], [y for _, y in found], colour, dashed=name in hosts)
        for colour, (name, found) in enumerate(shown.items())
        if found
    ]


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
        hosts=cell.hosts.candidates,
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
        rank_mean=round(run.rank_mean, 6),
        behind_mean=round(run.behind_mean, 6),
    )
