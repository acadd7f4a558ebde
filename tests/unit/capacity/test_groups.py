"""Scaling groups, their limits at some times, and the forecast of demand."""

from datetime import UTC, datetime

import pytest

from stretto.base.errors import InputError
from stretto.capacity.scaling import forecast, groups
from stretto.capacity.scaling.groups import CronBound, GroupRole, ScalingGroup

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
EAST = ScalingGroup("east", 2, 10, priority=1)
WEST = ScalingGroup("west", 1, 5, priority=2)
CLOUD = ScalingGroup("cloud", 0, 100, role=GroupRole.EMERGENCY)


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
    assert groups.divide([CLOUD, WEST, EAST], desired, NOON).replicas == replicas


def test_what_a_trial_cannot_place_goes_to_the_next_group() -> None:
    plan = groups.divide([EAST, WEST], 12, NOON, {"east": 4})
    assert (plan.replicas, plan.unmet) == ({"east": 4, "west": 5}, 3)


def test_replicas_of_a_gang_start_together() -> None:
    plan = groups.divide([ScalingGroup("train", 0, 11, step=4)], 5, NOON)
    assert plan.replicas == {"train": 8}


@pytest.mark.parametrize(("hour", "least"), [(11, 0), (12, 6), (13, 6), (14, 0)])
def test_limits_apply_for_a_time_after_each_tick(hour: int, least: int) -> None:
    group = ScalingGroup("web", 0, 10, bounds=(CronBound("0 12 * * *", 7200, 6, 20),))
    assert group.limits(NOON.replace(hour=hour))[0] == least


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (ScalingGroup("web", 3, 2), "least <= most"),
        (ScalingGroup("web", 0, 2, step=0), "step"),
        (ScalingGroup("web", 0, 2, bounds=(CronBound("noon", 1, 0, 1),)), "cron expression"),
    ],
)
def test_bad_limits_are_named(group: ScalingGroup, said: str) -> None:
    with pytest.raises(InputError, match=said):
        groups.divide([group], 1, NOON)


def test_the_forecast_is_the_same_phase_of_past_seasons() -> None:
    assert forecast.seasonal([1, 5, 2, 6, 9, 7], 2, 1) == 2.0
    assert forecast.error([1, 5] * 4, 2, 1) == 0.0


def test_a_short_history_has_no_forecast() -> None:
    with pytest.raises(InputError, match="season"):
        forecast.seasonal([1.0], 2, 1)
