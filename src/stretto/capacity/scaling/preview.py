"""The forecast of a ScalingPolicy: samples of its demand, the expected demand, and its error."""

from math import ceil, isfinite
from typing import NamedTuple

import msgspec

from stretto.api.types.capacity.scaling import (
    ScalingForecast,
    ScalingForecastStatus,
    ScalingPolicy,
)
from stretto.base.clock import parse_timestamp, timestamp
from stretto.base.errors import InputError
from stretto.capacity.scaling.forecast import PREDICTORS, SEASONS, Predict, error

_MOST: int = 2**31 - 1


class ForecastLook(NamedTuple):
    """The current forecast, and the time of its next change."""

    #: The forecast.
    status: ScalingForecastStatus
    #: Seconds until the next sample.
    wait: float


def look(policy: ScalingPolicy, rules: ScalingForecast, now: float) -> ForecastLook:
    """Return the forecast at ``now`` in seconds since the epoch; add a new sample if it is due.

    Raises:
        InputError: the predictor cannot be loaded, or its result is not a number.
        UnknownNameError: there is no such predictor.
    """
    predict = PREDICTORS.get(rules.predictor).predict
    known = policy.status.forecast or ScalingForecastStatus()
    step = rules.sample_seconds
    passed = _steps_since(known.sampled_time, now, step)
    if passed == 0 and known.sampled_time is not None:
        left = step - (now - parse_timestamp(known.sampled_time))
        return ForecastLook(known, left)
    season, ahead = rules.season_seconds // step, rules.ahead_seconds // step
    kept = SEASONS * season + ahead
    fresh = (policy.spec.replicas,) * min(passed, kept)
    samples = (*known.samples, *fresh)[-kept:]
    values = [float(each) for each in samples]
    status = ScalingForecastStatus(
        replicas=_expected(predict, values, season, ahead),
        error_percent=_missed(predict, values, season, ahead),
        sampled_time=timestamp(int(now)),
        samples=samples,
    )
    return ForecastLook(status, float(step))


def _steps_since(sampled: str | None, now: float, step: int) -> int:
    """Number of due samples: one at first, several after a pause, none if the clock went back."""
    if sampled is None:
        return 1
    return max(0, int((now - parse_timestamp(sampled)) // step))


def _expected(predict: Predict, values: list[float], season: int, ahead: int) -> int | None:
    """Expected demand in whole replicas; ``None`` before the first season is complete."""
    if len(values) < season:
        return None
    found = predict(values, season, ahead)
    if not isfinite(found):
        raise InputError("spec.forecast.predictor", found, "a predictor of finite numbers")
    return max(0, min(ceil(found - 1e-9), _MOST))


def _missed(predict: Predict, values: list[float], season: int, ahead: int) -> int | None:
    """Error on the kept samples in percent; ``None`` without a value to compare."""
    if len(values) < season + ahead:
        return None
    return min(round(100 * error(values, season, ahead, predict)), _MOST)


def with_forecast(policy: ScalingPolicy, expected: int) -> ScalingPolicy:
    """Return the policy with the expected demand, unless its demand is already larger."""
    wanted = max(policy.spec.replicas, expected)
    spec = msgspec.structs.replace(policy.spec, replicas=wanted)
    return msgspec.structs.replace(policy, spec=spec)
