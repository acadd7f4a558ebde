"""KubeAdmiral's divisions of replicas: by weight, or one cluster after the other."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.federation.planner.kubeadmiral import binpack, spread, weights
from stretto.federation.planner.kubeadmiral.demand import ReplicaDemand, ReplicaPreference
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.replicas.contract import ReplicaDivider, ReplicaDivision
from stretto.federation.scheduling.resources import CPU, GPU
from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload


def kubeadmiral_division(
    workload: FederatedWorkload, supply: SupplyTable, at: Positions
) -> ReplicaDivision:
    """Divide like KubeAdmiral; clusters without replicas are omitted."""
    clusters = [supply.members[each] for each in at.tolist()]
    if workload.mode is SchedulingMode.DUPLICATE:
        return ReplicaDivision({each.name: None for each in clusters})
    if not clusters or workload.replicas <= 0:
        return ReplicaDivision({})
    planner = binpack if workload.strategy is ReplicasStrategy.BINPACK else spread
    closed = {
        clusters[x].name for x in np.flatnonzero(supply.closed(at, workload.tolerations)).tolist()
    }
    total = planner.plan(_demand(workload, clusters, closed)).total()
    return ReplicaDivision({each.name: total[each.name] for each in clusters if each.name in total})


def _demand(
    workload: FederatedWorkload, clusters: Sequence[MemberCluster], closed: Collection[str]
) -> ReplicaDemand:
    """The demand; clusters in ``closed`` have a taint that excludes new replicas."""
    limits = workload.limits
    current = {
        name: workload.replicas if count is None else count
        for name, count in workload.current.items()
    }
    weight = limits.weights
    if not weight and workload.strategy is ReplicasStrategy.SPREAD:
        weight = _dynamic(workload, clusters)
    # A cluster with an untolerated NoSchedule taint does not grow.
    maximum = dict(limits.maximum)
    for name in closed:
        maximum[name] = min(current.get(name, 0), maximum.get(name, sys.maxsize))
    return ReplicaDemand(
        workload.replicas,
        tuple(
            ReplicaPreference(
                name, weight.get(name, 0), limits.minimum.get(name, 0), maximum.get(name)
            )
            for name in (each.name for each in clusters)
        ),
        workload.key,
        current,
        limits.estimated,
        limits.limited,
        limits.scheduled,
        limits.avoid_disruption,
        limits.keep_unschedulable,
    )


def _dynamic(workload: FederatedWorkload, clusters: Sequence[MemberCluster]) -> Mapping[str, int]:
    """Weights by free GPUs if the workload requests some, else by free CPUs."""
    resource = GPU if GPU in workload.request else CPU
    supply = [
        weights.ClusterSupply(each.name, _units(each.allocatable), _units(each.available))
        for each in clusters
    ]
    return weights.weigh(supply, resource, weights.limits(supply, resource)).weights()


def _units(amounts: Mapping[str, int]) -> dict[str, int]:
    """Amounts in whole units: CPU rounded up from thousandths."""
    return {name: -(-count // 1000) if name == CPU else count for name, count in amounts.items()}


def _always(strategy: ReplicasStrategy) -> ReplicaDivider:
    """The division of one strategy, independent of the policy."""

    def division(
        workload: FederatedWorkload, supply: SupplyTable, at: Positions
    ) -> ReplicaDivision:
        made = kubeadmiral_division(replace(workload, strategy=strategy), supply, at)
        if workload.mode is SchedulingMode.DUPLICATE:
            return made
        placed = sum(count or 0 for count in made.replicas.values())
        return replace(made, unplaced=max(0, workload.replicas - placed))

    return division


DIVIDERS: Final[Mapping[str, ReplicaDivider]] = {
    "ClusterCapacityWeight": _always(ReplicasStrategy.SPREAD),
    "PreferenceBinPack": _always(ReplicasStrategy.BINPACK),
}
"""Divisions by name."""
