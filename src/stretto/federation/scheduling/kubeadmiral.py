"""KubeAdmiral's scheduling of a workload: filter, score, select, divide.

Each stage runs the plugins of a profile in order. A cluster is rejected by the first filter that
rejects it, and later filters do not see it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np

from stretto.federation.scheduling import groups
from stretto.federation.scheduling.fleet import ClusterColumn, MemberFleet
from stretto.federation.scheduling.plugins import DEFAULT, ClusterProfile
from stretto.federation.scheduling.replicas.contract import ReplicaDivider
from stretto.federation.scheduling.replicas.kubeadmiral import kubeadmiral_division
from stretto.federation.scheduling.selectors import MAX_CLUSTER, RankedCluster, by_points
from stretto.federation.scheduling.supply import SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, HeldReplicas

GROUPS: Final = "ClusterAffinities"
"""Name used as a filter: the alternatives of an affinity exclude the cluster."""


class PlacementVerdict(Enum):
    """Result of the scheduling of a workload."""

    #: Clusters were selected.
    PLACED = "placed"
    #: A sticky workload stays in its clusters.
    UNCHANGED = "unchanged"
    #: A filter rejected each cluster.
    NO_CLUSTER_FITS = "no cluster fits"
    #: The clusters have too few values of a label.
    SPREAD_UNMET = "too few groups of clusters"
    #: ``maxClusters`` of the policy is negative.
    INVALID_LIMIT = "max clusters below 0"


@dataclass(frozen=True, slots=True)
class FederatedPlacement:
    """Placement of a workload, with reasons."""

    #: Result of the scheduling.
    verdict: PlacementVerdict
    #: Replicas by cluster; ``None`` for all replicas of the workload.
    replicas: Mapping[str, int | None]
    #: The first filter that rejected each cluster.
    filtered_by: Mapping[str, str]
    #: Sums of the scores of the feasible clusters.
    scores: Mapping[str, int]
    #: The selected clusters, best first.
    selected: tuple[str, ...] = ()
    #: Replicas beyond the capacity of their cluster, which stay pending there.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that may run in no cluster.
    unplaced: int = 0
    #: Unplaced replicas that a queue or a gang holds back; ``None`` if there are none.
    held: HeldReplicas | None = None


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
        divide: the division; ``None`` for KubeAdmiral's.
        supply: capacity of the clusters, with promises; ``None`` reads it from the fleet.
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
    """The clusters that remain after all selectors, best first, under the spread constraints."""
    ranking = by_points(tuple(RankedCluster(*each) for each in scores.items()))
    ranking = groups.within_most(workload, fleet, ranking)
    selected = ranking
    for name in profile.selectors:
        selected = profile.plugins.selectors[name](workload, selected)
    return groups.with_least(workload, fleet, ranking, selected)
