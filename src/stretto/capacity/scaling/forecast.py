"""Forecasts of demand from its season, such as a day, and their errors.

A forecast is the expected value some steps after the last of evenly spaced values. A package adds a
predictor under the entry-point group ``stretto.predictors``, with a name of the form
``example.com/name``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from stretto.base.errors import InputError
from stretto.base.extensions import OpenRegistry

GROUP: Final = "stretto.predictors"
"""Entry-point group of installed predictors; each entry is a ``Predictor``."""
SEASONS: Final = 3
"""Number of past seasons of which the median counts, so that one unusual day has no effect."""
RECENT: Final = 12
"""Number of last values whose distance from the season shifts a forecast.

An hour of five-minute values.
"""

Predict = Callable[[Sequence[float], int, int], float]
"""Maps values, values per season, and steps ahead to the expected value."""


@dataclass(frozen=True)
class Predictor:
    """A forecasting method."""

    #: Returns the expected value; it is called with at least one season of values.
    predict: Predict
    #: Description in one sentence, for listings.
    summary: str


def seasonal(values: Sequence[float], season: int, ahead: int) -> float:
    """Median of the values at the same phase of up to :data:`SEASONS` past seasons.

    Raises:
        InputError: the history is shorter than a season, or a number is below 1.
    """
    _check(values, season, ahead)
    return _same_phase(values, len(values), season, ahead)


def shifted(values: Sequence[float], season: int, ahead: int) -> float:
    """Seasonal forecast plus the mean distance of the last values from their own forecast.

    Raises:
        InputError: the history is shorter than a season, or a number is below 1.
    """
    _check(values, season, ahead)
    first = max(season, len(values) - RECENT)
    missed = [values[at] - _same_phase(values, at, season, 1) for at in range(first, len(values))]
    return max(0.0, seasonal(values, season, ahead) + (fmean(missed) if missed else 0.0))


def last(values: Sequence[float], season: int, ahead: int) -> float:
    """The last value.

    Raises:
        InputError: the history is shorter than a season, or a number is below 1.
    """
    _check(values, season, ahead)
    return float(values[-1])


PREDICTORS: Final = OpenRegistry(
    "predictor",
    {
        "seasonal": Predictor(seasonal, "The median at the same time of the last three seasons."),
        "shifted": Predictor(
            shifted, "seasonal, shifted by the difference of the last values from it."
        ),
        "last": Predictor(last, "The last value: the forecast to compare with."),
    },
    GROUP,
    Predictor,
)
"""Every predictor by name."""


def error(values: Sequence[float], season: int, ahead: int, predict: Predict = seasonal) -> float:
    """Sum of absolute errors of all forecasts, divided by the sum of the values.

    Raises:
        InputError: the history has no value to compare.
    """
    targets = range(season + ahead - 1, len(values))
    if not targets:
        raise InputError("history", f"{len(values)} values", f"more than {season + ahead - 1}")
    missed = sum(
        abs(values[at] - predict(values[: at - ahead + 1], season, ahead)) for at in targets
    )
    whole = sum(abs(values[at]) for at in targets)
    return missed / whole if whole else 0.0


def _same_phase(values: Sequence[float], known: int, season: int, ahead: int) -> float:
    """Seasonal forecast from the first ``known`` values."""
    index = known - 1 + ahead - season * -(-ahead // season)
    return float(median([values[at] for at in range(index, -1, -season)[:SEASONS]]))


def _check(values: Sequence[float], season: int, ahead: int) -> None:
    if season < 1 or ahead < 1:
        raise InputError("season, ahead", f"{season}, {ahead}", "at least 1 each")
    if len(values) < season:
        raise InputError("history", f"{len(values)} values", f"at least one season of {season}")
