"""KubeAdmiral's scheduling of a workload: filter, score, select, divide.

Each stage runs the plugins of a profile in order. Scores are summed without weights. A cluster is
rejected by the first filter that rejects it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.base.errors import UnknownNameError
from stretto.federation.planner.kubeadmiral import binpack, spread, weights
from stretto.federation.planner.kubeadmiral.demand import ReplicaDemand, ReplicaPreference
from stretto.federation.planner.kubeadmiral.weights import ClusterSupply
from stretto.federation.scheduling.filters import FILTERS
from stretto.federation.scheduling.fleet import ClusterColumn, MemberCluster, MemberFleet
from stretto.federation.scheduling.resources import CPU, GPU
from stretto.federation.scheduling.scores import SCORES
from stretto.federation.scheduling.workload import (
    FederatedWorkload,
)
from stretto.state.nodes.taints import NO_SCHEDULE, untolerated

PRIORITY_SORT: Final = "PrioritySort"
MAX_CLUSTER: Final = "MaxCluster"
SELECTORS: Final = (PRIORITY_SORT, MAX_CLUSTER)
"""Selectors: one orders by priority where there is one, one keeps the first clusters."""


@dataclass(frozen=True, slots=True)
class ClusterProfile:
    """Plugins of the stages, by name."""

    #: Filters, in order.
    filters: tuple[str, ...]
    #: Scores.
    scores: tuple[str, ...]
    #: Selectors, in order.
    selectors: tuple[str, ...] = SELECTORS

    def __post_init__(self) -> None:
        stages = (self.filters, FILTERS), (self.scores, SCORES), (self.selectors, SELECTORS)
        for names, known in stages:
            for name in names:
                if name not in known:
                    raise UnknownNameError("cluster plugin", name, sorted(known))


DEFAULT: Final = ClusterProfile(
    (
        "APIResources",
        "TaintToleration",
        "PlacementFilter",
        "ClusterAffinity",
        "ClusterReady",
        "ClusterTerminating",
        "ClusterEvicted",
    ),
    (
        "TaintToleration",
        "ClusterResourcesBalancedAllocation",
        "ClusterResourcesLeastAllocated",
        "ClusterAffinity",
    ),
)
"""KubeAdmiral's default profile."""


class PlacementVerdict(Enum):
    """How the scheduling of a workload ended."""

    #: Clusters were selected.
    PLACED = "placed"
    #: A sticky workload stays where it runs.
    UNCHANGED = "unchanged"
    #: A filter rejected each cluster.
    NO_CLUSTER_FITS = "no cluster fits"
    #: The policy limits the clusters to less than none.
    INVALID_LIMIT = "max clusters below 0"


@dataclass(frozen=True, slots=True)
class FederatedPlacement:
    """Where a workload runs, and why."""

    #: How the scheduling ended.
    verdict: PlacementVerdict
    #: Replicas by cluster; None is all replicas of the workload.
    replicas: Mapping[str, int | None]
    #: The first filter that rejected each cluster.
    filtered_by: Mapping[str, str]
    #: Sums of the scores of the feasible clusters.
    scores: Mapping[str, int]
    #: The selected clusters, best first.
    selected: tuple[str, ...] = ()
    #: Replicas beyond the capacity of their cluster; they wait there.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that no cluster may run.
    unplaced: int = 0


@dataclass(frozen=True, slots=True)
class ReplicaDivision:
    """Replicas of the selected clusters."""

    #: Replicas by cluster; None is all replicas of the workload.
    replicas: Mapping[str, int | None]
    #: Of them, those beyond the capacity of their cluster.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that no cluster may run.
    unplaced: int = 0


ReplicaDivider: TypeAlias = Callable[[FederatedWorkload, Sequence[MemberCluster]], ReplicaDivision]
"""From a workload and the selected clusters to the replicas of each."""


def schedule(
    workload: FederatedWorkload,
    fleet: MemberFleet,
    profile: ClusterProfile = DEFAULT,
    divide: ReplicaDivider | None = None,
) -> FederatedPlacement:
    """Choose clusters for ``workload`` and divide its replicas.

    Args:
        workload: the workload.
        fleet: all clusters.
        profile: the plugins.
        divide: the division; ``None`` is KubeAdmiral's.
    """
    if workload.sticky and workload.current:
        return FederatedPlacement(PlacementVerdict.UNCHANGED, dict(workload.current), {}, {})
    filtered_by = rejections(workload, fleet, profile)
    feasible = fleet.only(fleet.mask(name not in filtered_by for name in fleet.names))
    if not feasible.members:
        return FederatedPlacement(PlacementVerdict.NO_CLUSTER_FITS, {}, filtered_by, {})
    column = total_scores(workload, feasible, profile)
    scores = dict(zip(feasible.names, column.tolist(), strict=True))
    if workload.max_clusters is not None and workload.max_clusters < 0:
        return FederatedPlacement(PlacementVerdict.INVALID_LIMIT, {}, filtered_by, scores)
    selected = _selected(workload, scores, profile.selectors)
    members = {each.name: each for each in feasible.members}
    division = (divide or kubeadmiral_division)(workload, [members[name] for name in selected])
    return FederatedPlacement(
        PlacementVerdict.PLACED,
        division.replicas,
        filtered_by,
        scores,
        selected,
        division.waiting,
        division.unplaced,
    )


