"""The default division in the controllers: capacity, promises, CPU generations, few moves."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from stretto.api.types.federation.policies import ReplicasStrategy
from stretto.federation.planner.supply.generations import PerformanceMatrix
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.replicas.contract import ReplicaDivision
from stretto.federation.scheduling.replicas.default import default_division
from stretto.federation.scheduling.supply import SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, ReplicaLimits

CPU = {"cpu": 1000}


def cluster(name: str, free: int, *, promised: int = 0, model: str = "") -> MemberCluster:
    """A cluster of 10 CPUs, some of which are free."""
    models = {model: 10_000} if model else {}
    return MemberCluster(
        name,
        allocatable={"cpu": 10_000},
        available={"cpu": 1000 * free},
        promised={"cpu": 1000 * promised},
        cpu_models=models,
    )


def division(
    workload: FederatedWorkload, *clusters: MemberCluster, matrix: PerformanceMatrix | None = None
) -> ReplicaDivision:
    return default_division(matrix)(workload, SupplyTable(clusters), np.arange(len(clusters)))


def divided(workload: FederatedWorkload, *clusters: MemberCluster) -> Mapping[str, int | None]:
    return division(workload, *clusters).replicas


def test_weights_follow_what_is_free_and_not_promised() -> None:
    workload = FederatedWorkload("web", 6, request=CPU)
    found = divided(workload, cluster("a", 8, promised=8), cluster("b", 8))
    assert found == {"b": 6}


def test_replicas_that_run_stay_in_a_full_cluster() -> None:
    workload = FederatedWorkload("web", 6, request=CPU, current={"a": 6})
    assert divided(workload, cluster("a", 0), cluster("b", 8)) == {"a": 6}


def test_replicas_that_fit_nowhere_wait_and_are_reported() -> None:
    workload = FederatedWorkload("web", 20, request=CPU)
    found = division(workload, cluster("a", 8), cluster("b", 8))
    assert sum(found.waiting.values()) == 4


def test_replicas_that_no_cluster_may_run_are_unplaced() -> None:
    limits = ReplicaLimits(maximum={"a": 3}, weights={"a": 1})
    found = division(FederatedWorkload("web", 5, limits=limits), cluster("a", 8))
    assert (found.replicas, found.unplaced) == ({"a": 3}, 2)


def test_a_slow_generation_gets_more_replicas_for_the_same_work() -> None:
    matrix = PerformanceMatrix.read({"search": {"old": 0.5, "new": 1.0}})
    workload = FederatedWorkload(
        "s", 8, service="search", limits=ReplicaLimits(weights={"a": 1, "b": 1})
    )
    fleet = cluster("a", 10, model="old"), cluster("b", 10, model="new")
    assert division(workload, *fleet, matrix=matrix).replicas == {"a": 8, "b": 4}


def test_packing_fills_the_first_cluster() -> None:
    workload = FederatedWorkload("b", 9, strategy=ReplicasStrategy.BINPACK, request=CPU)
    assert divided(workload, cluster("a", 8), cluster("b", 8)) == {"a": 8, "b": 1}


def test_packing_leaves_running_replicas_where_they_are() -> None:
    workload = FederatedWorkload(
        "b", 4, strategy=ReplicasStrategy.BINPACK, request=CPU, current={"b": 5}
    )
    assert divided(workload, cluster("a", 8), cluster("b", 3)) == {"b": 4}


def test_a_workload_scaled_to_zero_stays_in_its_clusters() -> None:
    workload = FederatedWorkload("web", 0, request=CPU, current={"a": 5})
    assert divided(workload, cluster("a", 8), cluster("b", 8)) == {"a": 0}


def test_capacity_in_small_parts_on_many_nodes_does_not_count() -> None:
    parts = tuple({"cpu": 400} for _ in range(20))
    scattered = replace(cluster("a", 8), free_nodes=parts)
    found = divided(FederatedWorkload("web", 4, request=CPU), scattered, cluster("b", 8))
    assert found == {"b": 4}
