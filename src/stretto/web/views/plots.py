"""Curves of runs as the parts of a picture: lines, ticks, and points with their values."""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import Final, NamedTuple

from stretto.explain.inventory.run_comparison import RunCurve

WIDTH: Final = 900
"""Width of a picture in its own units."""
HEIGHT: Final = 340
"""Height of a picture."""
LEFT: Final = 70
"""Width of the labels left of the lines."""
BOTTOM: Final = 40
"""Height of the labels below the lines."""
_TOP: Final = 12
_RIGHT: Final = 16
_TICKS: Final = 6
"""Maximum number of ticks per axis."""
_VERTICES: Final = 400
"""Maximum number of vertices of a line: more are not visible."""
_POINTS: Final = 12
"""Number of points of a line with their values."""


class PlotTick(NamedTuple):
    """Tick on an axis."""

    #: Position.
    at: float
    #: The value.
    text: str


class PlotPoint(NamedTuple):
    """Point of a line with its values."""

    #: Position from the left.
    x: float
    #: Position from the top.
    y: float
    #: The values.
    text: str


class CurveLine(NamedTuple):
    """The curve of one run."""

    #: The run.
    name: str
    #: Its vertices, in the format of SVG.
    vertices: str
    #: Points along it.
    points: tuple[PlotPoint, ...]
    #: Its last value.
    last: str


class CurvePlot(NamedTuple):
    """A picture of several curves."""

    #: The lines.
    lines: tuple[CurveLine, ...]
    #: Seconds, from left to right.
    times: tuple[PlotTick, ...]
    #: Pods, from the bottom to the top.
    pods: tuple[PlotTick, ...]


def curve_plot(curves: Sequence[RunCurve]) -> CurvePlot:
    """Return the plot of the pods placed over time, one line per run."""
    end = max((each.seconds[-1] for each in curves if each.seconds), default=0.0) or 1.0
    most = max((max(each.placed) for each in curves if each.placed), default=0.0) or 1.0

    def across(seconds: float) -> float:
        return round(LEFT + seconds / end * (WIDTH - LEFT - _RIGHT), 1)

    def up(pods: float) -> float:
        return round(HEIGHT - BOTTOM - pods / most * (HEIGHT - BOTTOM - _TOP), 1)

    def line(curve: RunCurve) -> CurveLine:
        places = _spread(len(curve.seconds), _VERTICES)
        vertices = [(across(curve.seconds[at]), up(curve.placed[at])) for at in places]
        points = tuple(
            PlotPoint(
                across(curve.seconds[at]),
                up(curve.placed[at]),
                f"{curve.run}: {curve.placed[at]:,.0f} pods after {curve.seconds[at]:,.1f} s",
            )
            for at in _spread(len(curve.seconds), _POINTS)
        )
        last = f"{curve.placed[-1]:,.0f}" if curve.placed else "0"
        return CurveLine(curve.run, _steps(vertices), points, last)

    return CurvePlot(
        tuple(line(each) for each in curves),
        tuple(PlotTick(across(value), f"{value:,g}") for value in _ticks(end)),
        tuple(PlotTick(up(value), f"{value:,g}") for value in _ticks(most)),
    )


def _steps(vertices: Sequence[tuple[float, float]]) -> str:
    """Return the vertices of a line that is horizontal between two values."""
    found: list[str] = []
    for place, (x, y) in enumerate(vertices):
        if place:
            found.append(f"{x},{vertices[place - 1][1]}")
        found.append(f"{x},{y}")
    return " ".join(found)


def _spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` indices, from the first to the last one."""
    if count <= most:
        return list(range(count))
    return [round(number * (count - 1) / (most - 1)) for number in range(most)]


def _ticks(most: float) -> Iterator[float]:
    """Yield round values from 0 to a maximum."""
    power = 10.0 ** floor(log10(most / _TICKS))
    step = next(factor * power for factor in (1, 2, 5, 10) if most / (factor * power) <= _TICKS)
    for number in range(ceil(most / step) + 1):
        if number * step <= most:
            yield round(number * step, 6)