def rejections(
    workload: FederatedWorkload, fleet: MemberFleet, profile: ClusterProfile
) -> dict[str, str]:
    """The first filter that rejects each rejected cluster."""
    found: dict[str, str] = {}
    for name in profile.filters:
        for index in np.flatnonzero(~FILTERS[name](workload, fleet)).tolist():
            found.setdefault(fleet.names[index], name)
    return found


def total_scores(
    workload: FederatedWorkload, fleet: MemberFleet, profile: ClusterProfile
) -> ClusterColumn:
    """The sum of all scores of each cluster."""
    total = fleet.column(0 for _ in fleet.members)
    for name in profile.scores:
        total += SCORES[name].points(SCORES[name].raw(workload, fleet))
    return total


def _selected(
    workload: FederatedWorkload, scores: Mapping[str, int], selectors: Sequence[str]
) -> tuple[str, ...]:
    """The best clusters: by priority where there is one, else by score; then by name."""
    binpacks = (workload.mode, workload.strategy) == (
        SchedulingMode.DIVIDE,
        ReplicasStrategy.BINPACK,
    )
    ranks = scores
    if PRIORITY_SORT in selectors and (workload.priorities or binpacks):
        ranks = {name: workload.priorities.get(name, 0) for name in scores}
    ordered = sorted(ranks, key=lambda name: (-ranks[name], name))
    return tuple(ordered[: workload.max_clusters if MAX_CLUSTER in selectors else None])


def kubeadmiral_division(
    workload: FederatedWorkload, clusters: Sequence[MemberCluster]
) -> ReplicaDivision:
    """Divide as KubeAdmiral does: clusters that get no replicas are left out."""
    if workload.mode is SchedulingMode.DUPLICATE:
        return ReplicaDivision({each.name: None for each in clusters})
    if not clusters or workload.replicas <= 0:
        return ReplicaDivision({})
    planner = binpack if workload.strategy is ReplicasStrategy.BINPACK else spread
    total = planner.plan(_demand(workload, clusters)).total()
    return ReplicaDivision({each.name: total[each.name] for each in clusters if each.name in total})


def _demand(workload: FederatedWorkload, clusters: Sequence[MemberCluster]) -> ReplicaDemand:
    limits = workload.limits
    current = {
        name: workload.replicas if count is None else count
        for name, count in workload.current.items()
    }
    weight = limits.weights
    if not weight and workload.strategy is ReplicasStrategy.SPREAD:
        weight = _dynamic(workload, clusters)
    return ReplicaDemand(
        workload.replicas,
        tuple(_preference(workload, each, current, weight) for each in clusters),
        workload.key,
        current,
        limits.estimated,
        limits.limited,
        limits.scheduled,
        limits.avoid_disruption,
        limits.keep_unschedulable,
    )


def _preference(
    workload: FederatedWorkload,
    cluster: MemberCluster,
    current: Mapping[str, int],
    weight: Mapping[str, int],
) -> ReplicaPreference:
    """The preference for one cluster; with an untolerated NoSchedule taint it does not grow."""
    name = cluster.name
    maximum = workload.limits.maximum.get(name)
    if untolerated(cluster.taints, workload.tolerations, (NO_SCHEDULE,)):
        has = current.get(name, 0)
        maximum = has if maximum is None else min(maximum, has)
    minimum = workload.limits.minimum.get(name, 0)
    return ReplicaPreference(name, weight.get(name, 0), minimum, maximum)


def _dynamic(workload: FederatedWorkload, clusters: Sequence[MemberCluster]) -> Mapping[str, int]:
    """Weights by free GPUs if the workload requests some, else by free CPUs."""
    resource = GPU if GPU in workload.request else CPU
    supply = [
        ClusterSupply(each.name, _units(each.allocatable), _units(each.available))
        for each in clusters
    ]
    return weights.weigh(supply, resource, weights.limits(supply, resource)).weights()


def _units(amounts: Mapping[str, int]) -> dict[str, int]:
    """Amounts in whole units: CPU rounded up from thousandths."""
    return {name: -(-count // 1000) if name == CPU else count for name, count in amounts.items()}
