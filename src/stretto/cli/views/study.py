"""Plots of a policy comparison."""

from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli import sinks
from stretto.cli.console import Console

if TYPE_CHECKING:
    from stretto.sim.comparison.published import Curves
    from stretto.sim.comparison.seeds import Comparison


def plot_study(console: Console, out: Path, found: "Comparison", curves: "Curves | None") -> None:
    """Plot the curves into the output folder."""
    from stretto.sim.comparison.plots import study_plots

    for name, content in study_plots(found.summary, curves).items():
        target = out / name
        sinks.write_whole(target, content)
        console.note(f"written: {target}")
