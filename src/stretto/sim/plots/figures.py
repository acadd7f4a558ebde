"""Figures as PNG and SVG. Matplotlib is imported at the first figure and never opens a window.

A title states the finding of its figure, and the note below it states the source of the data.
Horizontal axes begin at the first point. Equal data give equal bytes.
"""

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import MissingExtraError
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts

if TYPE_CHECKING:
    # Importing matplotlib takes a second, and most commands draw no plots.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Okabe and Ito's colours, which most readers with a colour vision deficiency can distinguish."""
STYLES: Final = ("-", ":", "-.")
"""Line styles; curves beyond the last colour use the colours again in the next style."""
GREY: Final = "#777777"
DOTS_PER_INCH: Final = 110
"""Resolution of PNG; a figure is about 60 kB."""
LABEL_GAP: Final = 0.045
"""Minimum distance of two labels at the ends of curves, as part of the axis."""
APART: Final = 64
"""Maximum number of columns of a heat map that are separated by lines."""
MARGIN: Final = 0.01
"""Part of the horizontal axis behind the last point, so that a last step is visible."""
INSIDE: Final = 4
"""Maximum number of curves with a legend inside the axes, where a larger one would cover points."""
ROW_INCHES: Final = 0.4
"""Height of one horizontal bar."""

Pictures = dict[str, bytes]
"""Files by name: each figure as PNG and as SVG."""


class HeatCells(NamedTuple):
    """The cells of a heat map."""

    #: float64[row, column]: part in use, 0..1; NaN for absent cells.
    used: npt.NDArray[np.float64]
    #: Names of the rows.
    rows: Sequence[str]
    #: Names of groups of columns, each with its first column.
    groups: Sequence[tuple[str, int]]


