"""A workload of a federation with its policy, as input of KubeAdmiral's scheduling."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stretto.api.types.federation.policies import ReplicasStrategy, SchedulingMode
from stretto.api.types.pod import Toleration
from stretto.api.wire.meta import SelectorRequirement
from stretto.federation.scheduling.fleet import Amounts


@dataclass(frozen=True, slots=True)
class ClusterTerm:
    """One alternative of a cluster affinity; all of its requirements must match."""

    #: Requirements on labels.
    match_expressions: tuple[SelectorRequirement, ...] = ()
    #: Requirements on the name.
    match_fields: tuple[SelectorRequirement, ...] = ()
    #: Points for a cluster that matches a preferred term.
    weight: int = 0


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """Number of values of a label over a workload's clusters; clusters without it are excluded."""

    #: The label, such as a region or a provider.
    label: str
    #: Minimum number of values.
    least: int = 1
    #: Maximum number of values; ``None`` for no limit.
    most: int | None = None


@dataclass(frozen=True, slots=True)
class ReplicaLimits:
    """Limits on the replicas of single clusters."""

    #: Minimum replicas.
    minimum: Mapping[str, int] = field(default_factory=dict)
    #: Maximum replicas.
    maximum: Mapping[str, int] = field(default_factory=dict)
    #: Weights of the policy; without any, weights follow the free capacity.
    weights: Mapping[str, int] = field(default_factory=dict)
    #: Hard limits of a migration.
    limited: Mapping[str, int] = field(default_factory=dict)
    #: Known capacity of a cluster in replicas.
    estimated: Mapping[str, int] = field(default_factory=dict)
    #: Running replicas.
    scheduled: Mapping[str, int] = field(default_factory=dict)
    #: True if replicas beyond an estimate stay in their cluster.
    keep_unschedulable: bool = False
    #: True if present replicas stay in their cluster as far as the total allows.
    avoid_disruption: bool = True


@dataclass(frozen=True, slots=True)
class HeldReplicas:
    """Replicas that a queue or a gang holds back."""

    #: Number of replicas.
    count: int
    #: Reason, in one word.
    reason: str
    #: Reason, as a clause.
    message: str


@dataclass(frozen=True, slots=True)
class GangRule:
    """A workload whose pods form a gang."""

    #: Name of its PodGroup.
    name: str
    #: Minimum number of pods that run at once.
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
    #: Mode: replicas are divided or duplicated.
    mode: SchedulingMode = SchedulingMode.DIVIDE
    #: Strategy of the division.
    strategy: ReplicasStrategy = ReplicasStrategy.SPREAD
    #: Requests of one replica.
    request: Amounts = field(default_factory=dict)
    #: Clusters that run the workload, with their replicas; ``None`` for all replicas.
    current: Mapping[str, int | None] = field(default_factory=dict)
    #: True if a workload that runs somewhere is never moved.
    sticky: bool = False
    #: Labels that a cluster must have.
    cluster_selector: Mapping[str, str] = field(default_factory=dict)
    #: The only clusters that may run the workload; empty allows all.
    placement: frozenset[str] = frozenset()
    #: Alternatives; at least one of them must match. ``None`` for no requirement.
    required: tuple[ClusterTerm, ...] | None = None
    #: Alternatives that add points.
    preferred: tuple[ClusterTerm, ...] = ()
    #: Taints that the workload tolerates.
    tolerations: tuple[Toleration, ...] = ()
    #: Clusters that a migration excludes at present.
    evicted: frozenset[str] = frozenset()
    #: Maximum number of clusters; ``None`` for no limit.
    max_clusters: int | None = None
    #: Priorities of clusters.
    priorities: Mapping[str, int] = field(default_factory=dict)
    #: Limits of single clusters.
    limits: ReplicaLimits = field(default_factory=ReplicaLimits)
    #: Replicas by cluster whose requests the free amounts of the cluster lack; ``None`` for
    #: ``current``.
    running: Mapping[str, int] | None = None
    #: Service in the matrix of CPU generations; a service without a row runs equally on all models.
    service: str = ""
    #: Alternatives in order; the first one that a feasible cluster matches limits the clusters.
    alternatives: tuple[tuple[ClusterTerm, ...], ...] = ()
    #: Spread over values of labels.
    spread: tuple[LabelSpread, ...] = ()
    #: Replicas that its queue holds back; ``None`` if there are none.
    held: HeldReplicas | None = None
    #: Its gang; None for single pods.
    gang: GangRule | None = None
