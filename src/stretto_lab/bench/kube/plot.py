"""Plots of the bench: bound pods over time, one per workload, and the rates of all workloads.

Both show the ceiling, which is the rate of the API server alone. The time of a curve begins at the
first binding of its scheduler, so that the slopes are comparable. The time to the first binding is
a column of the table.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stretto.explain.records.curves import PlotLine, PlotTexts
from stretto.sim.plots.figures import Pictures, draw_curves, draw_rows
from stretto_lab.bench.kube.bench import SchedulerResult, WorkloadResult
from stretto_lab.bench.kube.options import KUBE_SCHEDULER, STRETTO


class WorkloadRates(NamedTuple):
    """Pods per second in one workload; ``None`` for a side that did not run."""

    #: Stretto.
    stretto: float | None
    #: kube-scheduler.
    kube_scheduler: float | None
    #: The API server alone.
    ceiling: float | None


def rates_plot(rates: Mapping[str, WorkloadRates], source: str) -> Pictures:
    """The rates of the workloads side by side; ``source`` is the machine and the commit."""
    ratios = {
        name: each.stretto / each.kube_scheduler
        for name, each in rates.items()
        if each.stretto and each.kube_scheduler
    }
    rows = {
        f"{name}: {ratios[name]:.1f} times" if name in ratios else name: each
        for name, each in rates.items()
    }
    most = max(ratios, key=lambda name: ratios[name], default="")
    least = min(ratios, key=lambda name: ratios[name], default="")
    title = "Rates and the ceiling of the API server"
    if ratios:
        title = (
            f"{ratios[least]:.1f} ({least}) to {ratios[most]:.0f} ({most}) "
            "times the rate of kube-scheduler"
        )
    texts = PlotTexts(title, "pods bound per second", "", log_x=True, note=source)
    return draw_rows("kube-rates", rows, (STRETTO, KUBE_SCHEDULER, "API server alone"), texts)


def workload_plot(name: str, result: WorkloadResult, source: str) -> Pictures:
    """The plot of one workload; ``source`` is the machine and the commit."""
    sides = [(STRETTO, result.stretto), (KUBE_SCHEDULER, result.kube_scheduler)]
    lines = [
        _line(label, side, colour)
        for colour, (label, side) in enumerate(sides)
        if side is not None and side.curve.t
    ]
    ceiling = result.api_ceiling_per_s
    ends = [line.x[-1] for line in lines if line.x]
    if ceiling and ends:
        until = min(max(ends), result.pods.pods / ceiling)
        reached = ceiling * until
        lines.append(PlotLine("API server alone", [0.0, until], [0.0, reached], 6, dashed=True))
    faster = f": {result.ratio:.1f} times kube-scheduler" if result.ratio else ""
    title = f"{name}, {result.pods.pods:,} pods on {result.nodes:,} nodes{faster}"
    texts = PlotTexts(
        title, "seconds since the first binding", "pods bound", from_0=True, note=source
    )
    return draw_curves(f"kube-{name}", lines, texts)


def _line(label: str, side: SchedulerResult, colour: int) -> PlotLine:
    """The curve of bound pods, from the last moment without one."""
    curve = side.curve
    first = next((i for i, count in enumerate(curve.scheduled) if count), len(curve.t)) - 1
    first = max(first, 0)
    times = [time - curve.t[first] for time in curve.t[first:]]
    speed = f", {side.pods_per_s:,.0f} pods/s" if side.pods_per_s else ""
    return PlotLine(label + speed, times, [float(n) for n in curve.scheduled[first:]], colour)
