"""Kinds of Gödel (pod groups, shards, movements, reservations) and Queue, the kind of Stretto.

The kinds of Gödel follow its wire contract field by field, so that its daemons can run together
with those of Stretto. A ``Queue`` is the share of a tenant; queues form a tree.
"""

from enum import StrEnum

import msgspec

from stretto.api.types.pod import Affinity, Container, Toleration
from stretto.api.wire.meta import NO_TEXTS, Condition, NodeSelector, ObjectMeta, Wire
from stretto.api.wire.quantity import check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList

# ---------------------------------------------------------------- PodGroup


class PodGroupTerm(Wire, frozen=True):
    """A node label that defines domains; a group is placed in one domain as a whole."""

    #: The label.
    topology_key: str


class PodGroupSortRule(Wire, frozen=True):
    """Order in which candidate domains are tried."""

    #: ``GPU``, ``CPU`` or ``Memory``.
    resource: str
    #: ``Capacity`` or ``Available``; optional in Gödel.
    dimension: str = "Capacity"
    #: ``Ascending`` or ``Descending``.
    order: str = "Ascending"


class PodGroupAffinity(Wire, frozen=True):
    """Required and preferred domains of a group."""

    #: Required terms, from the outermost to the innermost.
    required: tuple[PodGroupTerm, ...] = ()
    #: Preferred terms.
    preferred: tuple[PodGroupTerm, ...] = ()
    #: Order in which domains are tried.
    sort_rules: tuple[PodGroupSortRule, ...] = ()
    #: Nodes to which the group is restricted.
    node_selector: NodeSelector | None = None


class PodGroupAffinities(Wire, frozen=True):
    """All affinities of a group."""

    #: Affinity to domains.
    pod_group_affinity: PodGroupAffinity | None = None
    #: Anti-affinity to domains; defined by Gödel and not used.
    pod_group_anti_affinity: PodGroupAffinity | None = None


class PodGroupSpec(Wire, frozen=True):
    """Conditions under which a group runs."""

    #: Minimum number of pods that run together; fewer pods are not placed.
    min_member: int
    #: The PriorityClass of the group.
    priority_class_name: str = ""
    #: Seconds until a group that does not run times out; absent means 300.
    schedule_timeout_seconds: int | None = None
    #: The application of the group.
    application: str = ""
    #: Placement rules.
    affinity: PodGroupAffinities | None = None


class PodGroupPhase(StrEnum):
    """Phase of a group; the transitions are in ``state.rows.lifecycle``."""

    PENDING = "Pending"
    PRE_SCHEDULING = "PreScheduling"
    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    TIMEOUT = "Timeout"
    FINISHED = "Finished"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class PodGroupCondition(Wire, frozen=True):
    """One past or present phase of a group."""

    #: The phase.
    phase: str
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""
    #: Reason, one CamelCase word for programs.
    reason: str = ""
    #: Message for users.
    message: str = ""
    #: RFC 3339 time of the last change.
    last_transition_time: str | None = None


class PodGroupStatus(Wire, frozen=True):
    """Observed state of a group."""

    #: A ``PodGroupPhase``; empty before the first observation.
    phase: str = ""
    #: Past and present phases.
    conditions: tuple[PodGroupCondition, ...] = ()
    #: Owner of its pods, ``Kind/namespace/name``.
    occupied_by: str = ""
    #: Number of pending pods.
    pending: int = 0
    #: Number of running pods.
    running: int = 0
    #: Number of pods that succeeded.
    succeeded: int = 0
    #: Number of pods that failed.
    failed: int = 0
    #: RFC 3339 time of the first attempt.
    schedule_start_time: str | None = None


