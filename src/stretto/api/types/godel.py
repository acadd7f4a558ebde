"""Kinds that schedulers talk with: Gödel's pod groups, shards, movements, reservations; queues.

Gödel's four are its wire contract, field by field, so that its own daemons can work beside ours.
``Queue`` is Stretto's own: a tenant's share, in a tree.
"""

from enum import StrEnum

import msgspec

from stretto.api.types.pod import Affinity, Container, Toleration
from stretto.api.wire.meta import NO_TEXTS, Condition, NodeSelector, ObjectMeta, Wire
from stretto.api.wire.quantity import check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList

# ---------------------------------------------------------------- PodGroup


class PodGroupTerm(Wire, frozen=True):
    """A node label whose values are the places that a group goes to as a whole."""

    #: The label.
    topology_key: str


class PodGroupSortRule(Wire, frozen=True):
    """Which of the possible places is tried first."""

    #: ``GPU``, ``CPU`` or ``Memory``.
    resource: str
    #: ``Capacity`` or ``Available``; Gödel lets it be left out.
    dimension: str = "Capacity"
    #: ``Ascending`` or ``Descending``.
    order: str = "Ascending"


class PodGroupAffinity(Wire, frozen=True):
    """Places that a group must, and would like to, go to as a whole."""

    #: What must hold, from the outside to the inside.
    required: tuple[PodGroupTerm, ...] = ()
    #: What should hold.
    preferred: tuple[PodGroupTerm, ...] = ()
    #: The order in which places are tried.
    sort_rules: tuple[PodGroupSortRule, ...] = ()
    #: The only nodes that are considered.
    node_selector: NodeSelector | None = None


class PodGroupAffinities(Wire, frozen=True):
    """All affinities of a group."""

    #: To places.
    pod_group_affinity: PodGroupAffinity | None = None
    #: Against places; defined by Gödel, used by nobody.
    pod_group_anti_affinity: PodGroupAffinity | None = None


class PodGroupSpec(Wire, frozen=True):
    """When a group may run."""

    #: As few pods may run; fewer get nothing.
    min_member: int
    #: The PriorityClass of the group.
    priority_class_name: str = ""
    #: Seconds until a group that could not run has timed out; absent means 300.
    schedule_timeout_seconds: int | None = None
    #: The application it belongs to.
    application: str = ""
    #: Where it may go.
    affinity: PodGroupAffinities | None = None


class PodGroupPhase(StrEnum):
    """How far a group is; the table of moves is in ``state.rows.lifecycle``."""

    PENDING = "Pending"
    PRE_SCHEDULING = "PreScheduling"
    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    TIMEOUT = "Timeout"
    FINISHED = "Finished"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class PodGroupCondition(Wire, frozen=True):
    """One phase that a group has been in."""

    #: The phase.
    phase: str
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""
    #: CamelCase word for machines.
    reason: str = ""
    #: Sentence for humans.
    message: str = ""
    #: RFC 3339 time of the last change.
    last_transition_time: str | None = None


class PodGroupStatus(Wire, frozen=True):
    """How a group fares."""

    #: A ``PodGroupPhase``; empty before anybody has looked.
    phase: str = ""
    #: Phases it has been in.
    conditions: tuple[PodGroupCondition, ...] = ()
    #: The owner of its pods, ``Kind/namespace/name``.
    occupied_by: str = ""
    #: Pods that wait.
    pending: int = 0
    #: Pods that run.
    running: int = 0
    #: Pods that ended well.
    succeeded: int = 0
    #: Pods that failed.
    failed: int = 0
    #: RFC 3339 time of the first attempt.
    schedule_start_time: str | None = None


class PodGroup(Wire, frozen=True):
    """Pods that are admitted as a whole."""

    #: Identity.
    metadata: ObjectMeta
    #: When it may run.
    spec: PodGroupSpec
    #: How it fares.
    status: PodGroupStatus = PodGroupStatus()


