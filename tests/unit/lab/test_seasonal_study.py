"""The seasonal study: a repeated day is forecast exactly, a constant one by both forecasts."""

import pytest

from stretto.base.errors import InputError
from stretto.inputs.traces.measured_use import UseTrace
from stretto_lab.studies.seasonal import SeasonalStudy, seasonal_points

STUDY = SeasonalStudy(season_s=1200, ahead_s=(300,))


def trace(*values: int) -> UseTrace:
    return UseTrace("made", "none", {"a": values})


def test_a_repeated_season_is_forecast_exactly_and_the_last_value_misses() -> None:
    (point,) = seasonal_points(STUDY, trace(*(1, 2, 4, 1) * 5))
    assert (point.seasonal_pct, point.mean) == (0, 2)
    assert point.last_pct == pytest.approx(100 * 6 / 8, abs=3)


def test_the_last_value_is_better_where_nothing_repeats() -> None:
    (point,) = seasonal_points(STUDY, trace(*range(1, 21)))
    assert point.last_pct < point.seasonal_pct


def test_short_series_and_odd_seasons_are_refused() -> None:
    with pytest.raises(InputError, match="more than two seasons"):
        list(seasonal_points(STUDY, trace(1, 2, 3, 4)))
    with pytest.raises(InputError, match="a multiple of 300"):
        SeasonalStudy(season_s=1000)
