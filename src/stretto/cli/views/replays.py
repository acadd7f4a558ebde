"""Layout of replayed recordings: the compared figures as a table, and plots over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stretto.cli import sinks
from stretto.cli.console import Console, cell

if TYPE_CHECKING:
    from stretto.sim.history.replay import ReplayOutcomes, ReplayResult


def outcome_figures(outcomes: "ReplayOutcomes") -> dict[str, Any]:
    """The figures of one side, as the table shows them."""
    found = msgspec.to_builtins(outcomes)
    for name, part in found.pop("used_mean").items():
        found[f"{name} in use, mean %"] = round(100 * part, 2)
    for name, part in found.pop("used_peak").items():
        found[f"{name} in use, peak %"] = round(100 * part, 2)
    for name in ("refusal", "partial", "seconds"):
        found.pop(name)
    return dict(found)


def show_sides(console: Console, sides: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Write the sides of a comparison as the columns of a table."""
    names = list(dict.fromkeys(name for _, side in sides for name in side))
    rows = [
        (
            name.replace("_wait_s", " wait (s)").replace("_", " "),
            *(cell(s.get(name)) for _, s in sides),
        )
        for name in names
    ]
    console.table(["", *(name for name, _ in sides)], rows)


def require_plots() -> None:
    """Check that plots can be drawn, before any work.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    from stretto.sim.plots import check_plots

    check_plots()


def plot_sides(console: Console, out: Path, sides: "Sequence[tuple[str, ReplayResult]]") -> None:
    """Plot usage and pending pods over time into the output folder."""
    from stretto.sim.occupancy import NAMES
    from stretto.sim.plots import PlotLine, PlotTexts, curves_png

    pictures: list[tuple[str, list[PlotLine], PlotTexts]] = []
    for number, resource in enumerate(NAMES):
        if any(resource in done.outcomes.used_peak for _, done in sides):
            lines = [
                PlotLine(
                    name,
                    [level.time_s for level in done.levels],
                    [100 * level.used[number] for level in done.levels],
                    colour,
                    steps=True,
                )
                for colour, (name, done) in enumerate(sides)
            ]
            pictures.append(
                (
                    resource,
                    lines,
                    PlotTexts(f"{resource} in use", "seconds", "% of all", from_0=True),
                )
            )
    waiting = [
        PlotLine(
            name,
            [level.time_s for level in done.levels],
            [float(level.pending) for level in done.levels],
            colour,
            steps=True,
        )
        for colour, (name, done) in enumerate(sides)
    ]
    pictures.append(("pending", waiting, PlotTexts("pending pods", "seconds", "pods", from_0=True)))
    for name, lines, texts in pictures:
        target = out / f"{name}.png"
        sinks.write_whole(target, curves_png(lines, texts))
        console.note(f"plot: {target}")
