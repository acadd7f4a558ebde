"""Plots of a comparison: the fill of each cluster under each policy, and the pending pods."""

from collections.abc import Sequence

from stretto.explain.records.curves import PlotLine, PlotMark, PlotTexts
from stretto.sim.fleet.comparison.changes import WhatIf
from stretto.sim.fleet.comparison.outcomes import PolicyOutcome
from stretto.sim.plots.figures import Pictures, draw_curves, draw_panels


def fleet_plots(title: str, found: Sequence[PolicyOutcome], what_if: WhatIf) -> Pictures:
    """The plots by file name.

    Args:
        title: name of the fleet.
        found: one run for each policy.
        what_if: events of the run, whose moment is marked.
    """
    moments = (PlotMark(what_if.at, what_if.words),) if what_if.words else ()
    clusters = sorted({name for each in found for name in each.filled})
    fill = {
        each.policy: [_fill(each, name, colour) for colour, name in enumerate(clusters)]
        for each in found
    }
    waiting = [_waiting(each, colour) for colour, each in enumerate(found)]
    texts = PlotTexts(
        f"{title}: requested share, by cluster",
        "seconds since the start",
        "% of the CPU or GPUs",
        from_0=True,
        moments=moments,
    )
    pictures = draw_panels("fleet-fill", fill, texts)
    best = min(found, key=lambda each: each.mean_pending)
    texts = PlotTexts(
        f"{title}: {best.policy} has the fewest pending pods, {best.mean_pending:g} on average",
        "seconds since the start",
        "pods without a node",
        from_0=True,
        moments=moments,
    )
    return pictures | draw_curves("fleet-pending", waiting, texts)


def _fill(found: PolicyOutcome, cluster: str, colour: int) -> PlotLine:
    samples = [each for each in found.samples if cluster in each.filled]
    seconds = [each.second for each in samples]
    return PlotLine(cluster, seconds, [100 * each.filled[cluster] for each in samples], colour)


def _waiting(found: PolicyOutcome, colour: int) -> PlotLine:
    seconds = [each.second for each in found.samples]
    waits = [float(each.pending) for each in found.samples]
    return PlotLine(found.policy, seconds, waits, colour, steps=True)
