"""The seasonal study: errors of the forecasts of demand on measured series.

All predictors (``stretto.capacity.scaling.forecast``) forecast the same targets. The error of a
predictor is the sum of its absolute errors over the sum of the values.
"""

from collections.abc import Iterator
from statistics import median

import msgspec

from stretto.base.errors import InputError
from stretto.capacity.scaling.forecast import PREDICTORS, error
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.inputs.traces.measured_use import STEP_S, UseTrace


class SeasonalStudy(msgspec.Struct, frozen=True):
    """Season and distances of the forecasts."""

    #: Seconds of a season.
    season_s: float = 86_400.0
    #: Seconds from the last value to the forecast value.
    ahead_s: tuple[float, ...] = (300.0, 3600.0, 21_600.0)
    #: Names of the predictors; empty for the built-in predictors.
    predictors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, each in [("season", self.season_s), *(("ahead", s) for s in self.ahead_s)]:
            if each < STEP_S or each % STEP_S:
                raise InputError(name, each, f"a multiple of {STEP_S} seconds")


class SeasonalPoint(msgspec.Struct, frozen=True):
    """One series and one distance."""

    #: The series.
    series: str
    #: Seconds from the last value to the forecast value.
    ahead_s: float
    #: Mean of the values: thousandths of the CPUs of a machine, or requests.
    mean: float
    #: Error in percent, by predictor.
    errors_pct: dict[str, float]


class SeasonalResult(msgspec.Struct, frozen=True):
    """Errors of the forecasts."""

    #: Season and distances.
    study: SeasonalStudy
    #: The source of the series.
    source: str
    #: The errors.
    points: tuple[SeasonalPoint, ...]


def seasonal_points(study: SeasonalStudy, use: UseTrace) -> Iterator[SeasonalPoint]:
    """Yield the errors on every series that is longer than two seasons, at each distance."""
    season = round(study.season_s / STEP_S)
    long = {
        name: [float(value) for value in values]
        for name, values in {**use.requests, **use.cpu}.items()
        if len(values) > 2 * season
    }
    if not long:
        expected = f"series of more than two seasons of {study.season_s:g} s"
        raise InputError(use.source, f"{len(use.cpu)} shorter series", expected)
    chosen = {each: PREDICTORS.get(each).predict for each in _names(study)}
    for name, values in long.items():
        for ahead_s in study.ahead_s:
            ahead = round(ahead_s / STEP_S)
            errors = {
                each: round(100 * error(values, season, ahead, predict), 1)
                for each, predict in chosen.items()
            }
            yield SeasonalPoint(name, ahead_s, round(sum(values) / len(values), 1), errors)


def seasonal_plot(result: SeasonalResult) -> CurvePlot:
    """Plot the median error of the series over the distance, one curve for each predictor."""
    distances = sorted({each.ahead_s for each in result.points})
    lines = []
    for colour, name in enumerate(_names(result.study)):
        middles = [
            median(each.errors_pct[name] for each in result.points if each.ahead_s == distance)
            for distance in distances
        ]
        lines.append(PlotLine(name, [each / 3600 for each in distances], middles, colour))
    best = min(lines, key=lambda each: each.y[-1])
    title = f"{distances[-1] / 3600:g} hours ahead, the best forecast is {best.label}"
    texts = PlotTexts(title, "hours ahead", "median error of the series, %", from_0=True)
    return CurvePlot("seasonal", lines, texts)


def _names(study: SeasonalStudy) -> tuple[str, ...]:
    return study.predictors or PREDICTORS.built_in()
