"""Settings of a federation's controllers."""

from dataclasses import dataclass
from enum import Enum

from stretto.federation import names
from stretto.federation.planner.supply.generations import PerformanceMatrix


class PlannerKind(Enum):
    """Which planners divide replicas and roll out templates."""

    #: Those of Stretto: exact shares within capacities, one rolling update over all clusters.
    STRETTO = "stretto"
    #: Those of KubeAdmiral: every cluster rolls by itself.
    KUBEADMIRAL = "kubeadmiral"


class CapacitySource(Enum):
    """Where the number of replicas that fit in a cluster comes from."""

    #: Sums over its nodes, as its FederatedCluster reports them.
    SUMS = "sums"
    #: Every node by itself: what is free on many nodes in small parts does not count.
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class FailoverRule:
    """When and how fast objects leave lost clusters."""

    #: Seconds for which a cluster must be lost.
    after: float = 300.0
    #: Seconds for which a returned cluster must be ready before objects return.
    back_after: float = 300.0
    #: Objects that leave or return in a minute.
    objects_per_minute: float = 600.0
    #: Share of the clusters beyond which a loss is taken for one of the host's own network.
    most_lost: float = 0.5


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """How the controllers behave. The defaults never remove what runs without a successor."""

    #: Namespace of the federation on the host and in the members.
    namespace: str = names.SYSTEM_NAMESPACE
    #: True if an object without a feasible cluster, without a policy label or with failing webhooks
    #: keeps its last placement. KubeAdmiral deletes it everywhere.
    keeps_last_placement: bool = True
    #: The planners.
    planners: PlannerKind = PlannerKind.STRETTO
    #: What says how many replicas fit in a cluster.
    capacity: CapacitySource = CapacitySource.SUMS
    #: Work of one CPU by service and CPU model; ``None`` counts all CPUs alike.
    performance: PerformanceMatrix | None = None
    #: True if scores count the CPU and the memory of a replica. KubeAdmiral counts only GPUs and
    #: other extended resources.
    counts_requests: bool = True
    #: Failover of lost clusters; ``None`` leaves their objects where they are.
    failover: FailoverRule | None = None
    #: Seconds between a change in a member and the comparison with what it should be.
    drift_delay: float = 5.0
    #: Seconds before a member that did not answer is read again.
    silence: float = 10.0
    #: Seconds between a change of a member's status and its aggregation.
    status_delay: float = 3.0
    #: Seconds between attempts to finish a deletion.
    deletion_retry: float = 5.0
    #: Seconds between health checks of a member.
    health_period: float = 30.0
    #: Seconds of equal observations before a member counts as ready or offline.
    health_threshold: float = 100.0
    #: Seconds after which an attempt to join is given up.
    join_timeout: float = 600.0
    #: Seconds after which a cluster leaves although its member does not answer.
    leave_timeout: float = 600.0
    #: Seconds between looks for managed objects that a leaving cluster still has.
    leave_retry: float = 10.0

    @property
    def plans_by_default(self) -> bool:
        """True if the planners are those of Stretto."""
        return self.planners is PlannerKind.STRETTO


KUBEADMIRAL = FederationSettings(
    keeps_last_placement=False, counts_requests=False, planners=PlannerKind.KUBEADMIRAL
)
"""The behaviour of KubeAdmiral, for comparisons."""
