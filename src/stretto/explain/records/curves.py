"""Curves of a result as data: commands draw them as files, and the dashboard draws them on a page.

A description has no reference to a drawing library, so it is kept with its result.
"""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Final, NamedTuple

import msgspec

MOST_POINTS: Final = 1000
"""Maximum number of points of a kept curve: more are not visible on a page."""
_BUCKETS: Final = (MOST_POINTS - 2) // 2
"""Number of buckets of a longer curve between its ends; each keeps two points."""
_DIGITS: Final = 8
"""Significant digits of kept coordinates: seconds of a month keep tenths."""


class PlotLine(msgspec.Struct, frozen=True):
    """One curve of a figure."""

    #: Name in the legend; empty for none.
    label: str
    #: Horizontal positions of the points.
    x: Sequence[float]
    #: Vertical positions of the points.
    y: Sequence[float]
    #: Index of the colour; related curves share one.
    colour: int = 0
    #: True if it is drawn as marks without a line, for single observations.
    marks: bool = False
    #: True if it is drawn as steps: constant between two points.
    steps: bool = False
    #: True if it is dashed: a limit, a reference, or one of a second kind of curves.
    dashed: bool = False
    #: Half of the height of a band around the curve; empty for none.
    band: Sequence[float] = ()


class PlotMark(NamedTuple):
    """A moment on the horizontal axis."""

    #: Its position.
    x: float
    #: The event at this position.
    label: str


class PlotTexts(msgspec.Struct, frozen=True):
    """Texts and scales of a figure."""

    #: Title: the finding.
    title: str
    #: Label of the horizontal axis.
    x: str
    #: Label of the vertical axis.
    y: str
    #: True if the horizontal axis is logarithmic.
    log_x: bool = False
    #: True if the vertical axis starts at 0.
    from_0: bool = False
    #: True if curves are labelled at their right end instead of in a legend.
    at_end: bool = False
    #: Moments that are marked.
    moments: tuple[PlotMark, ...] = ()
    #: Source of the data, below the figure; empty for none.
    note: str = ""


class CurvePlot(msgspec.Struct, frozen=True):
    """A figure of curves over a common horizontal axis."""

    #: Name of its files; plots of several results with the same name share their axes.
    name: str
    #: The curves.
    lines: Sequence[PlotLine]
    #: Texts and scales.
    texts: PlotTexts
    #: True if files show the curves as stacked areas.
    stacked: bool = False


def thinned(plot: CurvePlot) -> CurvePlot:
    """Return a plot with at most ``MOST_POINTS`` points per curve, from the first to the last.

    Each bucket of successive points keeps its lowest and its highest one, so that a narrow peak
    remains. Stacked areas keep the same positions: those of their sum. Points that JSON cannot
    represent (infinity, NaN) are left out; a band of such a height is not drawn there.
    """
    heights = [line.y for line in plot.lines]
    if plot.stacked:
        heights = [[sum(each) for each in zip(*heights, strict=True)]] * len(heights)
    lines = [
        _thinned(line, _places(line.x, y)) for line, y in zip(plot.lines, heights, strict=True)
    ]
    return msgspec.structs.replace(plot, lines=lines)


def joined_plots(results: Sequence[tuple[str, Sequence[CurvePlot]]]) -> tuple[CurvePlot, ...]:
    """Join the plots of several results: those with the same name and axes become one.

    Args:
        results: name and plots of each result; the name is added to the labels of joined curves.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, CurvePlot]]] = {}
    for name, plots in results:
        for plot in plots:
            groups.setdefault((plot.name, plot.texts.x, plot.texts.y), []).append((name, plot))
    return tuple(_joined(members) for members in groups.values())


def _joined(members: Sequence[tuple[str, CurvePlot]]) -> CurvePlot:
    _, first = members[0]
    if len(members) == 1:
        return first
    moments = dict.fromkeys(moment for _, plot in members for moment in plot.texts.moments)
    is_same = len({plot.texts.title for _, plot in members}) == 1
    title = first.texts.title if is_same else f"{first.texts.y}, by {first.texts.x}"
    texts = msgspec.structs.replace(first.texts, title=title, moments=tuple(moments))
    return CurvePlot(first.name, list(_recoloured(members)), texts)


def _recoloured(members: Sequence[tuple[str, CurvePlot]]) -> Iterator[PlotLine]:
    """Yield the curves of several plots, with a colour for each colour of each plot."""
    colours: dict[tuple[str, int], int] = {}
    for name, plot in members:
        for line in plot.lines:
            colour = colours.setdefault((name, line.colour), len(colours))
            label = line.label if line.label in ("", name) else f"{name}: {line.label}"
            yield msgspec.structs.replace(line, label=label, colour=colour)


def _places(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """Return the indices of the kept points: the ends, and the extremes of each bucket."""
    places = [n for n in range(len(x)) if isfinite(x[n]) and isfinite(y[n])]
    if len(places) <= MOST_POINTS:
        return places
    first, *inner, last = places
    kept = {first, last}
    for n in range(_BUCKETS):
        bucket = inner[n * len(inner) // _BUCKETS : (n + 1) * len(inner) // _BUCKETS]
        kept |= {min(bucket, key=y.__getitem__), max(bucket, key=y.__getitem__)}
    return sorted(kept)


def _thinned(line: PlotLine, places: Sequence[int]) -> PlotLine:
    def kept(values: Sequence[float]) -> list[float]:
        return [float(f"{float(values[place]):.{_DIGITS}g}") for place in places]

    band = [each if isfinite(each) else 0.0 for each in kept(line.band)] if line.band else ()
    return msgspec.structs.replace(line, x=kept(line.x), y=kept(line.y), band=band)
