"""Weights from free capacity, and generations of CPUs."""

from fractions import Fraction

import pytest

from stretto.base.errors import InputError
from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.supply.capacity import fitting
from stretto.federation.planner.supply.generations import (
    PerformanceMatrix,
    in_replicas,
    in_work,
)
from stretto.federation.planner.supply.weights import weighed_request, weights_of


def test_weights_follow_the_free_capacity() -> None:
    assert weights_of([30, 60, 60], [100, 100, 100]) == [200_000, 400_000, 400_000]


def test_a_small_empty_cluster_is_limited_by_its_size() -> None:
    small, large = weights_of([10, 2], [10, 90])
    assert small / (small + large) == pytest.approx(0.14 / (0.14 + 1 / 6), 1e-5)


def test_many_equal_clusters_have_equal_weights() -> None:
    assert set(weights_of([50] * 700, [100] * 700)) == {1429}


def test_a_full_cluster_has_no_weight_and_a_tiny_one_keeps_some() -> None:
    full, tiny, _ = weights_of([0, 1, 9_000_000], [100, 1, 9_000_000])
    assert (full, tiny) == (0, 1)


def test_without_free_capacity_weights_follow_the_size() -> None:
    assert weights_of([0, 0], [100, 300]) == [250_000, 750_000]


def test_without_any_capacity_weights_are_equal() -> None:
    assert weights_of([0, 0], [0, 0]) == [1, 1]


def test_a_workload_that_requests_nothing_is_weighed_by_free_cpu() -> None:
    assert [weighed_request({}), weighed_request({"gpu": 0})] == [{"cpu": 1}, {"cpu": 1}]
    assert weighed_request({"gpu": 1}) == {"gpu": 1}


def test_the_scarcest_requested_resource_decides() -> None:
    assert fitting({"cpu": 50_000, "memory": 10}, {"cpu": 1000, "memory": 1}) == 10


def test_amounts_below_zero_fit_nothing() -> None:
    assert fitting({"cpu": -5}, {"cpu": 1000}) == 0


def test_replicas_that_request_nothing_have_no_capacity() -> None:
    assert fitting({"cpu": 5}, {"cpu": 0}) is None


MATRIX = PerformanceMatrix.read(
    {"search": {"old": 0.56, "new": "1.0"}, "ml": {"old": "N/A", "new": 1}}
)


def test_the_performance_of_a_cluster_is_the_mean_of_its_cpus() -> None:
    assert MATRIX.performance("search", {"old": 1000, "new": 1000}) == Fraction(78, 100)


def test_cpus_on_which_a_service_cannot_run_do_not_count() -> None:
    assert MATRIX.performance("ml", {"old": 3000, "new": 1000}) == 1
    assert MATRIX.performance("ml", {"old": 3000}) is None


def test_an_unknown_service_runs_everywhere_as_on_the_reference() -> None:
    assert MATRIX.performance("other", {"old": 1}) == 1


def test_slower_clusters_get_more_replicas_for_equal_work() -> None:
    performance = {"old": Fraction(56, 100), "new": Fraction(1)}
    clusters = tuple(in_work(DivisionCluster(name), each) for name, each in performance.items())
    plan = in_replicas(divide(DivisionDemand(28, clusters)), performance)
    assert plan.placed == {"new": 14, "old": 25}


def test_replicas_for_work_stay_within_the_capacity() -> None:
    performance = {"old": Fraction(56, 100)}
    limited = in_work(DivisionCluster("old", capacity=9, maximum=12), performance["old"])
    plan = in_replicas(divide(DivisionDemand(50, (limited,))), performance)
    assert (plan.placed["old"], plan.total()["old"] <= 12) == (9, True)


def test_a_cluster_on_which_a_service_cannot_run_takes_nothing() -> None:
    clusters = (in_work(DivisionCluster("old", minimum=3), None), DivisionCluster("new"))
    assert divide(DivisionDemand(5, clusters)).placed == {"new": 5, "old": 0}


@pytest.mark.parametrize("entry", [0, -1, "fast", None])
def test_a_bad_entry_of_the_matrix_is_named(entry: object) -> None:
    with pytest.raises(InputError, match=r"search\.old: got"):
        PerformanceMatrix.read({"search": {"old": entry}})