class PodGroup(Wire, frozen=True):
    """Pods that are scheduled as a whole (a gang)."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: PodGroupSpec
    #: Observed state.
    status: PodGroupStatus = PodGroupStatus()


# ---------------------------------------------------------------- Scheduler


class SchedulerMetrics(Wire, frozen=True):
    """Load of a shard."""

    #: Number of its pending pods.
    pending_pods: int = 0


class SchedulerStatus(Wire, frozen=True):
    """Heartbeat of a shard."""

    #: ``Active`` or ``InActive``.
    phase: str = ""
    #: RFC 3339 time of the heartbeat; a shard is dead after two minutes without one.
    last_update_time: str | None = None
    #: Host on which it runs.
    current_host: str = ""
    #: Its load.
    metrics_status: SchedulerMetrics | None = None
    #: Node partition that it tries first.
    scheduler_node_partition_name: str = ""


class Scheduler(Wire, frozen=True):
    """One scheduler instance (shard)."""

    #: Identity; the dispatcher assigns pods to this name.
    metadata: ObjectMeta
    #: Its heartbeat.
    status: SchedulerStatus = SchedulerStatus()


# ---------------------------------------------------------------- Movement


class TaskInfo(Wire, frozen=True):
    """Reference to a moved pod."""

    #: Its name.
    name: str = ""
    #: Its namespace.
    namespace: str = ""
    #: Its identity.
    uid: str = ""
    #: Its current or former node.
    node: str = ""


class OwnerInfo(Wire, frozen=True):
    """Reference to the owner of moved pods."""

    #: Kind.
    type: str = ""
    #: Name.
    name: str = ""
    #: Namespace.
    namespace: str = ""
    #: Identity.
    uid: str = ""


class RecommendedNode(Wire, frozen=True):
    """A recommended node for replacement pods."""

    #: The node.
    node: str = ""
    #: Number of pods.
    desired_pod_count: int = 0
    #: Pods placed there.
    actual_pods: tuple[TaskInfo, ...] = ()


class OwnerMovement(Wire, frozen=True):
    """Recommendations for the pods of one owner."""

    #: The owner.
    owner: OwnerInfo | None = None
    #: Recommended nodes.
    recommended_nodes: tuple[RecommendedNode, ...] = ()
    #: Pods placed elsewhere.
    mismatched_tasks: tuple[TaskInfo, ...] = ()


class MovementSpec(Wire, frozen=True):
    """Pods that the rescheduler evicts."""

    #: The pods.
    deleted_tasks: tuple[TaskInfo, ...] = ()
    #: Component that created the movement.
    creator: str = ""
    #: Round of that component.
    generation: int = 0


class MovementStatus(Wire, frozen=True):
    """Progress of a movement."""

    #: Progress by owner.
    owners: tuple[OwnerMovement, ...] = ()
    #: Shards that have seen the movement.
    notified_schedulers: tuple[str, ...] = ()


class Movement(Wire, frozen=True):
    """A set of pods to be moved to other nodes."""

    #: Identity.
    metadata: ObjectMeta
    #: The pods.
    spec: MovementSpec = MovementSpec()
    #: Recommendations and progress.
    status: MovementStatus = MovementStatus()


# ---------------------------------------------------------------- Reservation


class ReservedPodSpec(Wire, frozen=True):
    """The fields of a pod for which a reservation reserves capacity."""

    #: The scheduler.
    scheduler_name: str = ""
    #: The priority.
    priority: int | None = None
    #: Name of the priority class.
    priority_class_name: str = ""
    #: Labels that the node must have.
    node_selector: dict[str, str] = NO_TEXTS
    #: True if the pod uses the network of the node.
    host_network: bool = False
    #: Affinities.
    affinity: Affinity | None = None
    #: Tolerations.
    tolerations: tuple[Toleration, ...] = ()
    #: Init containers.
    init_containers: tuple[Container, ...] = ()
    #: Containers.
    containers: tuple[Container, ...] = ()


class ReservationTemplate(Wire, frozen=True):
    """Template of the pod for which capacity is reserved."""

    #: Fields of the spec.
    spec: ReservedPodSpec = ReservedPodSpec()
    #: Labels and annotations of the original pod.
    metadata: ObjectMeta | None = None


class ReservationSpec(Wire, frozen=True):
    """Desired reservation."""

    #: Template of the expected pod.
    template: ReservationTemplate = ReservationTemplate()
    #: The node; one lower-case word on the wire.
    node_name: str = msgspec.field(name="nodename", default="")
    #: Seconds until expiry; absent means the default of the controller.
    ttl: int | None = None


class ReservationStatus(Wire, frozen=True):
    """Observed state of a reservation."""

    #: ``Pending``, ``Reserved``, ``Matched`` or ``TimeOut``.
    phase: str = ""
    #: Past and present phases, as raw JSON.
    conditions: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: The pod that uses the capacity.
    current_owners: OwnerInfo | None = None


class Reservation(Wire, frozen=True):
    """Capacity of a node, reserved for a future pod."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired reservation.
    spec: ReservationSpec = ReservationSpec()
    #: Observed state.
    status: ReservationStatus = ReservationStatus()


