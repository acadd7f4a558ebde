"""Layout of replayed recordings: the compared figures as a table, and plots over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stretto.cli.console import Console, cell
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotMark, PlotTexts
from stretto.explain.words.amounts import format_count
from stretto.explain.words.durations import short_duration

if TYPE_CHECKING:
    from stretto.sim.history.replay import ReplayOutcomes, ReplayResult


def outcome_figures(outcomes: "ReplayOutcomes") -> dict[str, Any]:
    """Return the figures of one side for the table."""
    found = msgspec.to_builtins(outcomes)
    for name, part in found.pop("used_mean").items():
        found[f"{name} in use, mean %"] = round(100 * part, 2)
    for name, part in found.pop("used_peak").items():
        found[f"{name} in use, peak %"] = round(100 * part, 2)
    for name in ("refusal", "partial", "seconds"):
        found.pop(name)
    return dict(found)


def show_sides(console: Console, sides: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Write the sides of a comparison as columns of a table, with the change of the last."""
    names = list(dict.fromkeys(name for _, side in sides for name in side))
    columns = ["", *(name for name, _ in sides)]
    rows = [(_label(name), *(shown(name, side.get(name)) for _, side in sides)) for name in names]
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
    """Return the difference between two sides as a sentence."""
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
    """Return the label of a figure.

    ``left_waiting`` counts pods that ended before they got a node.
    """
    if name == "left_waiting":
        return "ended without a node"
    return name.removesuffix("_s").replace("_", " ")


def shown(name: str, value: object) -> str:
    """Return a figure as text; a name that ends in ``_s`` is a duration in seconds."""
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
    from stretto.sim.plots.figures import check_plots

    check_plots()


def side_plots(
    sides: "Sequence[tuple[str, ReplayResult]]", moments: Sequence[tuple[float, str]]
) -> list[CurvePlot]:
    """Return usage and pending pods over time as plots.

    ``moments`` are the second and the text of each change, which the plots mark.
    """
    from stretto.sim.occupancy import NAMES

    texts = PlotTexts(
        "", "seconds", "% of all", from_0=True, moments=tuple(PlotMark(*each) for each in moments)
    )
    found = []
    for number, resource in enumerate(NAMES):
        if any(resource in done.outcomes.used_peak for _, done in sides):
            means = [100 * done.outcomes.used_mean.get(resource, 0.0) for _, done in sides]
            title = f"{resource} in use, mean: {_arrow([f'{mean:.0f} %' for mean in means])}"
            lines = _lines(sides, [[100 * e.used[number] for e in d.levels] for _, d in sides])
            found.append(CurvePlot(resource, lines, msgspec.structs.replace(texts, title=title)))
    waiting = _lines(sides, [[float(each.pending) for each in d.levels] for _, d in sides])
    peaks = [f"{max(line.y, default=0.0):,.0f}" for line in waiting]
    title = f"pending pods, peak: {_arrow(peaks)}"
    texts = msgspec.structs.replace(texts, title=title, y="pods")
    return [*found, CurvePlot("pending", waiting, texts)]


def _arrow(values: Sequence[str]) -> str:
    return " → ".join(values)


def _lines(
    sides: "Sequence[tuple[str, ReplayResult]]", values: Sequence[Sequence[float]]
) -> "list[PlotLine]":
    """Return one step curve for each side; ``values`` are the values of its levels."""
    return [
        PlotLine(name, [level.time_s for level in done.levels], y, colour, steps=True)
        for colour, ((name, done), y) in enumerate(zip(sides, values, strict=True))
    ]
