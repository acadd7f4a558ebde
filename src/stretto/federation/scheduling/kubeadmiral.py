"""KubeAdmiral's scheduling of a workload: filter, score, select, divide.

Each stage runs the plugins of a profile in order. A cluster is rejected by the first filter that
rejects it, and later filters do not see it.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.federation.planner.kubeadmiral import binpack, spread, weights
from stretto.federation.planner.kubeadmiral.demand import ReplicaDemand, ReplicaPreference
from stretto.federation.scheduling import groups
from stretto.federation.scheduling.fleet import ClusterColumn, MemberCluster, MemberFleet
from stretto.federation.scheduling.plugins import DEFAULT, ClusterProfile
from stretto.federation.scheduling.resources import CPU, GPU
from stretto.federation.scheduling.selectors import MAX_CLUSTER, RankedCluster, by_points
from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, HeldReplicas

GROUPS: Final = "ClusterAffinities"
"""What rejects a cluster that the filters accept and the alternatives of an affinity do not."""


class PlacementVerdict(Enum):
    """How the scheduling of a workload ended."""

    #: Clusters were selected.
    PLACED = "placed"
    #: A sticky workload stays where it runs.
    UNCHANGED = "unchanged"
    #: A filter rejected each cluster.
    NO_CLUSTER_FITS = "no cluster fits"
    #: The clusters have too few values of a label.
    SPREAD_UNMET = "too few groups of clusters"
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
    #: Those of them that a queue or a gang holds back; None for none.
    held: HeldReplicas | None = None


@dataclass(frozen=True, slots=True)
class ReplicaDivision:
    """Replicas of the selected clusters."""

    #: Replicas by cluster; None is all replicas of the workload.
    replicas: Mapping[str, int | None]
    #: Of them, those beyond the capacity of their cluster.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that no cluster may run.
    unplaced: int = 0
    #: Those of them that a queue or a gang holds back; None for none.
    held: HeldReplicas | None = None


ReplicaDivider: TypeAlias = Callable[[FederatedWorkload, SupplyTable, Positions], ReplicaDivision]
"""From a workload, all clusters and the positions of the selected ones to the replicas of each."""


def schedule(
    workload: FederatedWorkload,
    fleet: MemberFleet,
    profile: ClusterProfile = DEFAULT,
    divide: ReplicaDivider | None = None,
    supply: SupplyTable | None = None,
) -> FederatedPlacement:
    """Choose clusters for ``workload`` and divide its replicas.

    Args:
        workload: the workload.
        fleet: all clusters.
        profile: the plugins.
        divide: the division; ``None`` is KubeAdmiral's.
        supply: what the clusters offer, with promises; ``None`` reads it from the fleet.
    """
    if workload.sticky and workload.current:
        return FederatedPlacement(PlacementVerdict.UNCHANGED, dict(workload.current), {}, {})
    filtered_by = rejections(workload, fleet, profile)
    feasible = fleet.only(fleet.mask(name not in filtered_by for name in fleet.names))
    filtered_by |= dict.fromkeys(feasible.names, GROUPS)
    feasible = groups.first_group(workload, feasible)
    for name in feasible.names:
        del filtered_by[name]
    if not feasible.members:
        return FederatedPlacement(PlacementVerdict.NO_CLUSTER_FITS, {}, filtered_by, {})
    column = total_scores(workload, feasible, profile)
    scores = dict(zip(feasible.names, column.tolist(), strict=True))
    limit = workload.max_clusters if MAX_CLUSTER in profile.selectors else None
    if limit is not None and limit < 0:
        return FederatedPlacement(PlacementVerdict.INVALID_LIMIT, {}, filtered_by, scores)
    choice = _selected(workload, feasible, scores, profile)
    if choice.unmet:
        return FederatedPlacement(PlacementVerdict.SPREAD_UNMET, {}, filtered_by, scores)
    selected = tuple(each.name for each in choice.ranking)
    supply = supply or SupplyTable(fleet.members)
    at = np.array([supply.position[name] for name in selected], np.int64)
    division = (divide or kubeadmiral_division)(workload, supply, at)
    return FederatedPlacement(
        PlacementVerdict.PLACED,
        division.replicas,
        filtered_by,
        scores,
        selected,
        division.waiting,
        division.unplaced,
        division.held,
    )


def rejections(
    workload: FederatedWorkload, fleet: MemberFleet, profile: ClusterProfile
) -> dict[str, str]:
    """The first filter that rejects each rejected cluster."""
    found: dict[str, str] = {}
    for name in profile.filters:
        kept = profile.plugins.filters[name](workload, fleet)
        if not kept.all():
            found |= {fleet.names[index]: name for index in np.flatnonzero(~kept).tolist()}
            fleet = fleet.only(kept)
    return found


def total_scores(
    workload: FederatedWorkload, fleet: MemberFleet, profile: ClusterProfile
) -> ClusterColumn:
    """The weighted sum of all scores of each cluster."""
    total = fleet.column(0 for _ in fleet.members)
    for name in profile.scores:
        score = profile.plugins.scores[name]
        total += profile.weights.get(name, 1) * score.points(score.raw(workload, fleet))
    return total


def _selected(
    workload: FederatedWorkload,
    fleet: MemberFleet,
    scores: Mapping[str, int],
    profile: ClusterProfile,
) -> groups.SpreadChoice:
    """The clusters that remain after all selectors, best first, spread as the workload wants."""
    ranking = by_points(tuple(RankedCluster(*each) for each in scores.items()))
    ranking = groups.within_most(workload, fleet, ranking)
    selected = ranking
    for name in profile.selectors:
        selected = profile.plugins.selectors[name](workload, selected)
    return groups.with_least(workload, fleet, ranking, selected)


def kubeadmiral_division(
    workload: FederatedWorkload, supply: SupplyTable, at: Positions
) -> ReplicaDivision:
    """Divide as KubeAdmiral does: clusters that get no replicas are left out."""
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
    """The demand; clusters in ``closed`` have a taint that lets no new replicas in."""
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
