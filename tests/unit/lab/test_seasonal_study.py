"""The seasonal study: a repeated day is forecast exactly, a constant one by both forecasts."""

import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.inputs.traces.measured_use import UseTrace
from stretto_lab.studies.seasonal import SeasonalStudy, seasonal_points

STUDY = SeasonalStudy(season_s=1200, ahead_s=(300,))


def trace(*values: int) -> UseTrace:
    return UseTrace("made", "none", {"a": values})


def test_a_repeated_season_is_forecast_exactly_and_the_last_value_misses() -> None:
    (point,) = seasonal_points(STUDY, trace(*(1, 2, 4, 1) * 5))
    assert (point.errors_pct["seasonal"], point.mean) == (0, 2)
    assert point.errors_pct["last"] == pytest.approx(100 * 6 / 8, abs=3)


def test_the_last_value_is_better_where_nothing_repeats() -> None:
    (point,) = seasonal_points(STUDY, trace(*range(1, 21)))
    assert point.errors_pct["last"] < point.errors_pct["seasonal"]


def test_short_series_and_odd_seasons_are_refused() -> None:
    with pytest.raises(InputError, match="more than two seasons"):
        list(seasonal_points(STUDY, trace(1, 2, 3, 4)))
    with pytest.raises(InputError, match="a multiple of 300"):
        SeasonalStudy(season_s=1000)


def test_a_study_of_one_predictor_measures_it_alone() -> None:
    study = SeasonalStudy(season_s=1200, ahead_s=(300,), predictors=("last",))
    (point,) = seasonal_points(study, trace(*range(1, 21)))
    assert set(point.errors_pct) == {"last"}


def test_an_unknown_predictor_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="shifted"):
        list(seasonal_points(SeasonalStudy(1200, (300,), ("shift",)), trace(*range(1, 21))))
