"""Plots of the openb study: allocation and fragmentation over arrival, with published points."""

from collections.abc import Mapping, Sequence
from typing import Final

from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.sim.comparison.published import METRICS, Curves
from stretto.sim.comparison.seeds import PolicySummary

ARRIVED: Final = "GPU milli arrived, % of the cluster"
"""Label of the horizontal axis of both plots."""
FULL_PCT: Final = 100
"""Arrival percentage at which requests equal the capacity of the fleet."""
SHOWN_FROM_PCT: Final = 70
"""First percentage shown; below it, all policies place all pods."""


def study_plots(
    summary: Sequence[PolicySummary], curves: Curves | None = None
) -> tuple[CurvePlot, ...]:
    """Allocation and fragmentation; nothing if no run has finished."""
    if not summary:
        return ()
    allocation, fragmentation = METRICS[0], METRICS[1]
    suffix = "; circles: published" if curves else ""
    overfilled = any(each.arrive_pct > FULL_PCT for each in summary)
    late = [e for e in summary if not overfilled or e.arrive_pct >= SHOWN_FROM_PCT]
    at = max(each.arrive_pct for each in summary)
    most = max((e for e in summary if e.arrive_pct == at), key=lambda e: e.gpu_alloc_pct_mean)
    least = min(
        (e for e in summary if e.arrive_pct == at), key=lambda e: e.frag_pct_of_cluster_mean
    )
    allocated = PlotTexts(
        f"{most.policy} allocates most at {at} % of arrivals: {most.gpu_alloc_pct_mean:.1f} % of "
        f"the GPU milli{suffix}",
        ARRIVED,
        "GPU milli allocated, % of the cluster",
    )
    fragmented = PlotTexts(
        f"{least.policy} leaves least fragmented at {at} %: "
        f"{least.frag_pct_of_cluster_mean:.1f} % of the GPU milli{suffix}",
        ARRIVED,
        "GPU milli fragmented, % of the cluster",
    )
    return (
        CurvePlot("allocation", _lines(late, allocation, curves), allocated),
        CurvePlot("fragmentation", _lines(summary, fragmentation, curves), fragmented),
    )


def _lines(summary: Sequence[PolicySummary], metric: str, curves: Curves | None) -> list[PlotLine]:
    """A curve for each policy, with the published points in the same colour."""
    lines = []
    for colour, policy in enumerate(dict.fromkeys(each.policy for each in summary)):
        mine = [each for each in summary if each.policy == policy]
        x = [float(each.arrive_pct) for each in mine]
        y, band = _values(mine, metric)
        lines.append(PlotLine(policy, x, y, colour, band=band))
        known = (curves or {}).get(policy, {}).get(metric, {})
        theirs = {percent: mean for percent, mean in known.items() if percent >= x[0]}
        if theirs:
            lines.append(_published(theirs, colour))
    return lines


def _values(mine: Sequence[PolicySummary], metric: str) -> tuple[list[float], list[float]]:
    """Means, and their deviations if there are any."""
    if metric != METRICS[0]:
        return [each.frag_pct_of_cluster_mean for each in mine], []
    deviations = [each.gpu_alloc_pct_sd for each in mine]
    band = [each or 0.0 for each in deviations] if any(deviations) else []
    return [each.gpu_alloc_pct_mean for each in mine], band


def _published(points: Mapping[int, float], colour: int) -> PlotLine:
    percents = sorted(points)
    return PlotLine(
        "", [float(p) for p in percents], [points[p] for p in percents], colour, marks=True
    )