def check_plots() -> None:
    """Check that plots can be drawn, before any work.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401, ICN001  (checks the installation only)
    except ImportError as error:
        raise MissingExtraError("drawing plots", "reports") from error


# ---------------------------------------------------------------- figures


def draw_plots(plots: Sequence[CurvePlot]) -> Pictures:
    """Draw described figures."""
    found: Pictures = {}
    for plot in plots:
        draw = draw_areas if plot.stacked else draw_curves
        found |= draw(plot.name, plot.lines, plot.texts)
    return found


def draw_curves(name: str, lines: Sequence[PlotLine], texts: PlotTexts) -> Pictures:
    """Curves over a common horizontal axis."""
    figure, axes = _figure()
    for line in lines:
        _draw_line(axes, line)
    _finish_axes(axes, texts, lines)
    if texts.at_end:
        _label_ends(axes, [line for line in lines if line.label])
    elif sum(bool(line.label) for line in lines) > INSIDE:
        figure.legend(fontsize=8, frameon=False, loc="outside lower right", ncols=3)
    elif any(line.label for line in lines):
        axes.legend(fontsize=8, frameon=False)
    return _saved(name, figure, texts)


def draw_areas(name: str, layers: Sequence[PlotLine], texts: PlotTexts) -> Pictures:
    """Stacked areas, each labelled at its maximum; all layers have the same positions."""
    figure, axes = _figure()
    low = np.zeros(len(layers[0].x))
    for layer in layers:
        high = low + np.array(layer.y)
        colour = COLOURS[layer.colour % len(COLOURS)]
        axes.fill_between(layer.x, low, high, color=colour, alpha=0.75, linewidth=0, step="post")
        place = int(np.argmax(high - low))
        middle = float(low[place] + high[place]) / 2
        side = "left" if place < len(low) / 8 else "right" if place > 7 * len(low) / 8 else "center"
        axes.text(layer.x[place], middle, layer.label, fontsize=8, ha=side, va="center")
        low = high
    top = [PlotLine("", layers[0].x, low.tolist())]
    _finish_axes(axes, texts, top)
    return _saved(name, figure, texts)


def draw_panels(
    name: str, parts: Mapping[str, Sequence[PlotLine]], texts: PlotTexts, columns: int = 2
) -> Pictures:
    """Small multiples with common axes: one panel for each name."""
    rows = -(-len(parts) // columns)
    figure = _canvas(7.2, 2.6 * rows + 0.9)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, (title, lines) in zip(grid.flat, parts.items(), strict=False):
        for line in lines:
            _draw_line(axes, line)
        _finish_axes(axes, msgspec.structs.replace(texts, title=title, x="", y=""), lines)
    for axes in grid.flat[len(parts) :]:
        axes.set_axis_off()
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, frameon=False, loc="outside lower right", ncols=3)
    figure.suptitle(texts.title, fontsize=10, x=0.01, ha="left")
    for axes in grid[-1]:
        axes.set_xlabel(texts.x, fontsize=9)
    figure.supylabel(texts.y, fontsize=9)
    return _saved(name, figure, texts)


def draw_bars(name: str, values: Mapping[str, float], texts: PlotTexts) -> Pictures:
    """Horizontal bars with their values, the first at the top."""
    from matplotlib.ticker import MaxNLocator

    figure = _canvas(7.2, 1.2 + ROW_INCHES * len(values))
    axes = figure.add_subplot()
    drawn = axes.barh(list(values), list(values.values()), color=COLOURS[0], height=0.6)
    axes.bar_label(drawn, fmt="{:,.0f}", fontsize=8, padding=3)
    axes.set_ylim(len(values) - 0.4, -0.6)
    _finish_axes(axes, texts, ())
    axes.margins(x=0.1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(axis="y", labelsize=8)
    return _saved(name, figure, texts)


def draw_rows(
    name: str, rows: Mapping[str, Sequence[float | None]], series: Sequence[str], texts: PlotTexts
) -> Pictures:
    """One row for each name with a dot for each series; the last series, a limit, is a short line.

    Args:
        name: file name without suffix.
        rows: values by row, one for each series; ``None`` for a missing value. The first row is at
            the top.
        series: names of the series.
        texts: texts and scales.
    """
    figure = _canvas(7.2, 1.6 + ROW_INCHES * len(rows))
    axes = figure.add_subplot()
    for number, label in enumerate(series):
        last = number == len(series) - 1
        values = [row[number] for row in rows.values()]
        x = [value for value in values if value is not None]
        y = [place for place, value in enumerate(values) if value is not None]
        mark, colour = ("|", GREY) if last else ("o", COLOURS[number % len(COLOURS)])
        axes.plot(x, y, mark, color=colour, label=label, markersize=14 if last else 7)
    _finish_axes(axes, texts, ())
    axes.set_yticks(range(len(rows)), list(rows), fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    figure.legend(fontsize=8, frameon=False, loc="outside lower right", ncols=len(series))
    return _saved(name, figure, texts)


def draw_heat(name: str, cells: HeatCells, texts: PlotTexts) -> Pictures:
    """A heat map: one column for each node, one row for each of its devices or resources."""
    figure = _canvas(7.2, 1.9 + 0.25 * len(cells.rows))
    axes = figure.add_subplot()
    shown = axes.imshow(
        cells.used, aspect="auto", cmap="Blues", vmin=0, vmax=1, interpolation="nearest"
    )
    axes.set_facecolor("#eeeeee")
    axes.set_yticks(range(len(cells.rows)), cells.rows, fontsize=8)
    starts = [at for _, at in cells.groups]
    if len(starts) == cells.used.shape[1]:
        axes.set_xticks(starts, [name for name, _ in cells.groups], fontsize=7)
    else:
        ends = [*starts[1:], cells.used.shape[1]]
        middles = [(low + high - 1) / 2 for low, high in zip(starts, ends, strict=True)]
        axes.set_xticks(middles, [name for name, _ in cells.groups], fontsize=7)
        for low, _ in pairwise([*starts[1:], 0]):
            axes.axvline(low - 0.5, color=GREY, linewidth=0.8)
    for row in range(1, len(cells.rows)):
        axes.axhline(row - 0.5, color="white", linewidth=1)
    for column in range(1, cells.used.shape[1] if cells.used.shape[1] <= APART else 0):
        axes.axvline(column - 0.5, color="white", linewidth=1)
    axes.tick_params(length=0)
    scale = figure.colorbar(shown, ax=axes, pad=0.01)
    scale.set_label("part allocated", fontsize=8)
    scale.ax.tick_params(labelsize=7)
    _write_texts(axes, texts)
    return _saved(name, figure, texts)


# ---------------------------------------------------------------- parts


def _canvas(width: float, height: float) -> "Figure":
    """An empty off-screen figure of a size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _figure() -> "tuple[Figure, Axes]":
    """An empty figure with one pair of axes."""
    figure = _canvas(7.2, 4.4)
    return figure, figure.add_subplot()


