"""Replicas from metrics, and the choice between metrics."""

import pytest

from stretto.base.errors import InputError
from stretto.capacity.scaling import choice, replicas
from stretto.capacity.scaling.behavior import Bounds, Limited, Scaler, Stabilized
from stretto.capacity.scaling.replicas import INT32_MAX, MetricPod, Overflow, Tolerance

READY = [MetricPod(f"p{index}", running_ready=True, request=1000) for index in range(3)]


def test_use_above_the_target_adds_replicas() -> None:
    values = {"p0": 300, "p1": 500, "p2": 700}
    found = replicas.by_utilization(READY, values, 30, 3, Tolerance())
    assert (found.replicas, found.usage, found.utilization) == (5, 500, 50)


def test_a_pod_without_a_request_is_named() -> None:
    pods = [MetricPod("p0", running_ready=True)]
    with pytest.raises(InputError, match="pod p0"):
        replicas.by_utilization(pods, {"p0": 1}, 50, 1, Tolerance())


def test_values_need_a_ready_pod() -> None:
    pods = [MetricPod("p0", unready=True)]
    with pytest.raises(InputError, match="metrics"):
        replicas.by_average(pods, {"p0": 1}, 50, 1, Tolerance())


@pytest.mark.parametrize(
    ("overflow", "expected"), [(Overflow.CAP, INT32_MAX), (Overflow.WRAP, -INT32_MAX - 1)]
)
def test_too_many_replicas_are_capped_unless_the_original_is_selected(
    overflow: Overflow, expected: int
) -> None:
    assert Tolerance(overflow=overflow).whole(2.0**60) == expected


def test_a_failed_metric_forbids_to_scale_down() -> None:
    assert choice.choose([2, None], 3) is None
    assert choice.choose([4, None], 3) == choice.Choice(4, 0)


def test_replicas_fall_only_after_the_window() -> None:
    scaler = Scaler(Bounds(1, 50))
    steps = [scaler.step(at, 10, 3) for at in (0.0, 299.0, 601.0)]
    assert [each.replicas for each in steps] == [10, 10, 3]
    assert steps[0].stabilized is Stabilized.DOWN


def test_growth_is_limited_by_its_rate() -> None:
    step = Scaler(Bounds(1, 50)).step(0.0, 5, 40)
    assert (step.replicas, step.limited) == (10, Limited.UP_RATE)
