"""Layout of replayed recordings: the compared figures as a table, and plots over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stretto.cli import sinks
from stretto.cli.console import Console, cell
from stretto.explain.words.amounts import format_count
from stretto.explain.words.durations import short_duration

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
    """Write the sides of a comparison as the columns of a table, with the last side's change."""
    names = list(dict.fromkeys(name for _, side in sides for name in side))
    columns = ["", *(name for name, _ in sides)]
    rows = [(_label(name), *(_shown(name, side.get(name)) for _, side in sides)) for name in names]
    if len(sides) > 1:
        (_, first), (_, last) = sides[-2:]
        columns.append("change")
        rows = [
            (*row, _change(n, first.get(n), last.get(n)))
            for row, n in zip(rows, names, strict=True)
        ]
    console.table(columns, rows)
    if len(sides) > 1:
        console.data(f"\n{verdict(sides[-2], sides[-1])}")


def verdict(first: tuple[str, dict[str, Any]], last: tuple[str, dict[str, Any]]) -> str:
    """The difference between two sides as a sentence."""
    (_, before), (name, after) = first, last
    parts = []
    for key, word in (("pending", "pending"), ("left_waiting", "left without a node")):
        more = int(after.get(key) or 0) - int(before.get(key) or 0)
        if more:
            parts.append(
                f"{format_count(abs(more), 'pod')} {'more' if more > 0 else 'fewer'} {word}"
            )
    waits = before.get("mean_wait_s"), after.get("mean_wait_s")
    if None not in waits and waits[0] != waits[1]:
        parts.append(f"mean wait {short_duration(waits[0])} → {short_duration(waits[1])}")
    return f"{name}: {', '.join(parts) or 'no difference in pending pods and waits'}."


def _label(name: str) -> str:
    """``left_waiting`` counts pods that ended or were deleted before they got a node."""
    if name == "left_waiting":
        return "ended without a node"
    return name.removesuffix("_s").replace("_", " ")


def _shown(name: str, value: object) -> str:
    is_time = name.endswith("_s") and isinstance(value, int | float)
    return short_duration(float(str(value))) if is_time else cell(value)


def _change(name: str, before: object, after: object) -> str:
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return "-"
    by = after - before
    if not by:
        return "="
    sign = "+" if by > 0 else "-"
    return sign + (short_duration(abs(by)) if name.endswith("_s") else cell(abs(by)))


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
        console.note(f"written: {target}")
