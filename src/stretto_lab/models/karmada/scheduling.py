"""Karmada's scheduling of a workload: filter, score, select, assign."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE, untolerated
from stretto_lab.models.karmada import assignment, estimate, spreading
from stretto_lab.models.karmada.assignment import (
    AssignmentDemand,
    AssignmentError,
    DivisionStrategy,
    ReplicaCandidate,
)
from stretto_lab.models.karmada.estimate import ClusterSummary
from stretto_lab.models.karmada.integers import INT32_MAX
from stretto_lab.models.karmada.spreading import (
    ClusterSpread,
    ScoredCluster,
    SelectionError,
    SpreadDemand,
    SpreadField,
)

_LOCAL = 100
"""Points of a cluster that runs the workload already."""
_UNKNOWN = -1
"""Value of an estimate that is unknown."""


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """Conditions on a cluster; all must match."""

    #: Names; empty allows all.
    names: tuple[str, ...] = ()
    #: Labels.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Excluded names.
    exclude: tuple[str, ...] = ()
    #: Weight in a list of static weights.
    weight: int = 0

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """True if a cluster meets every condition."""
        if name in self.exclude or not self.labels.items() <= labels.items():
            return False
        return not self.names or name in self.names


@dataclass(frozen=True, slots=True)
class KarmadaCluster:
    """A cluster as Karmada reads it."""

    #: Name.
    name: str
    #: Labels.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Taints.
    taints: tuple[Taint, ...] = ()
    #: Provider, if known.
    provider: str = ""
    #: Region, if known.
    region: str = ""
    #: Zones.
    zones: tuple[str, ...] = ()
    #: Amounts and node models; ``None`` if the cluster reports none.
    summary: ClusterSummary | None = None

    def scored(self, score: int, available: int) -> ScoredCluster:
        """The cluster as input of the selection."""
        return ScoredCluster(self.name, score, available, self.provider, self.region, self.zones)


@dataclass(frozen=True, slots=True)
class KarmadaWorkload:
    """A workload and its policy."""

    #: Strategy of the assignment.
    strategy: DivisionStrategy
    #: Replicas.
    replicas: int
    #: Requests of one replica in billionths.
    request: Mapping[str, int] = field(default_factory=dict)
    #: Present replicas by cluster.
    previous: Mapping[str, int] = field(default_factory=dict)
    #: Identifier.
    uid: str = ""
    #: True if all replicas are divided from scratch.
    fresh: bool = False
    #: Clusters from which the workload is being evicted.
    evicting: frozenset[str] = frozenset()
    #: Conditions on clusters; ``None`` allows all.
    affinity: ClusterRule | None = None
    #: Taints that the workload tolerates.
    tolerations: tuple[Toleration, ...] = ()
    #: Spread constraints.
    spread: tuple[ClusterSpread, ...] = ()
    #: Rules with static weights; ``None`` for equal weights.
    static_weights: tuple[ClusterRule, ...] | None = None


@dataclass(frozen=True, slots=True)
class KarmadaPlacement:
    """Placement of a workload, with reasons."""

    #: Replicas by cluster, without those that get none.
    replicas: Mapping[str, int]
    #: Clusters that passed all filters, in order of names.
    feasible: tuple[str, ...]
    #: Points of the feasible clusters.
    scores: Mapping[str, int]
    #: Free and present replicas of the feasible clusters.
    available: Mapping[str, int]
    #: The selected clusters, best first.
    selected: tuple[str, ...] = ()
    #: Reason why nothing is placed; empty if something is.
    error: str = ""


def schedule(workload: KarmadaWorkload, clusters: tuple[KarmadaCluster, ...]) -> KarmadaPlacement:
    """Choose clusters for ``workload`` and assign its replicas."""
    feasible = [each for each in clusters if is_feasible(workload, each)]
    if not feasible:
        return KarmadaPlacement({}, (), {}, {}, error="no feasible cluster")
    free = {each.name: free_replicas(workload, each) for each in feasible}
    scored = [
        each.scored(
            _LOCAL if each.name in workload.previous else 0,
            free[each.name] + workload.previous.get(each.name, 0),
        )
        for each in feasible
    ]
    names = tuple(each.name for each in feasible)
    found = KarmadaPlacement(
        {},
        names,
        {each.name: each.score for each in scored},
        {each.name: each.available for each in scored},
    )
    demand = spread_demand(workload)
    try:
        selected = spreading.select(spreading.rank(scored, demand), demand)
    except SelectionError as error:
        return _ended(found, (), {}, f"select: {error}")
    chosen = tuple(each.name for each in selected)
    labels = {each.name: each.labels for each in feasible}
    try:
        replicas = assignment.assign(_assignment(workload, chosen, free, labels))
    except AssignmentError as error:
        return _ended(found, chosen, {}, f"assign: {error}")
    return _ended(found, chosen, replicas, "")


def _ended(
    found: KarmadaPlacement, selected: tuple[str, ...], replicas: Mapping[str, int], error: str
) -> KarmadaPlacement:
    return KarmadaPlacement(
        replicas, found.feasible, found.scores, found.available, selected, error
    )


def is_feasible(workload: KarmadaWorkload, cluster: KarmadaCluster) -> bool:
    """True if a cluster passes all filters; taints of present clusters do not count."""
    effects = (NO_SCHEDULE, NO_EXECUTE)
    if cluster.name not in workload.previous and untolerated(
        cluster.taints, workload.tolerations, effects
    ):
        return False
    rule = workload.affinity
    if rule is not None and not rule.matches(cluster.name, cluster.labels):
        return False
    located = cluster.scored(0, 0)
    kinds = [each.by for each in workload.spread if each.by is not SpreadField.CLUSTER]
    return all(map(located.groups, kinds)) and cluster.name not in workload.evicting


def free_replicas(workload: KarmadaWorkload, cluster: KarmadaCluster) -> int:
    """Replicas that fit beside the present ones."""
    if not workload.replicas:
        return INT32_MAX
    count = estimate.fitting(cluster.summary, workload.request)
    return workload.replicas if count in (_UNKNOWN, INT32_MAX) else count


def spread_demand(workload: KarmadaWorkload) -> SpreadDemand:
    """Input of the selection; static weights ignore spread constraints."""
    return SpreadDemand(
        workload.replicas,
        workload.strategy is DivisionStrategy.DUPLICATED,
        workload.spread,
        workload.strategy is DivisionStrategy.STATIC_WEIGHT,
    )


def static_weights(
    rules: tuple[ClusterRule, ...] | None, labels: Mapping[str, Mapping[str, str]]
) -> dict[str, int] | None:
    """The largest weight of the rules that match each cluster; ``None`` without rules."""
    if rules is None:
        return None
    return {
        name: max((rule.weight for rule in rules if rule.matches(name, each)), default=0)
        for name, each in labels.items()
    }


def _assignment(
    workload: KarmadaWorkload,
    chosen: tuple[str, ...],
    free: Mapping[str, int],
    labels: Mapping[str, Mapping[str, str]],
) -> AssignmentDemand:
    return AssignmentDemand(
        workload.strategy,
        workload.replicas,
        tuple(ReplicaCandidate(name, free[name]) for name in chosen),
        workload.previous,
        static_weights(workload.static_weights, {name: labels[name] for name in chosen}),
        workload.uid,
        workload.fresh,
    )
