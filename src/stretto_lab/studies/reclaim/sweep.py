"""The reclaim study: loans of each estimator on measured CPU usage, and their costs.

Every estimator gets the same nodes and online pods. In each step of five minutes it reads the usage
of the step before, like an agent whose report is five minutes old, and computes the headroom in
which batch tasks start. Two more lenders bound the comparison: ``requests`` lends only the capacity
that no pod requests, and ``hindsight`` lends exactly the capacity that the present step leaves
below the limit.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.capacity.reclaim.estimators import estimator
from stretto.capacity.reclaim.reading import HeadroomEstimator, HeadroomReading, OwnerPod
from stretto.explain.records.curves import PlotLine, PlotTexts
from stretto.framework.profile.capacity.reclaim import Estimator, ReclaimRules
from stretto.inputs.traces.measured_use import STEP_S, UseTrace
from stretto.inputs.traces.one_pool import load_arrivals
from stretto.sim.plots.figures import Pictures, draw_panels
from stretto_lab.studies.reclaim.online import MILLI, OnlineSource, online_steps
from stretto_lab.studies.reclaim.tasks import HOUR_S, BatchFigures, BatchNode

REQUESTS: Final = "requests"
"""Lender of the capacity that no pod requests."""
HINDSIGHT: Final = "hindsight"
"""Lender that uses the usage of the present step."""
WARM_UP_H: Final = 24
"""Hours before the measurement starts, because ``mid`` needs a cold start."""

OnlineStep = tuple[tuple[str, int, int, int], ...]
"""Pods of a node in one step, in the format of ``online_steps``."""


class ReclaimStudy(msgspec.Struct, frozen=True):
    """Size of the study."""

    #: Nodes.
    nodes: int = 20
    #: Cores of a node.
    cores: int = 32
    #: Hours after the warm-up.
    hours: float = 48.0
    #: Percent of the cores that online pods may request.
    requested: int = 90
    #: Percentages of a node up to which batch tasks may fill the node.
    limits: tuple[int, ...] = (65, 100)
    #: Seed of sizes, lifetimes and moments.
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(1 <= each <= 100 for each in self.limits):
            raise InputError("limits", self.limits, "percents from 1 to 100")

    @property
    def runs(self) -> int:
        """Number of points."""
        return len(self.limits) * (len(Estimator) + 2)


class ReclaimPoint(msgspec.Struct, frozen=True):
    """One lender with one limit."""

    #: The estimator, ``requests`` or ``hindsight``.
    lender: str
    #: Percentage of a node up to which batch tasks may fill the node.
    limit_pct: int
    #: Mean headroom in percent of all cores.
    loaned_pct: float
    #: Mean use of batch tasks in percent of all cores.
    batch_pct: float
    #: Mean use of all pods in percent of all cores.
    node_pct: float
    #: Core hours of finished tasks.
    done_core_h: float
    #: Core hours of finished tasks minus those of ``requests``.
    won_core_h: float
    #: Seconds that tasks were throttled, per core hour of finished tasks.
    throttled_s_per_core_h: float
    #: Percentage of the time of tasks in which they were throttled.
    throttled_pct: float
    #: Evicted tasks per 1,000 core hours of finished tasks.
    evicted_per_1000_core_h: float
    #: Percent of the work that evictions lost.
    lost_pct: float


def reclaim_points(study: ReclaimStudy, use: UseTrace) -> Iterator[ReclaimPoint]:
    """Run every lender at every limit and yield the points; ``requests`` is the first lender."""
    rng = Rng(study.seed).child("reclaim")
    arrivals, milli = load_arrivals(), study.cores * MILLI
    steps = round((WARM_UP_H + study.hours) * HOUR_S / STEP_S)
    nodes = [
        list(
            online_steps(
                OnlineSource(arrivals.vms, use, rng.child(number).numpy()),
                milli * study.requested // 100,
                steps,
            )
        )
        for number in range(study.nodes)
    ]
    for limit in study.limits:
        base = 0.0
        for lender in (REQUESTS, *(each.value for each in Estimator), HINDSIGHT):
            figures = BatchFigures()
            for timeline in nodes:
                _run(lender, timeline, BatchNode(milli, limit), _Lending(milli, limit, figures))
            if lender == REQUESTS:
                base = figures.done
            yield _point(lender, limit, figures, (study.cores, base, _owned(nodes)))


class _Lending(msgspec.Struct, frozen=True):
    """A node and the receiver of its figures."""

    milli: int
    limit: int
    figures: BatchFigures


def _run(lender: str, timeline: Sequence[OnlineStep], node: BatchNode, of: _Lending) -> None:
    """Run one lender over the steps of one node; figures exclude the warm-up."""
    counted_from = WARM_UP_H * HOUR_S // STEP_S
    model = _model(lender)
    for number, pods in enumerate(timeline):
        before = timeline[number - 1] if number else ()
        owned = sum(used for _, _, used, _ in pods)
        if model is not None:
            headroom = model.estimate(_reading(before, node.used_milli, of.milli, number)).cpu
        elif lender == REQUESTS:
            headroom = of.milli - sum(requested for _, requested, _, _ in pods)
        else:
            headroom = max(of.milli * of.limit // 100 - owned, 0)
        figures = of.figures if number >= counted_from else BatchFigures()
        node.step(headroom, owned, figures)


def _model(lender: str) -> HeadroomEstimator | None:
    if lender in (REQUESTS, HINDSIGHT):
        return None
    return estimator(ReclaimRules(estimator=Estimator(lender)))


def _reading(pods: OnlineStep, batch: int, milli: int, number: int) -> HeadroomReading:
    """Return the state of the node that its agent measured in the step before."""
    owners = tuple(
        OwnerPod(uid, (requested, 0), (used, 0), (age + 1) * STEP_S)
        for uid, requested, used, age in pods
    )
    owned = sum(used for _, _, used, _ in pods)
    return HeadroomReading(
        (milli, 0), (owned + batch, 0), (batch, 0), owners, float(number * STEP_S)
    )


def _owned(nodes: Sequence[Sequence[OnlineStep]]) -> float:
    """Return the mean cores that the online pods of a node use after the warm-up."""
    counted_from = WARM_UP_H * HOUR_S // STEP_S
    sums = [
        sum(used for _, _, used, _ in pods)
        for timeline in nodes
        for pods in timeline[counted_from:]
    ]
    return sum(sums) / MILLI / max(len(sums), 1)


def _point(
    lender: str, limit: int, figures: BatchFigures, of: tuple[int, float, float]
) -> ReclaimPoint:
    """Return the figures as shares.

    ``of`` contains the cores of a node, the work of ``requests`` and the used cores of online pods.
    """
    cores, base, owned = of
    whole = max(figures.steps, 1) * cores
    done_h = figures.done * STEP_S / HOUR_S
    batch = 100 * figures.used / whole
    return ReclaimPoint(
        lender=lender,
        limit_pct=limit,
        loaned_pct=round(100 * figures.loaned / whole, 1),
        batch_pct=round(batch, 1),
        node_pct=round(100 * owned / cores + batch, 1),
        done_core_h=round(done_h, 1),
        won_core_h=round((figures.done - base) * STEP_S / HOUR_S, 1),
        throttled_s_per_core_h=round(figures.throttled * STEP_S / max(done_h, 1.0), 1),
        throttled_pct=round(100 * figures.throttled / max(figures.present, 1.0), 2),
        evicted_per_1000_core_h=round(1000 * figures.evicted / max(done_h, 1.0), 1),
        lost_pct=round(100 * figures.lost / max(figures.done + figures.lost, 1.0), 2),
    )


def reclaim_plots(points: Sequence[ReclaimPoint]) -> Pictures:
    """Plot usage and throttled time of batch tasks for each lender; one panel for each limit."""
    parts: dict[str, list[PlotLine]] = {}
    names = list(dict.fromkeys(each.lender for each in points))
    for each in points:
        line = PlotLine(
            each.lender,
            [each.batch_pct],
            [each.throttled_pct],
            names.index(each.lender),
            marks=True,
        )
        parts.setdefault(f"batch fills nodes up to {each.limit_pct} %", []).append(line)
    best = max(
        (each for each in points if each.lender not in (REQUESTS, HINDSIGHT)),
        key=lambda each: each.done_core_h,
    )
    title = (
        f"Batch uses up to {best.batch_pct:.0f} % of the cores ({best.lender}), "
        f"throttled for {best.throttled_pct:.0f} % of its time"
    )
    texts = PlotTexts(
        title, "used by batch, % of all cores", "throttled, % of task time", from_0=True
    )
    return draw_panels("reclaim", parts, texts)
