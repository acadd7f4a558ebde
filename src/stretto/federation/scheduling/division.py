"""The default division of a workload over the selected clusters.

It combines the planners: weights of the policy or of the free capacity, capacities without what is
promised to other workloads, equal work on different CPUs, and few moves. Replicas that fit nowhere
wait in clusters that may run them; they are reported.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.federation.planner.division.demand import (
    DivisionCluster,
    DivisionDemand,
    DivisionPlan,
)
from stretto.federation.planner.division.packing import pack
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.supply.capacity import ClusterCapacity, fitting
from stretto.federation.planner.supply.generations import (
    PerformanceMatrix,
    in_replicas,
    in_work,
)
from stretto.federation.planner.supply.weights import dynamic_weights
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.kubeadmiral import ReplicaDivider, ReplicaDivision
from stretto.federation.scheduling.workload import FederatedWorkload
from stretto.state.nodes.taints import NO_SCHEDULE, untolerated


def default_division(matrix: PerformanceMatrix | None = None) -> ReplicaDivider:
    """The default division.

    Args:
        matrix: work of one CPU by service and model; None counts all CPUs alike.
    """

    def division(workload: FederatedWorkload, clusters: Sequence[MemberCluster]) -> ReplicaDivision:
        if workload.mode is SchedulingMode.DUPLICATE:
            return ReplicaDivision({each.name: None for each in clusters})
        if not clusters or workload.replicas <= 0:
            return ReplicaDivision(
                {each.name: 0 for each in clusters if each.name in workload.current}
            )
        plan = _planned(workload, clusters, matrix)
        replicas = {name: count for name, count in plan.total().items() if count}
        return ReplicaDivision(replicas, plan.pending, plan.unplaced)

    return division


def _planned(
    workload: FederatedWorkload,
    clusters: Sequence[MemberCluster],
    matrix: PerformanceMatrix | None,
) -> DivisionPlan:
    binpacks = workload.strategy is ReplicasStrategy.BINPACK
    weights = {} if binpacks else _weights(workload, clusters)
    bounded = tuple(_bounded(workload, each, weights.get(each.name, 0)) for each in clusters)
    work = _work(workload, clusters, matrix)
    if work:
        bounded = tuple(in_work(each, work[each.name]) for each in bounded)
    current = {
        name: _as_work(workload.replicas if count is None else count, work.get(name))
        for name, count in workload.current.items()
    }
    limits = workload.limits
    demand = DivisionDemand(
        workload.replicas,
        bounded,
        current,
        workload.key,
        moves=0 if limits.avoid_disruption else None,
        keep_unschedulable=limits.keep_unschedulable,
    )
    plan = pack(demand) if binpacks else divide(demand)
    return in_replicas(plan, work) if work else plan


def _weights(workload: FederatedWorkload, clusters: Sequence[MemberCluster]) -> Mapping[str, int]:
    """Weights of the policy, else by free capacity without promises to others."""
    if workload.limits.weights:
        return workload.limits.weights
    supply = [ClusterCapacity(each.name, each.allocatable, _free(each)) for each in clusters]
    return dynamic_weights(supply, workload.request)


def _free(cluster: MemberCluster) -> dict[str, int]:
    """Free amounts less what is promised to other workloads."""
    promised = cluster.promised
    return {name: count - promised.get(name, 0) for name, count in cluster.available.items()}


def _bounded(workload: FederatedWorkload, cluster: MemberCluster, weight: int) -> DivisionCluster:
    """A cluster with all limits of the workload; with an untolerated taint it does not grow."""
    name, limits = cluster.name, workload.limits
    has = workload.current.get(name, 0)
    present = workload.replicas if has is None else has
    most = [limits.maximum.get(name), limits.limited.get(name)]
    if untolerated(cluster.taints, workload.tolerations, (NO_SCHEDULE,)):
        most.append(present)
    maximum = min((each for each in most if each is not None), default=None)
    minimum = limits.minimum.get(name, 0)
    if maximum is not None:
        minimum = min(minimum, maximum)
    fits = [_capacity(workload, cluster, present), limits.estimated.get(name)]
    capacity = min((each for each in fits if each is not None), default=None)
    return DivisionCluster(name, weight, minimum, maximum, capacity)


def _capacity(workload: FederatedWorkload, cluster: MemberCluster, present: int) -> int | None:
    """Replicas that the cluster holds: those that it reports, and those that fit beside them."""
    if not cluster.allocatable:
        return None
    more = _more(workload, cluster)
    if more is None:
        return None
    return max(0, present - workload.starting.get(cluster.name, 0)) + more


def _more(workload: FederatedWorkload, cluster: MemberCluster) -> int | None:
    """Replicas that fit beside what runs and what is promised; None if they request nothing."""
    sums = fitting(_free(cluster), workload.request)
    if sums is None or not cluster.free_nodes:
        return sums
    on_nodes = sum(fitting(each, workload.request) or 0 for each in cluster.free_nodes)
    promised = max(
        (
            -(-cluster.promised.get(name, 0) // count)
            for name, count in workload.request.items()
            if count
        ),
        default=0,
    )
    return min(sums, max(0, on_nodes - promised))


def _work(
    workload: FederatedWorkload,
    clusters: Sequence[MemberCluster],
    matrix: PerformanceMatrix | None,
) -> dict[str, Fraction | None]:
    """Work of one CPU of each cluster; empty where all CPUs count alike."""
    if matrix is None or workload.service not in matrix.rows:
        return {}
    return {
        each.name: matrix.performance(workload.service, each.cpu_models)
        if each.cpu_models
        else Fraction(1)
        for each in clusters
    }


def _as_work(count: int, work: Fraction | None) -> int:
    """Replicas in units of work, rounded down."""
    return count if work is None else int(count * work)
