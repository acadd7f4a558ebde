"""The forecast study: forecasts made during a Philly trace, compared with the actual starts.

A trace runs through a pool as in ``sim.traces.philly``. For a sample of jobs that do not start on
arrival, the study forecasts the start from the state of the plane: the queue, the running jobs, and
run times that the jobs state (``known``) or that are learnt from finished jobs (``typical``). The
actual start is known later. A forecast uses no information about the future. Jobs that arrive later
may overtake the job (shortest first, backfill) or not (first come, first served).
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
from stretto.explain.records.curves import PlotLine, PlotTexts
from stretto.inputs.objects.objects import object_name
from stretto.inputs.traces.philly import PhillyJob
from stretto.plane.config import Step
from stretto.sim.engine import NEVER, WorkRunner
from stretto.sim.history.forecast import Lasts, TypicalRunTimes, forecast, stated_run_times
from stretto.sim.plots.figures import Pictures, draw_panels
from stretto.sim.traces.philly import TICKS_PER_S, philly_world
from stretto.state.rows.lifecycle import UnitState

KNOWN: Final = "known"
"""Run times stated by the jobs."""
TYPICAL: Final = "typical"
"""Run times learnt from finished jobs."""
RUN_TIMES: Final[Registry[str]] = Registry("run times", {KNOWN: KNOWN, TYPICAL: TYPICAL})
"""Sources of run times."""
HOUR_S: Final = 3600.0
TWICE: Final = 2.0
"""Factor within which a forecast counts as near."""
SOON_S: Final = 60.0
"""Error in seconds up to which a forecast also counts as near."""

OnForecast = Callable[[int], None]
"""Callback with the number of forecasts made."""


class ForecastPoint(msgspec.Struct, frozen=True):
    """One forecast and the actual wait, in seconds from the forecast."""

    #: The job.
    job_id: str
    #: Pending units, including the job.
    queued: int
    #: Forecast wait; null if the running pods are not expected to free enough capacity.
    predicted_s: float | None
    #: Actual wait.
    waited_s: float


class ForecastReport(msgspec.Struct, frozen=True):
    """Errors of the forecasts of jobs that had to wait."""

    #: Queue policy.
    queue: str
    #: Source of run times.
    run_times: str
    #: Forecasts with a known start.
    forecasts: int
    #: Forecasts without an estimate.
    unanswered: int
    #: Mean actual wait in seconds.
    mean_wait_s: float
    #: Median absolute error in seconds.
    median_error_s: float
    #: 90th percentile of the absolute error in seconds.
    p90_error_s: float
    #: Mean of forecast minus actual wait: negative if jobs wait longer than forecast.
    bias_s: float
    #: Share of forecasts between half and twice the actual wait, or wrong by at most a minute.
    near: float
    #: Explained share of the variance of waits: 1 is perfect, 0 is no better than the mean.
    explained: float | None


class ForecastStudy(msgspec.Struct, frozen=True):
    """Pool, queue and sample."""

    #: GPUs of the pool.
    gpus: int = 64
    #: Queue policy.
    queue: str = "fifo"
    #: Source of run times.
    run_times: str = KNOWN
    #: Jobs to forecast, evenly over the trace; jobs that start at once are skipped.
    samples: int = 200

    def __post_init__(self) -> None:
        RUN_TIMES.get(self.run_times)
        if self.samples < 1:
            raise InputError("samples", self.samples, "a whole number from 1 on")


def study_forecast(
    jobs: Sequence[PhillyJob], study: ForecastStudy, on_forecast: OnForecast | None = None
) -> tuple[ForecastReport, list[ForecastPoint]]:
    """Forecast the starts of a sample of jobs, and compare them with the actual starts.

    Raises:
        InputError: the pool has no GPU.
        UnknownNameError: the queue policy is unknown.
    """
    run = _ForecastingRun(jobs, study, on_forecast)
    points = run.run()
    return _report(study, points), points


def forecast_plot(
    reports: Sequence[tuple[ForecastReport, list[ForecastPoint]]], name: str = "forecast"
) -> Pictures:
    """Plot forecast and actual waits in hours: one panel for each queue, with the diagonal.

    Known run times have one colour in all panels, and typical run times have another.
    """
    waits = {
        (report.queue, report.run_times): [
            (each.predicted_s / HOUR_S, each.waited_s / HOUR_S)
            for each in points
            if each.predicted_s is not None
        ]
        for report, points in reports
    }
    top = max([1.0, *(value for found in waits.values() for pair in found for value in pair)])
    parts: dict[str, list[PlotLine]] = {}
    for (queue, times), found in waits.items():
        x, y = [predicted for predicted, _ in found], [waited for _, waited in found]
        colour = 0 if times == KNOWN else 1
        parts.setdefault(queue, []).append(PlotLine(f"{times} run times", x, y, colour, marks=True))
    for lines in parts.values():
        lines.append(PlotLine("", [0.0, top], [0.0, top], 6, dashed=True))
    medians: dict[str, list[float]] = {}
    for report, _ in reports:
        medians.setdefault(report.run_times, []).append(report.median_error_s / HOUR_S)
    errors = ", ".join(f"{np.median(each):.1f} h with {name}" for name, each in medians.items())
    title = f"Median error of a forecast: {errors} run times"
    return draw_panels(name, parts, PlotTexts(title, "forecast wait, hours", "actual wait, hours"))


class _ForecastingRun:
    """One run, with forecasts during the run."""

    def __init__(
        self, jobs: Sequence[PhillyJob], study: ForecastStudy, on_forecast: OnForecast | None
    ) -> None:
        self._study = study
        self._on_forecast = on_forecast
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
        #: (end, GPUs, run time) of running jobs.
        self._ends: list[tuple[float, int, float]] = []
        self._every = max(1, len(self._fitting) // study.samples)
        self._arrived = 0
        self._forecasts: list[tuple[int, float, int, float | None]] = []
        self._world.plane.observers.append(self._observe)

    def run(self) -> list[ForecastPoint]:
        """Run the trace; return the forecasts with actual starts, in order."""
        record = WorkRunner(self._world, self._work, 1 / TICKS_PER_S, self._look).run()
        started = record.started[self._lead]
        return [
            ForecastPoint(
                job_id=self._fitting[index].job_id,
                queued=queued,
                predicted_s=predicted,
                waited_s=int(started[index]) / TICKS_PER_S - now,
            )
            for index, now, queued, predicted in self._forecasts
            if started[index] != NEVER
        ]

    def _look(self, arrived: int) -> None:
        """Learn from finished jobs and forecast new jobs, after a round."""
        now = self._world.clock.monotonic()
        while self._ends and self._ends[0][0] <= now:
            _, gpus, seconds = heapq.heappop(self._ends)
            self._typical.learn(gpus, seconds)
        first, last = np.searchsorted(self._lead, [self._arrived, arrived]).tolist()
        self._arrived = arrived
        for index in range(first, last):
            if index % self._every == 0:
                self._forecast(index)

    def _observe(self, step: Step) -> None:
        """Record the end of starting jobs, at which their run times are learnt."""
        names = self._world.plane.cluster.pods.name
        for verdict in step.verdicts:
            for row in verdict.granted.tolist():
                index = self._number.get(names[row])
                if index is not None:
                    job = self._fitting[index]
                    end = (step.now + job.duration_s, job.gpus, job.duration_s)
                    heapq.heappush(self._ends, end)

    def _forecast(self, index: int) -> None:
        plane = self._world.plane
        job = self._fitting[index]
        key = f"PodGroupUnit/default/{object_name(f'job-{job.job_id}')}"
        unit = plane.units.find(key)
        if unit is None or not unit.pending:
            return
        lasts: Lasts = stated_run_times if self._study.run_times == KNOWN else self._typical.lasts
        predicted = forecast(plane, lasts, [key]).after_s[key]
        counts = plane.dispatcher.views.counts()
        queued = counts[UnitState.QUEUED] + counts[UnitState.UNSCHEDULABLE]
        now = plane.clock.monotonic()
        self._forecasts.append((index, now, queued, predicted if isfinite(predicted) else None))
        if self._on_forecast is not None:
            self._on_forecast(len(self._forecasts))


def _report(study: ForecastStudy, points: Sequence[ForecastPoint]) -> ForecastReport:
    answered = [each for each in points if each.predicted_s is not None]
    predicted = np.array([each.predicted_s for each in answered], float)
    waited = np.array([each.waited_s for each in answered], float)
    off = np.abs(predicted - waited)
    near = ((predicted <= TWICE * waited) & (waited <= TWICE * predicted)) | (off <= SOON_S)
    spread = float(((waited - waited.mean()) ** 2).sum()) if len(waited) else 0.0
    return ForecastReport(
        queue=study.queue,
        run_times=study.run_times,
        forecasts=len(points),
        unanswered=len(points) - len(answered),
        mean_wait_s=_mean(waited),
        median_error_s=round(float(np.median(off)), 1) if len(off) else 0.0,
        p90_error_s=round(float(np.percentile(off, 90)), 1) if len(off) else 0.0,
        bias_s=_mean(predicted - waited),
        near=_mean(near.astype(float)),
        explained=round(1 - float((off**2).sum()) / spread, 4) if spread else None,
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    return round(float(values.mean()), 4) if len(values) else 0.0
