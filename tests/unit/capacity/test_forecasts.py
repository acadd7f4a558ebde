"""Forecasts of ScalingPolicies: they are published first, and used where the policy says so."""

import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest

from stretto.api.types.capacity.scaling import (
    ScaleStrategy,
    ScalingForecast,
    ScalingForecastStatus,
    ScalingGroupSpec,
    ScalingPolicy,
    ScalingSpec,
    ScalingStatus,
    ScalingTarget,
)
from stretto.api.validation import validate
from stretto.api.wire.meta import ObjectMeta
from stretto.base import extensions
from stretto.base.clock import timestamp
from stretto.base.errors import InputError, UnknownNameError
from stretto.capacity.scaling import forecast
from stretto.capacity.scaling.forecast import GROUP, PREDICTORS, Predictor
from stretto.capacity.scaling.preview import look
from stretto.explain.inventory.catalog import policy_rows
from tests.unit.capacity.test_scaling_controller import ScaledCluster, group

NOW = 1_000_000.0
RULES = ScalingForecast(season_seconds=60, ahead_seconds=20, sample_seconds=20)


def policy(replicas: int, *samples: int, age: float = 20.0, **rules: Any) -> ScalingPolicy:
    known = ScalingForecastStatus(sampled_time=timestamp(NOW - age), samples=samples)
    spec = ScalingSpec(
        (ScalingGroupSpec("one", ScalingTarget("Deployment", "web"), 9),),
        replicas,
        forecast=ScalingForecast(**rules) if rules else RULES,
    )
    status = ScalingStatus(forecast=known if samples else None)
    return ScalingPolicy(ObjectMeta(name="web"), spec, status)


def test_the_first_read_takes_a_sample_and_expects_nothing() -> None:
    status, wait = look(policy(4), RULES, NOW)
    assert (status.samples, status.replicas, wait) == ((4,), None, 20.0)


def test_a_season_gives_the_expected_replicas() -> None:
    status, _ = look(policy(3, 1, 9, 3, 1, 9), RULES, NOW)
    assert (status.samples, status.replicas) == ((1, 9, 3, 1, 9, 3), 1)


def test_the_error_of_past_forecasts_is_reported() -> None:
    status, _ = look(policy(3, 1, 9, 3, 1, 9), RULES, NOW)
    assert status.error_percent == 0


def test_between_two_samples_nothing_changes() -> None:
    before = policy(7, 1, 9, 3, age=5.0)
    status, wait = look(before, RULES, NOW)
    assert (status, wait) == (before.status.forecast, 15.0)


def test_a_pause_is_filled_with_the_value_of_now() -> None:
    status, _ = look(policy(5, 1, age=65.0), RULES, NOW)
    assert status.samples == (1, 5, 5, 5)


def test_a_clock_that_went_back_takes_no_sample() -> None:
    status, _ = look(policy(5, 1, age=-100.0), RULES, NOW)
    assert status.samples == (1,)


