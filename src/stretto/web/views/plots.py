"""Values of curves as tables: a page without scripts, screen readers and CSV files use them."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.explain.records.curves import CurvePlot, PlotLine

ROWS: Final = 13
"""Maximum number of rows of the table on a page; a CSV file has a row for each position."""


class PlotTable(NamedTuple):
    """Values of the named curves of a plot."""

    #: Names of the curves.
    names: Sequence[str]
    #: Horizontal positions with the value of each curve: that of its last point up to there.
    #: ``None`` before its first point.
    rows: Sequence[tuple[float, Sequence[float | None]]]


def plot_table(plot: CurvePlot, most: int | None = None) -> PlotTable:
    """Return the values at up to ``most`` positions, from the first to the last; ``None`` for all.

    >>> from stretto.explain.records.curves import PlotTexts
    >>> lines = [PlotLine("a", [0, 1, 2], [5, 6, 7]), PlotLine("b", [1], [9])]
    >>> plot_table(CurvePlot("p", lines, PlotTexts("t", "x", "y")), 2).rows
    [(0, [5, None]), (2, [7, 9])]
    """
    lines = [line for line in plot.lines if line.label]
    positions = sorted({x for line in lines for x in line.x})
    if most is not None and len(positions) > most:
        last = len(positions) - 1
        positions = [positions[round(n * last / (most - 1))] for n in range(most)]
    rows = [(x, [_value(line, x) for line in lines]) for x in positions]
    return PlotTable([line.label for line in lines], rows)


def _value(line: PlotLine, x: float) -> float | None:
    place = bisect_right(line.x, x)
    return line.y[place - 1] if place else None
