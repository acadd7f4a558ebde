"""Plots as PNG. Matplotlib is imported when the first one is drawn, and never shows a window."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from stretto.base.errors import MissingExtraError

if TYPE_CHECKING:
    # Matplotlib costs a second to import, and most commands draw nothing.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Okabe and Ito's colours: most people with a colour vision deficiency tell them apart."""
DOTS_PER_INCH: Final = 110
"""Sharp in a document, and some 60 kB a plot."""


class PlotLine(msgspec.Struct, frozen=True):
    """One curve of a plot."""

    #: Its name in the legend; empty for none.
    label: str
    #: Where the points are.
    x: Sequence[float]
    #: How high they are.
    y: Sequence[float]
    #: Number of its colour: curves that belong together share one.
    colour: int = 0
    #: Drawn as marks without a line: figures of others beside ours.
    marks: bool = False
    #: Drawn as steps: what is level between two points, and not a slope.
    steps: bool = False
    #: Half the height of a band around it; empty for none.
    band: Sequence[float] = ()


class PlotTexts(msgspec.Struct, frozen=True):
    """What is written on a plot."""

    #: Above it.
    title: str
    #: Below it.
    x: str
    #: Beside it.
    y: str
    #: Equal steps along it are equal factors.
    log_x: bool = False
    #: The scale beside it begins at 0.
    from_0: bool = False


def check_plots() -> None:
    """Refuse plots before any work where they cannot be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401, ICN001  (only whether it is installed)
    except ImportError as error:
        raise MissingExtraError("drawing plots", "reports") from error


def curves_png(lines: Sequence[PlotLine], words: PlotTexts) -> bytes:
    """Curves over a common axis."""
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
    return _finish(figure, axes, words)


def bars_png(bars: Mapping[str, Sequence[float]], parts: Sequence[str], words: PlotTexts) -> bytes:
    """Stacked bars: a bar for each name, with as many parts as ``parts`` has names."""
    figure, axes = _figure()
    names = list(bars)
    bottom = [0.0] * len(names)
    for number, part in enumerate(parts):
        heights = [bars[name][number] for name in names]
        axes.bar(names, heights, bottom=bottom, color=COLOURS[number % len(COLOURS)], label=part)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    figure.legend(fontsize=8, frameon=False, loc="outside upper right", ncols=len(parts))
    return _finish(figure, axes, words)


def _figure() -> "tuple[Figure, Axes]":
    """An empty plot, drawn off screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _finish(figure: "Figure", axes: "Axes", words: PlotTexts) -> bytes:
    """Write on a plot and encode it; the same curves give the same bytes."""
    axes.set_title(words.title, fontsize=10, loc="left")
    axes.set_xlabel(words.x, fontsize=9)
    axes.set_ylabel(words.y, fontsize=9)
    if words.log_x:
        axes.set_xscale("log")
    if words.from_0:
        axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    target = io.BytesIO()
    figure.savefig(target, format="png", metadata={"Software": None})
    return target.getvalue()
