"""The plots of a run: how it filled, how full each GPU model is, and how long pods waited."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.sim.live import Sample
from stretto.sim.live_report import ModelRow, RunReport
from stretto.sim.plots import Line, Words, bars_png, curves_png

POINTS: Final = 400
"""Points of a curve: as many as its plot has room for."""


def plots_of(
    report: RunReport, samples: Sequence[Sample], waits: npt.NDArray[np.float64]
) -> Iterator[tuple[str, bytes]]:
    """File names with their PNG, those that there is something to draw for."""
    if len(samples) > 1:
        yield "progress.png", _progress(report, samples)
    if report.gpu_models:
        yield "gpus.png", _gpus(report, report.gpu_models)
    if len(waits):
        yield "waits.png", _waits(report, waits)


def _progress(report: RunReport, samples: Sequence[Sample]) -> bytes:
    """Placed and pending pods over time."""
    seconds = [each.seconds for each in samples]
    lines = [
        Line("placed", seconds, [each.placed for each in samples], 2),
        Line("pending", seconds, [each.pending for each in samples], 1),
    ]
    title = f"{report.scenario}: {report.placed:,} of {report.pods:,} pods placed"
    return curves_png(lines, Words(title, "seconds", "pods"))


def _gpus(report: RunReport, rows: Sequence[ModelRow]) -> bytes:
    """Allocated, fragmented and usable shares of each GPU model."""
    bars = {}
    for row in rows:
        fragmented = min(row.fragmented_pct, 100 - row.allocated_pct)
        free = 100 - row.allocated_pct - fragmented
        bars[row.model] = (row.allocated_pct, fragmented, free)
    parts = ("allocated", "free, but useless to typical pods", "free")
    words = Words(f"{report.scenario}: GPUs by model ({report.profile})", "model", "percent")
    return bars_png(bars, parts, words)


def _waits(report: RunReport, waits: npt.NDArray[np.float64]) -> bytes:
    """How many pods had their node after how long."""
    ordered = np.sort(waits) * 1000
    places = np.unique(np.linspace(0, len(ordered) - 1, min(POINTS, len(ordered))).astype(int))
    share = 100 * (places + 1) / len(ordered)
    line = Line("", ordered[places].tolist(), share.tolist())
    title = f"{report.scenario}: from first sight to bind, {len(ordered):,} pods"
    return curves_png([line], Words(title, "milliseconds", "percent of pods"))
