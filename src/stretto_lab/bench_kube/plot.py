"""Plots of the bench: created and scheduled pods over time, one per workload."""

from stretto.sim.plots import PlotLine, PlotTexts, curves_png
from stretto_lab.bench_kube.bench import SchedulerResult, WorkloadResult
from stretto_lab.bench_kube.options import KUBE_SCHEDULER, STRETTO


def curves(name: str, result: WorkloadResult) -> bytes:
    """The PNG of one workload."""
    sides = [(STRETTO, result.stretto), (KUBE_SCHEDULER, result.kube_scheduler)]
    lines = [
        line
        for colour, (label, side) in enumerate(sides)
        if side is not None
        for line in _lines(label, side, 2 * colour)
    ]
    title = f"{name}: {result.pods.pods:,} pods on {result.nodes:,} nodes"
    return curves_png(lines, PlotTexts(title, "seconds since the first pod", "pods"))


def _lines(label: str, side: SchedulerResult, colour: int) -> list[PlotLine]:
    curve = side.curve
    return [
        PlotLine(
            f"{label}: {what}", curve.t, [float(each) for each in counts], colour=colour + offset
        )
        for offset, (what, counts) in enumerate(
            (("scheduled", curve.scheduled), ("created", curve.created))
        )
    ]
