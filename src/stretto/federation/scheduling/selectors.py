"""Selectors: the feasible clusters that a workload uses, with KubeAdmiral's names."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.federation.scheduling.workload import FederatedWorkload


class RankedCluster(NamedTuple):
    """A feasible cluster with its points."""

    #: Name.
    name: str
    #: Sum of the scores, or the priority that replaces it.
    points: int


Ranking: TypeAlias = tuple[RankedCluster, ...]
"""Clusters, best first."""

ClusterSelector: TypeAlias = Callable[[FederatedWorkload, Ranking], Ranking]
"""Function from a workload and the feasible clusters to the clusters that it uses."""

PRIORITY_SORT: Final = "PrioritySort"
MAX_CLUSTER: Final = "MaxCluster"


def by_points(clusters: Ranking) -> Ranking:
    """The clusters by points, then by name."""
    return tuple(sorted(clusters, key=lambda each: (-each.points, each.name)))


def prioritized(workload: FederatedWorkload, clusters: Ranking) -> Ranking:
    """The clusters by priority if any has one or replicas are packed, else by score."""
    packs = (workload.mode, workload.strategy) == (SchedulingMode.DIVIDE, ReplicasStrategy.BINPACK)
    if workload.priorities or packs:
        priorities = workload.priorities
        clusters = tuple(RankedCluster(x.name, priorities.get(x.name, 0)) for x in clusters)
    return by_points(clusters)


def limited(workload: FederatedWorkload, clusters: Ranking) -> Ranking:
    """The best clusters, up to the limit of the policy."""
    return by_points(clusters)[: workload.max_clusters]


SELECTORS: Final[Mapping[str, ClusterSelector]] = {
    PRIORITY_SORT: prioritized,
    MAX_CLUSTER: limited,
}
"""Selectors by name."""
