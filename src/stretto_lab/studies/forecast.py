"""How good the forecast is: asked in the middle of a Philly trace, held against what happened.

A trace runs through a pool as in ``sim.traces.philly``. Every so often, when a job that has just
come does not start at once, its start is forecast from what the plane knows then: the queue, what
runs, and run times that are stated (``known``) or learnt from jobs that have ended (``typical``).
Later the real start is there. Nothing of the future goes into a forecast; what comes later may pass
the job (shortest first, backfill) or not (first come, first served).
"""

import heapq
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.base.registry import Registry
from stretto.inputs.objects.objects import object_name
from stretto.inputs.traces.philly import PhillyJob
from stretto.plane.config import Step
from stretto.sim.engine import NEVER, WorkRunner
from stretto.sim.history.forecast import Lasts, TypicalRunTimes, forecast, stated_run_times
from stretto.sim.plots import PlotLine, PlotTexts, curves_png
from stretto.sim.traces.philly import TICKS_PER_S, philly_world
from stretto.state.rows.lifecycle import UnitState

KNOWN: Final = "known"
"""Run times as jobs state them."""
TYPICAL: Final = "typical"
"""Run times learnt from jobs that have ended."""
RUN_TIMES: Final[Registry[str]] = Registry("run times", {KNOWN: KNOWN, TYPICAL: TYPICAL})
"""Where run times are taken from."""
HOUR_S: Final = 3600.0
TWICE: Final = 2.0
"""A forecast within half and twice the wait counts as near."""
SOON_S: Final = 60.0
"""So does one that is off by a minute at most."""

Told = Callable[[int], None]


class ForecastPoint(msgspec.Struct, frozen=True):
    """One forecast and what became of it; seconds of waiting from the moment it was made."""

    #: The job.
    job_id: str
    #: Units that waited, the job among them.
    queued: int
    #: What was told; null where nothing was expected to make room.
    told_s: float | None
    #: What happened.
    waited_s: float


class ForecastReport(msgspec.Struct, frozen=True):
    """How far forecasts were off, over jobs that had to wait."""

    #: Order of the queue.
    queue: str
    #: Where run times were taken from.
    run_times: str
    #: Forecasts made and held against a start.
    forecasts: int
    #: Of them, those without an answer.
    unanswered: int
    #: Mean wait that really followed, in seconds.
    mean_wait_s: float
    #: Median of how far they were off, in seconds.
    median_error_s: float
    #: 90th percentile of the same.
    p90_error_s: float
    #: Mean of told minus waited: below 0 where jobs wait longer than told.
    bias_s: float
    #: Part that was within half and twice the wait, or off by a minute at most.
    near: float
    #: Part of the spread of waits that is explained: 1 is perfect, 0 is no better than the mean.
    explained: float | None


class ForecastStudy(msgspec.Struct, frozen=True):
    """What is asked, of what."""

    #: GPUs of the pool.
    gpus: int = 64
    #: Order of the queue.
    queue: str = "fifo"
    #: Where run times are taken from.
    run_times: str = KNOWN
    #: Jobs that are asked about, evenly over the trace; those that start at once tell nothing.
    samples: int = 200

    def __post_init__(self) -> None:
        RUN_TIMES.get(self.run_times)
        if self.samples < 1:
            raise InputError("samples", self.samples, "a whole number from 1 on")


def study_forecast(
    jobs: Sequence[PhillyJob], study: ForecastStudy, told: Told | None = None
) -> tuple[ForecastReport, list[ForecastPoint]]:
    """Forecast the starts of a sample of jobs, and hold them against what happens.

    Raises:
        InputError: the pool has no GPU.
        UnknownNameError: there is no such order of the queue.
    """
    asking = _ForecastingRun(jobs, study, told)
    points = asking.run()
    return _report(study, points), points


def forecast_plot(reports: Sequence[tuple[ForecastReport, list[ForecastPoint]]]) -> bytes:
    """Told beside waited, in hours, a colour for each report; the line is where both are equal."""
    lines, top = [], 1.0
    for colour, (report, points) in enumerate(reports):
        found = [(e.told_s / HOUR_S, e.waited_s / HOUR_S) for e in points if e.told_s is not None]
        top = max([top, *(max(pair) for pair in found)])
        x, y = [told for told, _ in found], [waited for _, waited in found]
        lines.append(PlotLine(f"{report.queue}, {report.run_times}", x, y, colour, marks=True))
    lines.append(PlotLine("", [0.0, top], [0.0, top], 6))
    words = PlotTexts(
        "Forecast of a job's start", "told: hours from now", "waited: hours from then"
    )
    return curves_png(lines, words)


