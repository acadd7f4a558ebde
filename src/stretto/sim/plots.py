"""Plots as PNG. Matplotlib is imported at the first plot and never opens a window."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from stretto.base.errors import MissingExtraError

if TYPE_CHECKING:
    # Importing matplotlib takes a second, and most commands draw no plots.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Okabe and Ito's colours, which most readers with a colour vision deficiency can distinguish."""
DOTS_PER_INCH: Final = 110
"""Resolution; a plot is about 60 kB."""


class PlotLine(msgspec.Struct, frozen=True):
    """One curve of a plot."""

    #: Name in the legend; empty for none.
    label: str
    #: Horizontal positions of the points.
    x: Sequence[float]
    #: Vertical positions of the points.
    y: Sequence[float]
    #: Index of the colour; related curves share one.
    colour: int = 0
    #: Whether it is drawn as marks without a line, for published figures.
    marks: bool = False
    #: Whether it is drawn as steps: constant between two points.
    steps: bool = False
    #: Half the height of a band around the curve; empty for none.
    band: Sequence[float] = ()


class PlotTexts(msgspec.Struct, frozen=True):
    """Texts and scales of a plot."""

    #: Title.
    title: str
    #: Label of the horizontal axis.
    x: str
    #: Label of the vertical axis.
    y: str
    #: Whether the horizontal axis is logarithmic.
    log_x: bool = False
    #: Whether the vertical axis starts at 0.
    from_0: bool = False


def check_plots() -> None:
    """Check before any work that plots can be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401, ICN001  (checks the installation only)
    except ImportError as error:
        raise MissingExtraError("drawing plots", "reports") from error


def curves_png(lines: Sequence[PlotLine], texts: PlotTexts) -> bytes:
    """Curves over a common horizontal axis, as PNG."""
    figure, axes = _figure()
    for line in lines:
        colour = COLOURS[line.colour % len(COLOURS)]
        label = line.label or None
        if line.marks:
            axes.plot(line.x, line.y, "o", color=colour, label=label, markersize=4, mfc="none")
        else:
            drawn = "steps-post" if line.steps else "default"
            axes.plot(line.x, line.y, color=colour, label=label, linewidth=1.6, drawstyle=drawn)
        if line.band:
            low = [y - b for y, b in zip(line.y, line.band, strict=True)]
            high = [y + b for y, b in zip(line.y, line.band, strict=True)]
            axes.fill_between(line.x, low, high, color=colour, alpha=0.15, linewidth=0)
    if any(line.label for line in lines):
        axes.legend(fontsize=8, frameon=False)
    return _finish(figure, axes, texts)


def bars_png(bars: Mapping[str, Sequence[float]], parts: Sequence[str], texts: PlotTexts) -> bytes:
    """Stacked bars as PNG: one bar for each name, with one part for each entry of ``parts``."""
    figure, axes = _figure()
    names = list(bars)
    bottom = [0.0] * len(names)
    for number, part in enumerate(parts):
        heights = [bars[name][number] for name in names]
        axes.bar(names, heights, bottom=bottom, color=COLOURS[number % len(COLOURS)], label=part)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    figure.legend(fontsize=8, frameon=False, loc="outside upper right", ncols=len(parts))
    return _finish(figure, axes, texts)


def _figure() -> "tuple[Figure, Axes]":
    """An empty off-screen plot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _finish(figure: "Figure", axes: "Axes", texts: PlotTexts) -> bytes:
    """Add the texts and encode the plot; equal curves give equal bytes."""
    axes.set_title(texts.title, fontsize=10, loc="left")
    axes.set_xlabel(texts.x, fontsize=9)
    axes.set_ylabel(texts.y, fontsize=9)
    if texts.log_x:
        axes.set_xscale("log")
    if texts.from_0:
        axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    target = io.BytesIO()
    figure.savefig(target, format="png", metadata={"Software": None})
    return target.getvalue()
