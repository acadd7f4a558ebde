"""A workload of a federation and what its policy says, as KubeAdmiral's scheduling reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.api.types.pod import Toleration
from stretto.api.wire.meta import SelectorRequirement
from stretto.federation.scheduling.fleet import Amounts


@dataclass(frozen=True, slots=True)
class ClusterTerm:
    """One alternative of a cluster affinity: all of its requirements hold."""

    #: Requirements on labels.
    match_expressions: tuple[SelectorRequirement, ...] = ()
    #: Requirements on the name.
    match_fields: tuple[SelectorRequirement, ...] = ()
    #: Points for a cluster that matches a preferred term.
    weight: int = 0


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """How many values of a label the clusters of a workload have; clusters without it are out."""

    #: The label, such as a region or a provider.
    label: str
    #: Least values.
    least: int = 1
    #: Most values; None is no limit.
    most: int | None = None


@dataclass(frozen=True, slots=True)
class ReplicaLimits:
    """What limits the replicas of single clusters."""

    #: Least replicas.
    minimum: Mapping[str, int] = field(default_factory=dict)
    #: Most replicas.
    maximum: Mapping[str, int] = field(default_factory=dict)
    #: Weights of the policy; without any, weights follow the free capacity.
    weights: Mapping[str, int] = field(default_factory=dict)
    #: Hard limits of a migration.
    limited: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that a cluster is known to hold.
    estimated: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that run now.
    scheduled: Mapping[str, int] = field(default_factory=dict)
    #: True if replicas that an estimate rejects are kept.
    keep_unschedulable: bool = False
    #: True if present replicas stay where they are if the total allows it.
    avoid_disruption: bool = True


@dataclass(frozen=True, slots=True)
class HeldReplicas:
    """Replicas that a queue or a gang holds back."""

    #: How many.
    count: int
    #: Why, in one word.
    reason: str
    #: Why, as a clause.
    message: str


@dataclass(frozen=True, slots=True)
class GangRule:
    """A workload whose pods form a gang."""

    #: Name of its PodGroup.
    name: str
    #: Least pods that run at once.
    least: int
    #: True if several clusters may run it.
    spreads: bool = False


@dataclass(frozen=True, slots=True)
class FederatedWorkload:
    """A workload to schedule."""

    #: Namespace and name.
    key: str
    #: Replicas; 0 if it has none.
    replicas: int = 0
    #: What each cluster gets.
    mode: SchedulingMode = SchedulingMode.DIVIDE
    #: How clusters share replicas.
    strategy: ReplicasStrategy = ReplicasStrategy.SPREAD
    #: Requests of one replica.
    request: Amounts = field(default_factory=dict)
    #: Clusters that run it, with their replicas; None for all of them.
    current: Mapping[str, int | None] = field(default_factory=dict)
    #: True if a workload that runs somewhere stays exactly there.
    sticky: bool = False
    #: Labels that a cluster must have.
    cluster_selector: Mapping[str, str] = field(default_factory=dict)
    #: The only clusters that may run it; empty allows all.
    placement: frozenset[str] = frozenset()
    #: Alternatives of which one must match; None requires nothing.
    required: tuple[ClusterTerm, ...] | None = None
    #: Alternatives that add points.
    preferred: tuple[ClusterTerm, ...] = ()
    #: Taints that it tolerates.
    tolerations: tuple[Toleration, ...] = ()
    #: Clusters that a migration excludes now.
    evicted: frozenset[str] = frozenset()
    #: Most clusters; None is no limit.
    max_clusters: int | None = None
    #: Priorities of clusters.
    priorities: Mapping[str, int] = field(default_factory=dict)
    #: Limits of single clusters.
    limits: ReplicaLimits = field(default_factory=ReplicaLimits)
    #: Replicas by cluster that the last decision started and the clusters do not report yet.
    starting: Mapping[str, int] = field(default_factory=dict)
    #: Service in the matrix of CPU generations; one without a row runs equally on all models.
    service: str = ""
    #: Alternatives in order: the first that a feasible cluster matches limits the clusters.
    alternatives: tuple[tuple[ClusterTerm, ...], ...] = ()
    #: Spread over values of labels.
    spread: tuple[LabelSpread, ...] = ()
    #: Replicas that its queue holds back; None for none.
    held: HeldReplicas | None = None
    #: Its gang; None for single pods.
    gang: GangRule | None = None
