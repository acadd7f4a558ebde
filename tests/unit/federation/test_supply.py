"""Weights from free capacity, promises, and generations of CPUs."""

from fractions import Fraction

import pytest

from stretto.base.errors import InputError
from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.supply.capacity import (
    CapacityPromise,
    ClusterCapacity,
    Promises,
    fitting,
)
from stretto.federation.planner.supply.generations import (
    PerformanceMatrix,
    in_replicas,
    in_work,
)
from stretto.federation.planner.supply.weights import dynamic_weights

CORE = {"cpu": 1000}


def cluster(name: str, free: int, size: int = 100, memory: int = 10**6) -> ClusterCapacity:
    offers = {"cpu": size * 1000, "memory": memory}
    return ClusterCapacity(name, offers, {"cpu": free * 1000, "memory": memory})


def test_weights_follow_the_free_capacity() -> None:
    weights = dynamic_weights([cluster("a", 30), cluster("b", 60), cluster("c", 60)], CORE)
    assert weights == {"a": 200_000, "b": 400_000, "c": 400_000}


def test_a_small_empty_cluster_is_limited_by_its_size() -> None:
    weights = dynamic_weights([cluster("small", 10, 10), cluster("large", 2, 90)], CORE)
    assert weights["small"] / sum(weights.values()) == pytest.approx(0.14 / (0.14 + 1 / 6), 1e-5)


def test_the_scarcest_requested_resource_decides() -> None:
    both = {"cpu": 1000, "memory": 1}
    weights = dynamic_weights([cluster("a", 50, memory=10), cluster("b", 50)], both)
    assert weights == dynamic_weights([cluster("a", 10, 10), cluster("b", 50)], CORE)


def test_many_equal_clusters_have_equal_weights() -> None:
    weights = dynamic_weights([cluster(f"c{n}", 50) for n in range(700)], CORE)
    assert set(weights.values()) == {1429}


def test_a_full_cluster_has_no_weight_and_a_tiny_one_keeps_some() -> None:
    clusters = [cluster("full", 0), cluster("tiny", 1, 1), cluster("large", 9_000_000, 9_000_000)]
    weights = dynamic_weights(clusters, CORE)
    assert (weights["full"], weights["tiny"]) == (0, 1)


def test_without_free_capacity_weights_follow_the_size() -> None:
    weights = dynamic_weights([cluster("a", 0, 100), cluster("b", -5, 300)], CORE)
    assert weights == {"a": 250_000, "b": 750_000}


def test_without_any_capacity_weights_are_equal() -> None:
    assert dynamic_weights([cluster("a", 0, 0), cluster("b", 0, 0)], CORE) == {"a": 1, "b": 1}


def test_a_workload_that_requests_nothing_is_weighed_by_free_cpu() -> None:
    weights = dynamic_weights([cluster("a", 40), cluster("b", 60)], {})
    assert weights == {"a": 400_000, "b": 600_000}


def test_replicas_that_request_nothing_have_no_capacity() -> None:
    assert fitting({"cpu": 5}, {"cpu": 0}) is None


def test_promises_are_deducted_until_the_cluster_reports_the_pods() -> None:
    promises = Promises().made("web", {"a": 10, "b": 0}, CORE)
    (less,) = promises.deducted((cluster("a", 30),))
    assert less.available["cpu"] == 20_000
    (left,) = promises.reported("web", "a", 4).deducted((cluster("a", 26),))
    assert left.available["cpu"] == 20_000
    assert promises.reported("web", "a", 10).all == promises.without("web").all == ()


def test_a_new_plan_replaces_the_promises_of_its_workload() -> None:
    promises = Promises().made("web", {"a": 10}, CORE).made("web", {"a": 3}, CORE)
    assert [each.replicas for each in promises.all] == [3]


def test_a_negative_promise_is_refused() -> None:
    with pytest.raises(InputError, match="web: promised replicas: got -1"):
        CapacityPromise("web", "a", -1)


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
