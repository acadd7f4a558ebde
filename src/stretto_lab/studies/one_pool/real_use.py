"""The one-pool day with real use: gains and costs of overcommit, reclaimed capacity, elasticity.

Every configuration runs the same work on the same number of machines. The study measures the
requests of pods and their use (``one_pool.use``), which shows the difference between a pool that is
full of requests and a pool that is used. It reports the costs next to the use: throttled time,
evictions, lost work, waits.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from stretto.base.rng import Rng
from stretto.capacity.reclaim.estimators import estimator
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.framework.profile.capacity.reclaim import ReclaimRules
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.measured_use import UseTrace
from stretto.inputs.traces.one_pool import load_arrivals
from stretto_lab.studies.one_pool.day import OnePoolDay
from stretto_lab.studies.one_pool.ledger import (
    TICK_S,
    DiurnalService,
    OnePoolDayResult,
    OnePoolJob,
    QueueLedger,
)
from stretto_lab.studies.one_pool.report import (
    BATCH,
    ONLINE,
    WARM_UP,
    OnePoolStudy,
    OnRun,
    jobs_of,
    machines,
    pool_config,
    services_of,
    split_machines,
)
from stretto_lab.studies.one_pool.use import DayUse, DayUseSample, ReportingAgents
from stretto_lab.studies.one_pool.variants import LABELS, VARIANTS, PoolVariant, variant_profile

Work = tuple[Sequence[DiurnalService], Sequence[OnePoolJob]]
"""Services and jobs."""


class UsePoint(msgspec.Struct, frozen=True):
    """Figures of one configuration; percentages are means over the measured hours, of all cores."""

    #: The configuration.
    name: str
    #: CPU that running pods request from nodes or from pools of reclaimed resources.
    requested_pct: float
    #: Used CPU.
    used_pct: float
    #: Used CPU in the busiest sample.
    peak_used_pct: float
    #: Core hours that the pods of finished jobs request.
    done_core_h: float
    #: Core hours that finished and unfinished jobs used.
    jobs_used_core_h: float
    #: Core hours by which services were throttled.
    online_throttled_core_h: float
    #: Core hours by which jobs were throttled.
    jobs_throttled_core_h: float
    #: Evicted pods of jobs.
    evicted: int
    #: Core hours of requested work that evictions lost.
    lost_core_h: float
    #: Pending pods of jobs at the end.
    waiting: int
    #: Mean wait of a started pod of a job in seconds.
    mean_wait_s: float
    #: Longest wait of a pod of a service in seconds.
    online_wait_s: float
    #: Evicted pods of services.
    online_evicted: int


class UseStudyResult(msgspec.Struct, frozen=True):
    """Figures of all configurations, with curves."""

    #: Size of the study.
    study: OnePoolStudy
    #: The source of the measured use.
    source: str
    #: Figures by configuration.
    points: tuple[UsePoint, ...]
    #: Hour of each sample, from the end of the warm-up.
    hours: tuple[float, ...]
    #: By configuration: used CPU, in percent of all cores.
    used_pct: dict[str, tuple[float, ...]]


def run_real_use(
    study: OnePoolStudy,
    use: UseTrace,
    on_run: OnRun = lambda _: None,
    variants: Sequence[PoolVariant] = VARIANTS,
) -> UseStudyResult:
    """Run the day in each configuration; ``on_run`` is called after each run."""
    jobs = jobs_of(study, load_arrivals())
    points, curves, ticks = [], {}, np.zeros(0)
    for number, variant in enumerate(variants):
        runs = _runs(study, variant, use, jobs)
        first = next(i for i, each in enumerate(runs[0][1]) if each.tick >= WARM_UP)
        whole = sum(result.capacity[0] for result, _ in runs)
        points.append(_point(variant.name, runs, first, whole))
        curves[variant.name] = tuple((100 * _used(runs, first) / whole).round(2).tolist())
        ticks = np.array([each.tick for each in runs[0][1][first:]])
        on_run(number + 1)
    hours = tuple(((ticks - WARM_UP) * TICK_S / 3600).tolist())
    return UseStudyResult(study, use.source, tuple(points), hours, curves)


Run = tuple[OnePoolDayResult, list[DayUseSample]]
"""The result of one pool, and its measurements."""


def _runs(
    study: OnePoolStudy, variant: PoolVariant, use: UseTrace, jobs: Sequence[OnePoolJob]
) -> list[Run]:
    """Return the runs of a configuration: one run, or one run for each of two pools."""
    nodes, services = machines(study), services_of(study)
    if variant.overcommits:
        nodes = [msgspec.structs.replace(node, labels=LABELS) for node in nodes]
    if not variant.split:
        return [_day(study, variant, use, (nodes, (services, jobs)))]
    mine, others = split_machines(study, nodes)
    return [
        _day(study, variant, use, (mine, (services, ()))),
        _day(study, variant, use, (others, ((), jobs))),
    ]


def _day(
    study: OnePoolStudy, variant: PoolVariant, use: UseTrace, of: tuple[list[FleetNode], Work]
) -> Run:
    """Run one pool; the loads of services follow their curves even if the replicas are fixed."""
    nodes, (services, jobs) = of
    config = msgspec.structs.replace(pool_config(study, nodes), profile=variant_profile(variant))
    run = [_at_peak(each) for each in services] if variant.fixed else services
    day = OnePoolDay(nodes, (run, jobs), config, WARM_UP)
    draw = Rng(study.seed).child("use").numpy()
    models = [estimator(ReclaimRules()) for _ in nodes] if variant.reclaims else []
    agents = ReportingAgents(nodes, models) if variant.reclaims or variant.overcommits else None
    measured = DayUse(nodes, services, list(use.cpu.values()), draw, agents)
    day.follow(measured, frozenset(BATCH) if variant.reclaims else frozenset())
    return day.run(study.until), measured.samples


def _at_peak(service: DiurnalService) -> DiurnalService:
    """Return a service that has the replicas of its peak at all times."""
    peak = max(replicas for _, replicas in service.load_curve)
    return msgspec.structs.replace(service, load_curve=((0, peak),))


def _used(runs: Sequence[Run], first: int) -> Any:
    """Return float64[sample]: used cores in all pools."""
    return np.sum(
        [[sum(each.used.values()) for each in samples[first:]] for _, samples in runs], axis=0
    )


def _point(name: str, runs: Sequence[Run], first: int, whole: float) -> UsePoint:
    """Return the figures of one configuration."""
    used = _used(runs, first)
    requested = np.sum(
        [np.array(cores[first:]) for result, _ in runs for cores in result.cores.values()], axis=0
    )
    samples = [each for _, found in runs for each in found[first:]]
    hours = _sample_hours(runs[0][1])
    throttled = sum(each.throttled.get(ONLINE, 0.0) for each in samples) * hours
    lacked = sum(sum(each.throttled.values()) for each in samples) * hours
    jobs_used = sum(n for each in samples for q, n in each.used.items() if q != ONLINE) * hours
    ledgers = {queue: each for result, _ in runs for queue, each in result.ledgers.items()}
    online = ledgers.pop(ONLINE)
    return UsePoint(
        name=name,
        requested_pct=round(100 * float(requested.mean()) / whole, 1),
        used_pct=round(100 * float(used.mean()) / whole, 1),
        peak_used_pct=round(100 * float(used.max()) / whole, 1),
        done_core_h=round(sum(each.done_core_h for each in ledgers.values()), 1),
        jobs_used_core_h=round(jobs_used, 1),
        online_throttled_core_h=round(throttled, 1),
        jobs_throttled_core_h=round(lacked - throttled, 1),
        evicted=sum(each.evicted for each in ledgers.values()),
        lost_core_h=round(sum(each.lost_core_h for each in ledgers.values()), 1),
        waiting=sum(each.waiting for each in ledgers.values()),
        mean_wait_s=_mean_wait(ledgers.values()),
        online_wait_s=float(TICK_S * max(max(online.waits, default=0), online.waiting_most)),
        online_evicted=online.evicted,
    )


def _mean_wait(ledgers: Iterable[QueueLedger]) -> float:
    """Return the mean wait of started pods in seconds."""
    waits = sum((each.waits for each in ledgers), Counter[int]())
    total = sum(ticks * count for ticks, count in waits.items())
    return round(TICK_S * total / max(sum(waits.values()), 1), 1)


def _sample_hours(samples: Sequence[DayUseSample]) -> float:
    """Return the hours between two samples."""
    return (samples[1].tick - samples[0].tick) * TICK_S / 3600


def use_plot(result: UseStudyResult) -> CurvePlot:
    """Plot the used CPU over the day, one curve for each configuration with elastic services."""
    fixed = {each.name for each in VARIANTS if each.fixed}
    shown = [name for name in result.used_pct if name not in fixed]
    lines = [
        PlotLine(name, result.hours, result.used_pct[name], colour, steps=True)
        for colour, name in enumerate(shown)
    ]
    best = max(result.points, key=lambda each: each.used_pct)
    base = result.points[0]
    title = f"CPU in use: {base.name} {base.used_pct:.0f} %, {best.name} {best.used_pct:.0f} %"
    texts = PlotTexts(title, "hour of the day", "in use, % of all cores", from_0=True)
    return CurvePlot("one-pool-use", lines, texts)
