"""The division of replicas among groups, their limits at some times, and the forecast of demand."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.types.capacity.scaling import (
    ScalingBound,
    ScalingGroupRole,
    ScalingGroupSpec,
    ScalingSpec,
    ScalingTarget,
)
from stretto.base.errors import InputError
from stretto.capacity.scaling import forecast
from stretto.capacity.scaling.groups import divide, limits_at

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def group(name: str, least: int, most: int, priority: int = 0, step: int = 1) -> ScalingGroupSpec:
    target = ScalingTarget("Deployment", name)
    return ScalingGroupSpec(name, target, most, least, priority, step=step)


EAST = group("east", 2, 10, priority=1)
WEST = group("west", 1, 5, priority=2)
CLOUD = ScalingGroupSpec(
    "cloud", ScalingTarget("Deployment", "cloud"), 100, role=ScalingGroupRole.EMERGENCY
)


@pytest.mark.parametrize(
    ("desired", "replicas"),
    [
        (0, {"east": 2, "west": 1, "cloud": 0}),
        (8, {"east": 7, "west": 1, "cloud": 0}),
        (14, {"east": 10, "west": 4, "cloud": 0}),
        (20, {"east": 10, "west": 5, "cloud": 5}),
    ],
)
def test_groups_fill_in_order_and_the_emergency_pool_last(
    desired: int, replicas: dict[str, int]
) -> None:
    assert divide(ScalingSpec((CLOUD, WEST, EAST), desired), NOON).replicas == replicas


def test_what_a_trial_cannot_place_goes_to_the_next_group() -> None:
    plan = divide(ScalingSpec((EAST, WEST), 12), NOON, {"east": 4})
    assert (plan.replicas, plan.unmet) == ({"east": 4, "west": 5}, 3)


def test_a_quota_bounds_the_whole_service() -> None:
    assert divide(ScalingSpec((EAST,), 9, quota=4), NOON).replicas == {"east": 4}


def test_replicas_of_a_gang_start_together() -> None:
    assert divide(ScalingSpec((group("train", 0, 11, step=4),), 5), NOON).replicas == {"train": 8}


@pytest.mark.parametrize(("hour", "least"), [(11, 0), (12, 6), (13, 6), (14, 0)])
def test_limits_apply_for_a_time_after_each_tick(hour: int, least: int) -> None:
    bound = ScalingBound("0 12 * * *", 7200, 6, 20)
    bounded = ScalingGroupSpec("web", ScalingTarget("Deployment", "web"), 10, bounds=(bound,))
    assert limits_at(bounded, NOON.replace(hour=hour))[0] == least


def test_a_cron_expression_that_is_none_is_named() -> None:
    bound = ScalingBound("noon", 1, 0, 1)
    bounded = ScalingGroupSpec("web", ScalingTarget("Deployment", "web"), 2, bounds=(bound,))
    with pytest.raises(InputError, match="cron expression"):
        divide(ScalingSpec((bounded,), 1), NOON)


@pytest.mark.parametrize(("least", "most", "step"), [(3, 2, 1), (0, 2, 0)])
def test_bad_limits_are_named(least: int, most: int, step: int) -> None:
    with pytest.raises(InputError, match="group web"):
        divide(ScalingSpec((group("web", least, most, step=step),), 1), NOON)


GROUPS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 20), st.integers(-2, 2)), min_size=1, max_size=5
)


@given(GROUPS, st.integers(0, 60), st.integers(0, 60))
def test_more_demand_never_takes_a_replica_from_a_group(
    limits: list[tuple[int, int, int]], one: int, other: int
) -> None:
    groups = tuple(
        group(f"g{number}", least, least + more, priority)
        for number, (least, more, priority) in enumerate(limits)
    )
    low, high = (divide(ScalingSpec(groups, each), NOON) for each in sorted((one, other)))
    assert all(low.replicas[name] <= high.replicas[name] for name in low.replicas)
    assert sum(high.replicas.values()) + high.unmet >= max(one, other)


def test_the_forecast_is_the_same_phase_of_past_seasons() -> None:
    assert forecast.seasonal([1, 5, 2, 6, 9, 7], 2, 1) == 2.0
    assert forecast.error([1, 5] * 4, 2, 1) == 0.0


def test_a_short_history_has_no_forecast() -> None:
    with pytest.raises(InputError, match="season"):
        forecast.seasonal([1.0], 2, 1)


def test_a_whole_step_does_not_exceed_what_fits() -> None:
    spec = ScalingSpec((group("east", 1, 8, step=4),), 10)
    assert divide(spec, NOON, {"east": 3}).replicas == {"east": 0}