class _ForecastingRun:
    """One run with forecasts in between."""

    def __init__(self, jobs: Sequence[PhillyJob], study: ForecastStudy, told: Told | None) -> None:
        self._study = study
        self._told = told
        self._fitting, self._world, self._work = philly_world(jobs, study.gpus, study.queue)
        sizes = np.array([job.gpus for job in self._fitting], np.int64)
        #: First pod of each job.
        self._lead = np.cumsum(sizes) - sizes
        self._typical = TypicalRunTimes()
        self._number = {
            object_name(piece.pod.name): index
            for index, lead in enumerate(self._lead.tolist())
            for piece in [self._work[lead]]
        }
        #: (end, GPUs, run time) of jobs that run.
        self._ends: list[tuple[float, int, float]] = []
        self._every = max(1, len(self._fitting) // study.samples)
        self._arrived = 0
        self._asked: list[tuple[int, float, int, float | None]] = []
        self._world.plane.observers.append(self._observe)

    def run(self) -> list[ForecastPoint]:
        """Forecasts with their starts, in the order in which they were made."""
        record = WorkRunner(self._world, self._work, 1 / TICKS_PER_S, self._look).run()
        started = record.started[self._lead]
        return [
            ForecastPoint(
                job_id=self._fitting[index].job_id,
                queued=queued,
                told_s=told,
                waited_s=int(started[index]) / TICKS_PER_S - now,
            )
            for index, now, queued, told in self._asked
            if started[index] != NEVER
        ]

    def _look(self, arrived: int) -> None:
        """After a round: learn what has ended, and ask about what has come."""
        now = self._world.clock.monotonic()
        while self._ends and self._ends[0][0] <= now:
            _, gpus, seconds = heapq.heappop(self._ends)
            self._typical.learn(gpus, seconds)
        first, last = np.searchsorted(self._lead, [self._arrived, arrived]).tolist()
        self._arrived = arrived
        for index in range(first, last):
            if index % self._every == 0:
                self._ask(index)

    def _observe(self, step: Step) -> None:
        """Note when jobs end that start now: typical run times are learnt from them then."""
        names = self._world.plane.cluster.pods.name
        for verdict in step.verdicts:
            for row in verdict.granted.tolist():
                index = self._number.get(names[row])
                if index is not None:
                    job = self._fitting[index]
                    end = (step.now + job.duration_s, job.gpus, job.duration_s)
                    heapq.heappush(self._ends, end)

    def _ask(self, index: int) -> None:
        plane = self._world.plane
        job = self._fitting[index]
        key = f"PodGroupUnit/default/{object_name(f'job-{job.job_id}')}"
        unit = plane.units.find(key)
        if unit is None or not unit.pending:
            return
        lasts: Lasts = stated_run_times if self._study.run_times == KNOWN else self._typical.lasts
        told = forecast(plane, lasts, [key]).after_s[key]
        counts = plane.dispatcher.views.counts()
        queued = counts[UnitState.QUEUED] + counts[UnitState.UNSCHEDULABLE]
        now = plane.clock.monotonic()
        self._asked.append((index, now, queued, told if isfinite(told) else None))
        if self._told is not None:
            self._told(len(self._asked))


def _report(study: ForecastStudy, points: Sequence[ForecastPoint]) -> ForecastReport:
    answered = [each for each in points if each.told_s is not None]
    told = np.array([each.told_s for each in answered], float)
    waited = np.array([each.waited_s for each in answered], float)
    off = np.abs(told - waited)
    near = ((told <= TWICE * waited) & (waited <= TWICE * told)) | (off <= SOON_S)
    spread = float(((waited - waited.mean()) ** 2).sum()) if len(waited) else 0.0
    return ForecastReport(
        queue=study.queue,
        run_times=study.run_times,
        forecasts=len(points),
        unanswered=len(points) - len(answered),
        mean_wait_s=_mean(waited),
        median_error_s=round(float(np.median(off)), 1) if len(off) else 0.0,
        p90_error_s=round(float(np.percentile(off, 90)), 1) if len(off) else 0.0,
        bias_s=_mean(told - waited),
        near=_mean(near.astype(float)),
        explained=round(1 - float((off**2).sum()) / spread, 4) if spread else None,
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    return round(float(values.mean()), 4) if len(values) else 0.0
