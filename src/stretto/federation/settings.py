"""Settings of a federation's controllers."""

from dataclasses import dataclass
from enum import Enum

from stretto.federation import names
from stretto.federation.planner.supply.generations import PerformanceMatrix


class PlannerKind(Enum):
    """Planners that divide replicas and roll out templates."""

    #: Planners of Stretto: exact shares within capacities, one rolling update over all clusters.
    STRETTO = "stretto"
    #: Planners of KubeAdmiral: each cluster rolls independently.
    KUBEADMIRAL = "kubeadmiral"


class CapacitySource(Enum):
    """Source of the number of replicas that fit in a cluster."""

    #: Sums over its nodes, as its FederatedCluster reports them.
    SUMS = "sums"
    #: The free amounts of single nodes; capacity that is fragmented over many nodes does not count.
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class FailoverRule:
    """Delays and limits for objects that leave lost clusters."""

    #: Seconds for which a cluster must be lost.
    after: float = 300.0
    #: Seconds for which a returned cluster must be ready before objects return.
    back_after: float = 300.0
    #: Maximum number of objects that leave or return per minute.
    objects_per_minute: float = 600.0
    #: Share of lost clusters beyond which the host's own network is assumed to be down.
    most_lost: float = 0.5


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """Settings of the controllers. The defaults never remove replicas without a replacement."""

    #: Namespace of the federation on the host and in the members.
    namespace: str = names.SYSTEM_NAMESPACE
    #: True if an object without a feasible cluster, without a policy label or with failing webhooks
    #: keeps its last placement. KubeAdmiral deletes the object in all clusters.
    keeps_last_placement: bool = True
    #: The planners.
    planners: PlannerKind = PlannerKind.STRETTO
    #: Source of the number of replicas that fit in a cluster.
    capacity: CapacitySource = CapacitySource.SUMS
    #: Work of one CPU by service and CPU model; ``None`` treats all CPUs equally.
    performance: PerformanceMatrix | None = None
    #: True if scores use the CPU and the memory of a replica. KubeAdmiral uses only GPUs and other
    #: extended resources.
    counts_requests: bool = True
    #: Failover of lost clusters; ``None`` keeps their objects in place.
    failover: FailoverRule | None = None
    #: Seconds between a change in a member and the comparison with the desired object.
    drift_delay: float = 5.0
    #: Seconds until a member that did not answer is read again.
    silence: float = 10.0
    #: Seconds between a change of a member's status and its aggregation.
    status_delay: float = 3.0
    #: Seconds between attempts to finish a deletion.
    deletion_retry: float = 5.0
    #: Seconds between health checks of a member.
    health_period: float = 30.0
    #: Seconds of equal observations before a member counts as ready or offline.
    health_threshold: float = 100.0
    #: Seconds after which joining ends with an error.
    join_timeout: float = 600.0
    #: Seconds after which a leaving cluster is removed although its member does not answer.
    leave_timeout: float = 600.0
    #: Seconds between checks for remaining managed objects of a leaving cluster.
    leave_retry: float = 10.0
    #: Seconds between a change and the report of a shard to the other shards.
    report_delay: float = 0.25
    #: Seconds between two reports without a change.
    report_period: float = 10.0
    #: Seconds without a further report after which the report of a shard is stale.
    report_stale: float = 60.0
    #: Maximum seconds for which a starting shard places nothing while another shard has never
    #: reported, and for which a decision waits for a status of a cluster that another has read.
    report_wait: float = 30.0

    @property
    def plans_by_default(self) -> bool:
        """True if the planners are those of Stretto."""
        return self.planners is PlannerKind.STRETTO


KUBEADMIRAL = FederationSettings(
    keeps_last_placement=False, counts_requests=False, planners=PlannerKind.KUBEADMIRAL
)
"""The behaviour of KubeAdmiral, for comparisons."""