def _draw_line(axes: "Axes", line: PlotLine) -> None:
    colour = COLOURS[line.colour % len(COLOURS)]
    label = line.label or None
    if line.marks:
        shape: dict[str, Any] = {"markersize": 5, "mfc": "none", "clip_on": False}
        axes.plot(line.x, line.y, "o", color=colour, label=label, **shape)
    else:
        drawn = "steps-post" if line.steps else "default"
        style = "--" if line.dashed else STYLES[line.colour // len(COLOURS) % len(STYLES)]
        axes.plot(line.x, line.y, style, color=colour, label=label, linewidth=1.6, drawstyle=drawn)
    if line.band:
        low = [y - b for y, b in zip(line.y, line.band, strict=True)]
        high = [y + b for y, b in zip(line.y, line.band, strict=True)]
        axes.fill_between(line.x, low, high, color=colour, alpha=0.15, linewidth=0)


def _write_texts(axes: "Axes", texts: PlotTexts) -> None:
    axes.set_title(texts.title, fontsize=10, loc="left")
    axes.set_xlabel(texts.x, fontsize=9)
    axes.set_ylabel(texts.y, fontsize=9)


def _finish_axes(axes: "Axes", texts: PlotTexts, lines: Sequence[PlotLine]) -> None:
    """Set texts, scales, grid and marked moments of a pair of axes."""
    _write_texts(axes, texts)
    found = [float(x) for line in lines for x in line.x]
    if texts.log_x:
        axes.set_xscale("log")
    elif found and min(found) < max(found):
        axes.set_xlim(min(found), max(found) + MARGIN * (max(found) - min(found)))
    if texts.from_0:
        axes.set_ylim(bottom=0)
    for moment in texts.moments:
        axes.axvline(moment.x, color=GREY, linewidth=1, linestyle=":")
        axes.annotate(
            moment.label,
            (moment.x, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(3, 0),
            textcoords="offset points",
            fontsize=8,
            color=GREY,
            rotation=90,
            va="top",
            bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5},
        )
    axes.grid(visible=True, alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _label_ends(axes: "Axes", lines: Sequence[PlotLine]) -> None:
    """Write the name of each curve next to its last point; close names are moved apart."""
    low, high = axes.get_ylim()
    ends = sorted((line for line in lines if len(line.y)), key=lambda line: line.y[-1])
    parts = [(float(line.y[-1]) - low) / ((high - low) or 1.0) for line in ends]
    for line, part in zip(ends, _spread(parts), strict=True):
        colour = COLOURS[line.colour % len(COLOURS)]
        axes.annotate(
            line.label,
            (1.0, part),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            color=colour,
            fontsize=8,
            va="center",
        )


def _spread(parts: Sequence[float]) -> list[float]:
    """Ascending positions at least ``LABEL_GAP`` apart, inside the axis if they fit there.

    >>> _spread([0.2, 0.5, 0.5])
    [0.2, 0.5, 0.545]
    """
    found: list[float] = []
    for part in parts:
        found.append(max(part, found[-1] + LABEL_GAP) if found else part)
    most = 1.0
    for place in range(len(found) - 1, -1, -1):
        found[place] = min(found[place], most)
        most = found[place] - LABEL_GAP
    return found


def _saved(name: str, figure: "Figure", texts: PlotTexts) -> Pictures:
    """The figure as PNG and SVG."""
    from matplotlib import rc_context

    if texts.note:
        figure.supxlabel(texts.note, fontsize=7, color=GREY, x=0.01, ha="left")
    found: Pictures = {}
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for form, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            target = io.BytesIO()
            figure.savefig(target, format=form, metadata=metadata)
            figure.set_layout_engine(None)  # both formats have the layout of the first one
            found[f"{name}.{form}"] = target.getvalue()
    return found
