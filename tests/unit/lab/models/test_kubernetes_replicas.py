"""Kubernetes' replicas from one value of a whole workload."""

import pytest

from stretto.base.errors import InputError
from stretto.capacity.scaling.replicas import MetricPod, Tolerance
from stretto_lab.models.kubernetes.replicas import by_value, by_value_per_pod

READY = [MetricPod(f"p{index}", running_ready=True) for index in range(3)]


def test_a_value_twice_the_target_doubles_the_ready_pods() -> None:
    assert by_value(READY, 200, 100, 3, Tolerance()).replicas == 6


def test_a_value_needs_a_pod() -> None:
    with pytest.raises(InputError, match="pods"):
        by_value([], 200, 100, 3, Tolerance())


def test_a_value_is_divided_by_the_target_of_a_pod() -> None:
    found = by_value_per_pod(900, 100, 3, Tolerance())
    assert (found.replicas, found.usage) == (9, 300)