# ---------------------------------------------------------------- Queue


class QueuePolicy(StrEnum):
    """Names of policies in code; ``control.queues.policies`` is the complete table."""

    #: First come, first served; the head blocks.
    FIFO = "FIFO"
    #: Highest priority first, then first come.
    PRIORITY = "Priority"
    #: Highest priority first; the priority decays with each failed attempt and then recovers.
    FADING_PRIORITY = "FadingPriority"
    #: The child queue with the smallest dominant share relative to its weight first.
    DRF = "DRF"
    #: The child queue with the smallest share of one resource relative to its weight first.
    FAIR_SHARE = "FairShare"
    #: The shortest run time first; the head blocks.
    SHORTEST_FIRST = "ShortestFirst"
    #: First come, first served; units that do not fit are skipped.
    FIFO_SKIP = "FifoSkip"
    #: First come, first served; units that do not delay the head may overtake it (backfill).
    EASY = "Easy"
    #: First come, first served; units that delay no earlier unit may overtake (backfill).
    CONSERVATIVE = "Conservative"


class QueueSpec(Wire, frozen=True):
    """The share of a tenant."""

    #: Parent queue; empty for a root.
    parent: str = ""
    #: Order of its units: a ``QueuePolicy``, or a policy of a package as ``example.com/Name``.
    policy: str = QueuePolicy.FIFO
    #: Its share among its siblings.
    weight: int = 1
    #: Share of single resources, if it differs from ``weight``.
    resource_weights: dict[str, int] = msgspec.field(default_factory=dict)
    #: The resource that ``FairShare`` compares.
    resource: str = "cpu"
    #: Amounts that are returned to the queue on demand.
    guarantee: ResourceList = NO_AMOUNTS
    #: Maximum amounts; a resource without an entry is not limited.
    limit: ResourceList = NO_AMOUNTS
    #: Maximum number of running units; absent means no limit.
    max_running_units: int | None = None

    def __post_init__(self) -> None:
        check(self.guarantee, "guarantee")
        check(self.limit, "limit")


class QueueStatus(Wire, frozen=True):
    """Observed state of a queue."""

    #: ``Open`` or ``Draining``; empty before the first observation.
    state: str = ""
    #: Amounts used by its pods and those of its child queues.
    used: ResourceList = NO_AMOUNTS
    #: Used amounts above the guarantee.
    borrowed: ResourceList = NO_AMOUNTS
    #: Effective guarantee; lower than the specified one if the tree cannot satisfy it.
    counted: ResourceList = NO_AMOUNTS
    #: Dominant share of the cluster in thousandths.
    share_milli: int = 0
    #: Number of pending units.
    pending: int = 0
    #: Number of units with at least one pod on a node.
    running: int = 0
    #: Conditions.
    conditions: tuple[Condition, ...] = ()


class Queue(Wire, frozen=True):
    """The share of a tenant, in a tree of queues."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired share.
    spec: QueueSpec = QueueSpec()
    #: Observed state.
    status: QueueStatus = QueueStatus()