# ---------------------------------------------------------------- Scheduler


class SchedulerMetrics(Wire, frozen=True):
    """Load of a shard."""

    #: Pods that wait in it.
    pending_pods: int = 0


class SchedulerStatus(Wire, frozen=True):
    """Heartbeat of a shard."""

    #: ``Active`` or ``InActive``.
    phase: str = ""
    #: RFC 3339 time of the heartbeat; older than two minutes means dead.
    last_update_time: str | None = None
    #: Where it runs.
    current_host: str = ""
    #: Its load.
    metrics_status: SchedulerMetrics | None = None
    #: The partition it tries first.
    scheduler_node_partition_name: str = ""


class Scheduler(Wire, frozen=True):
    """One scheduler instance, a shard."""

    #: Identity; the name is what pods are dispatched to.
    metadata: ObjectMeta
    #: Its heartbeat.
    status: SchedulerStatus = SchedulerStatus()


# ---------------------------------------------------------------- Movement


class TaskInfo(Wire, frozen=True):
    """One pod that is moved."""

    #: Its name.
    name: str = ""
    #: Its namespace.
    namespace: str = ""
    #: Its identity.
    uid: str = ""
    #: The node it is (or was) on.
    node: str = ""


class OwnerInfo(Wire, frozen=True):
    """The owner of moved pods."""

    #: Kind.
    type: str = ""
    #: Name.
    name: str = ""
    #: Namespace.
    namespace: str = ""
    #: Identity.
    uid: str = ""


class RecommendedNode(Wire, frozen=True):
    """A node that new pods should go to."""

    #: The node.
    node: str = ""
    #: How many.
    desired_pod_count: int = 0
    #: The pods that went there.
    actual_pods: tuple[TaskInfo, ...] = ()


class OwnerMovement(Wire, frozen=True):
    """Where one owner's pods go."""

    #: The owner.
    owner: OwnerInfo | None = None
    #: Where to.
    recommended_nodes: tuple[RecommendedNode, ...] = ()
    #: Pods that went elsewhere.
    mismatched_tasks: tuple[TaskInfo, ...] = ()


class MovementSpec(Wire, frozen=True):
    """Pods that the rescheduler removes."""

    #: The pods.
    deleted_tasks: tuple[TaskInfo, ...] = ()
    #: Who asked.
    creator: str = ""
    #: Counts the asker's rounds.
    generation: int = 0


class MovementStatus(Wire, frozen=True):
    """How a movement goes on."""

    #: By owner.
    owners: tuple[OwnerMovement, ...] = ()
    #: Shards that know of it.
    notified_schedulers: tuple[str, ...] = ()


class Movement(Wire, frozen=True):
    """A set of pods that shall run elsewhere."""

    #: Identity.
    metadata: ObjectMeta
    #: The pods.
    spec: MovementSpec = MovementSpec()
    #: The new places.
    status: MovementStatus = MovementStatus()


# ---------------------------------------------------------------- Reservation


class ReservedPodSpec(Wire, frozen=True):
    """The part of a pod that a reservation keeps room for."""

    #: The scheduler.
    scheduler_name: str = ""
    #: The priority.
    priority: int | None = None
    #: Its name.
    priority_class_name: str = ""
    #: Labels that the node must have.
    node_selector: dict[str, str] = NO_TEXTS
    #: Whether the pod's network is the node's.
    host_network: bool = False
    #: Affinities.
    affinity: Affinity | None = None
    #: Taints borne.
    tolerations: tuple[Toleration, ...] = ()
    #: Init containers.
    init_containers: tuple[Container, ...] = ()
    #: Containers.
    containers: tuple[Container, ...] = ()


class ReservationTemplate(Wire, frozen=True):
    """The pod that room is kept for."""

    #: Its shape.
    spec: ReservedPodSpec = ReservedPodSpec()
    #: Labels and annotations of the pod it was made from.
    metadata: ObjectMeta | None = None


