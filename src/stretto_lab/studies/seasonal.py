"""The seasonal study: how far the seasonal forecast of demand misses measured series.

The forecast (``stretto.capacity.scaling.forecast``) is the median at the same phase of the last
seasons. It is compared with the simplest forecast, the last value, on the same targets. Both errors
are the sum of absolute errors over the sum of values.
"""

from collections.abc import Iterator, Sequence

import msgspec

from stretto.base.errors import InputError
from stretto.capacity.scaling.forecast import error
from stretto.inputs.traces.measured_use import STEP_S, UseTrace


class SeasonalStudy(msgspec.Struct, frozen=True):
    """Season and distances of the forecasts."""

    #: Seconds of a season.
    season_s: float = 86_400.0
    #: Seconds from the last value to the forecast one.
    ahead_s: tuple[float, ...] = (300.0, 3600.0, 21_600.0)

    def __post_init__(self) -> None:
        for name, each in [("season", self.season_s), *(("ahead", s) for s in self.ahead_s)]:
            if each < STEP_S or each % STEP_S:
                raise InputError(name, each, f"a multiple of {STEP_S} seconds")


class SeasonalPoint(msgspec.Struct, frozen=True):
    """One series and one distance."""

    #: The series.
    series: str
    #: Seconds from the last value to the forecast one.
    ahead_s: float
    #: Mean of its values: thousandths of the CPUs of a machine, or requests.
    mean: float
    #: Error of the seasonal forecast in percent.
    seasonal_pct: float
    #: Error of the last value in percent.
    last_pct: float


class SeasonalResult(msgspec.Struct, frozen=True):
    """Errors of the seasonal forecast."""

    #: Season and distances.
    study: SeasonalStudy
    #: Where the series come from.
    source: str
    #: The errors.
    points: tuple[SeasonalPoint, ...]


def seasonal_points(study: SeasonalStudy, use: UseTrace) -> Iterator[SeasonalPoint]:
    """The errors on every series that is longer than two seasons, at each distance."""
    season = round(study.season_s / STEP_S)
    long = {
        name: [float(value) for value in values]
        for name, values in {**use.requests, **use.cpu}.items()
        if len(values) > 2 * season
    }
    if not long:
        expected = f"series of more than two seasons of {study.season_s:g} s"
        raise InputError(use.source, f"{len(use.cpu)} shorter series", expected)
    for name, values in long.items():
        for ahead_s in study.ahead_s:
            ahead = round(ahead_s / STEP_S)
            yield SeasonalPoint(
                name,
                ahead_s,
                round(sum(values) / len(values), 1),
                round(100 * error(values, season, ahead), 1),
                round(100 * _last_error(values, season, ahead), 1),
            )


def _last_error(values: Sequence[float], season: int, ahead: int) -> float:
    """The error of the last value, on the targets of the seasonal forecast."""
    targets = range(season + ahead - 1, len(values))
    whole = sum(abs(values[at]) for at in targets)
    return sum(abs(values[at] - values[at - ahead]) for at in targets) / whole if whole else 0.0
