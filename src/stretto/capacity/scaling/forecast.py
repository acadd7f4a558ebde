"""A forecast of demand from its season, such as a day: the predictor that needs no training."""

from collections.abc import Sequence
from statistics import median
from typing import Final

from stretto.base.errors import InputError

SEASONS: Final = 3
"""Past seasons of which the median counts: one unusual day changes nothing."""


def seasonal(values: Sequence[float], season: int, ahead: int) -> float:
    """The expected value ``ahead`` steps after the last one.

    The median of the values at the same phase of up to :data:`SEASONS` past seasons.

    Raises:
        InputError: the history is shorter than a season, or a number is below 1.
    """
    if season < 1 or ahead < 1:
        raise InputError("season, ahead", f"{season}, {ahead}", "at least 1 each")
    if len(values) < season:
        raise InputError("history", f"{len(values)} values", f"at least one season of {season}")
    target = len(values) - 1 + ahead
    index = target - season * -(-ahead // season)
    phases = [values[at] for at in range(index, -1, -season)][:SEASONS]
    return float(median(phases))


def error(values: Sequence[float], season: int, ahead: int) -> float:
    """The sum of absolute errors of all forecasts over the sum of the values.

    Raises:
        InputError: the history has no value to compare.
    """
    targets = range(season + ahead - 1, len(values))
    if not targets:
        raise InputError("history", f"{len(values)} values", f"more than {season + ahead - 1}")
    missed = sum(
        abs(values[at] - seasonal(values[: at - ahead + 1], season, ahead)) for at in targets
    )
    whole = sum(abs(values[at]) for at in targets)
    return missed / whole if whole else 0.0