def test_samples_of_more_than_three_seasons_are_dropped() -> None:
    status, _ = look(policy(2, *[1] * 50), RULES, NOW)
    assert len(status.samples) == 3 * 3 + 1


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a predictor, and one that is broken."""
    twice = Predictor(lambda values, *_: 2 * values[-1], "Twice the last value.")
    monkeypatch.setitem(sys.modules, "twice_package", SimpleNamespace(TWICE=twice))
    entries = [
        EntryPoint("example.com/twice", "twice_package:TWICE", GROUP),
        EntryPoint("example.com/gone", "no_such_module:X", GROUP),
    ]
    monkeypatch.setattr(extensions, "entry_points", lambda group: entries if group == GROUP else [])


@pytest.mark.usefixtures("installed")
def test_a_predictor_of_a_package_is_found_by_its_name() -> None:
    rules = ScalingForecast("example.com/twice", season_seconds=20, sample_seconds=20)
    status, _ = look(policy(4, 1, 2), rules, NOW)
    assert status.replicas == 8


@pytest.mark.usefixtures("installed")
def test_a_package_that_cannot_be_loaded_is_named_and_hides_no_other_predictor() -> None:
    found = {each.name: each.sentence for each in policy_rows().items if each.kind == "forecast"}
    assert found["example.com/twice"] == "Twice the last value."
    assert "no_such_module" in found["example.com/gone"]
    with pytest.raises(InputError, match=r"example\.com/gone"):
        look(policy(1), ScalingForecast("example.com/gone"), NOW)


def test_an_unknown_predictor_is_named_with_the_nearest() -> None:
    rules = ScalingForecast(predictor="sesonal")
    with pytest.raises(UnknownNameError, match="seasonal"):
        look(policy(1), rules, NOW)


def test_a_predictor_without_a_finite_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Predictor(lambda *_: float("nan"), "none")
    monkeypatch.setattr(PREDICTORS, "get", lambda _: broken)
    with pytest.raises(InputError, match="finite"):
        look(policy(1, 1, 2, 3), RULES, NOW)


def test_the_shifted_forecast_follows_a_level_that_moved() -> None:
    values = [1.0, 2.0] * 10 + [11.0, 12.0] * 8
    assert forecast.shifted(values, 2, 1) == pytest.approx(11.0, abs=1)
    assert forecast.last(values, 2, 1) == 12.0


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        ({"season_seconds": 50, "sample_seconds": 20, "ahead_seconds": 20}, "seasonSeconds"),
        ({"season_seconds": 60, "sample_seconds": 20, "ahead_seconds": 30}, "aheadSeconds"),
        ({"sample_seconds": 1}, "sampleSeconds"),
        ({"season_seconds": 604_800}, "seasonSeconds"),
        ({"predictor": ""}, "predictor"),
    ],
)
def test_a_wrong_field_of_the_forecast_is_named(rules: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        validate(policy(1, **rules))


@pytest.fixture
def cluster() -> ScaledCluster:
    return ScaledCluster()


def demand(cluster: ScaledCluster, *days: int) -> None:
    """Seasons of three samples: many replicas, then few twice."""
    for most in days:
        for replicas in (most, 1, 1):
            cluster.want(replicas)
            cluster.run(20.0)


def forecasting(cluster: ScaledCluster, strategy: ScaleStrategy) -> None:
    rules = {"strategy": strategy, "sampleSeconds": 20, "seasonSeconds": 60, "aheadSeconds": 20}
    cluster.policy(1, group("west", 8), forecast=rules)
    demand(cluster, 6, 6, 6)


def test_a_preview_publishes_what_the_forecast_would_do(cluster: ScaledCluster) -> None:
    forecasting(cluster, ScaleStrategy.PREVIEW)
    found = cluster.status()["forecast"]
    assert (found["replicas"], found["groups"]) == (6, [{"name": "west", "replicas": 6}])
    assert cluster.replicas()["web-west"] == 1


def test_replicas_follow_a_forecast_that_is_used(cluster: ScaledCluster) -> None:
    forecasting(cluster, ScaleStrategy.AUTO)
    assert cluster.replicas()["web-west"] == 6


def test_samples_survive_a_restart(cluster: ScaledCluster) -> None:
    forecasting(cluster, ScaleStrategy.PREVIEW)
    before = len(cluster.status()["forecast"]["samples"])
    cluster.start()
    cluster.run(20.0)
    assert len(cluster.status()["forecast"]["samples"]) >= before


def test_a_policy_in_preview_divides_and_changes_nothing(cluster: ScaledCluster) -> None:
    cluster.policy(5, group("west", 8), scaleStrategy="Preview")
    cluster.run()
    assert cluster.replicas()["web-west"] == 0
    status = cluster.status()
    assert (status["groups"][0]["replicas"], status["replicas"]) == (5, 0)


def test_a_forecast_that_is_removed_leaves_the_status(cluster: ScaledCluster) -> None:
    forecasting(cluster, ScaleStrategy.PREVIEW)
    cluster.patch({"spec": {"forecast": None}})
    cluster.run(20.0)
    assert "forecast" not in cluster.status()


def test_an_unknown_predictor_stands_in_the_condition(cluster: ScaledCluster) -> None:
    cluster.policy(2, group("west", 8), forecast={"predictor": "example.com/none"})
    cluster.run()
    assert "example.com/none" in cluster.status()["conditions"][0]["message"]