class ReservationSpec(Wire, frozen=True):
    """Room that is kept."""

    #: For what.
    template: ReservationTemplate = ReservationTemplate()
    #: Where; one word in lower case on the wire.
    node_name: str = msgspec.field(name="nodename", default="")
    #: Seconds; absent means the controller's default.
    ttl: int | None = None


class ReservationStatus(Wire, frozen=True):
    """What became of it."""

    #: ``Pending``, ``Reserved``, ``Matched`` or ``TimeOut``.
    phase: str = ""
    #: Phases it has been in, as raw JSON.
    conditions: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: The pod that took the room.
    current_owners: OwnerInfo | None = None


class Reservation(Wire, frozen=True):
    """Room on a node, kept for a pod to come."""

    #: Identity.
    metadata: ObjectMeta
    #: The room.
    spec: ReservationSpec = ReservationSpec()
    #: What became of it.
    status: ReservationStatus = ReservationStatus()


# ---------------------------------------------------------------- Queue


class QueuePolicy(StrEnum):
    """Names of policies that code refers to; ``control.queues.policies`` is the whole table."""

    #: First come, first served; the head blocks.
    FIFO = "FIFO"
    #: Highest priority first, then first come.
    PRIORITY = "Priority"
    #: Highest priority first; the priority decays with each failed attempt and then recovers.
    FADING_PRIORITY = "FadingPriority"
    #: The child queue with the smallest dominant share for its weight first.
    DRF = "DRF"
    #: The child queue with the smallest share of one resource for its weight first.
    FAIR_SHARE = "FairShare"
    #: The shortest run time first; the head blocks.
    SHORTEST_FIRST = "ShortestFirst"
    #: First come, first served; units that do not fit are passed.
    FIFO_SKIP = "FifoSkip"
    #: First come, first served; units that do not delay the head may pass it (backfill).
    EASY = "Easy"


class QueueSpec(Wire, frozen=True):
    """A tenant's share."""

    #: The queue it is part of; empty for a root.
    parent: str = ""
    #: Order of its units: a ``QueuePolicy``, or a policy of a package as ``example.com/Name``.
    policy: str = QueuePolicy.FIFO
    #: Its share among its siblings.
    weight: int = 1
    #: Its share of single resources, where that is another one than ``weight``.
    resource_weights: dict[str, int] = msgspec.field(default_factory=dict)
    #: The resource that ``FairShare`` counts.
    resource: str = "cpu"
    #: What it always gets back.
    guarantee: ResourceList = NO_AMOUNTS
    #: What it never exceeds; a resource that is not named has no limit.
    limit: ResourceList = NO_AMOUNTS
    #: Units that may run at once; absent means any number.
    max_running_units: int | None = None

    def __post_init__(self) -> None:
        check(self.guarantee, "guarantee")
        check(self.limit, "limit")


class QueueStatus(Wire, frozen=True):
    """How a queue fares."""

    #: ``Open`` or ``Draining``; empty before anybody has looked.
    state: str = ""
    #: What its pods and those of its queues hold.
    used: ResourceList = NO_AMOUNTS
    #: How much of that is above its guarantee.
    borrowed: ResourceList = NO_AMOUNTS
    #: The guarantee that is counted: less than its own where the tree cannot keep that.
    counted: ResourceList = NO_AMOUNTS
    #: Its dominant share of the cluster in thousandths.
    share_milli: int = 0
    #: Units that wait.
    pending: int = 0
    #: Units of which at least one pod has a node.
    running: int = 0
    #: Aspects.
    conditions: tuple[Condition, ...] = ()


class Queue(Wire, frozen=True):
    """A tenant's share, in a tree."""

    #: Identity.
    metadata: ObjectMeta
    #: The share.
    spec: QueueSpec = QueueSpec()
    #: How it fares.
    status: QueueStatus = QueueStatus()
