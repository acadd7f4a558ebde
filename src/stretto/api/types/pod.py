"""Pods: every field that scheduling reads, and no other; the rest stays in the raw bytes."""

import msgspec

from stretto.api.types.volumes import Volume
from stretto.api.wire.meta import (
    NO_TEXTS,
    Condition,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    Wire,
)
from stretto.api.wire.quantity import check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList, ResourceRequirements

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

# ---------------------------------------------------------------- containers


class ContainerPort(Wire, frozen=True):
    """A port that a container listens on."""

    #: The port inside the pod.
    container_port: int
    #: The port taken on the node; 0 for none.
    host_port: int = 0
    #: The node's address it is taken on; empty means all.
    host_ip: str = msgspec.field(name="hostIP", default="")
    #: ``TCP``, ``UDP`` or ``SCTP``.
    protocol: str = "TCP"
    #: Name within the pod.
    name: str = ""


class RestartRule(Wire, frozen=True):
    """What is done when a container has ended in a certain way."""

    #: ``Restart``, or ``RestartAllContainers``, which not every node can do.
    action: str = ""


class Container(Wire, frozen=True):
    """One program of a pod, and what it asks of the node."""

    #: Name within the pod.
    name: str = ""
    #: Image reference, for image locality.
    image: str = ""
    #: Requests and limits.
    resources: ResourceRequirements = ResourceRequirements()
    #: Ports; those with a host port matter.
    ports: tuple[ContainerPort, ...] = ()
    #: ``Always`` on an init container makes it a sidecar, which runs on beside the others.
    restart_policy: str | None = None
    #: What is done at which end, before ``restart_policy`` is asked.
    restart_policy_rules: tuple[RestartRule, ...] = ()

    @property
    def sidecar(self) -> bool:
        """Whether this init container goes on running."""
        return self.restart_policy == "Always"


# ---------------------------------------------------------------- where a pod may go


class PreferredNodes(Wire, frozen=True):
    """A wish for nodes."""

    #: How much it counts: 1 to 100.
    weight: int
    #: The nodes.
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    """The nodes that a pod must, and would like to, run on."""

    #: What must hold; absent means nothing.
    required: NodeSelector | None = msgspec.field(name=_REQUIRED, default=None)
    #: What should hold.
    preferred: tuple[PreferredNodes, ...] = msgspec.field(name=_PREFERRED, default=())


class PodAffinityTerm(Wire, frozen=True):
    """Pods whose neighbourhood is wanted or shunned."""

    #: The node label whose value is the neighbourhood.
    topology_key: str
    #: The pods; absent means none.
    label_selector: LabelSelector | None = None
    #: Their namespaces; none, with no selector either, means the pod's own.
    namespaces: tuple[str, ...] = ()
    #: Their namespaces by label; empty means all.
    namespace_selector: LabelSelector | None = None
    #: Keys whose values the API server has copied from this pod into the selector.
    match_label_keys: tuple[str, ...] = ()
    #: Keys whose values the API server has excluded by the selector.
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A wish for, or against, a neighbourhood."""

    #: How much it counts: 1 to 100.
    weight: int
    #: The neighbourhood.
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire, frozen=True):
    """Neighbourhoods that a pod must, and would like to, be in (or out of)."""

    #: What must hold, all of it.
    required: tuple[PodAffinityTerm, ...] = msgspec.field(name=_REQUIRED, default=())
    #: What should hold.
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(name=_PREFERRED, default=())


class Affinity(Wire, frozen=True):
    """All affinities of a pod."""

    #: To nodes.
    node_affinity: NodeAffinity | None = None
    #: To pods.
    pod_affinity: PodAffinity | None = None
    #: Against pods.
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Wire, frozen=True):
    """Taints that do not keep the pod away."""

    #: The taint's key; empty (with ``Exists``) means every key.
    key: str = ""
    #: ``Equal`` (when empty) or ``Exists``.
    operator: str = ""
    #: The taint's value, for ``Equal``.
    value: str = ""
    #: The taint's effect; empty means every effect.
    effect: str = ""
    #: How long a ``NoExecute`` taint is borne; absent means for ever.
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    """How evenly matching pods must be spread over the values of a node label."""

    #: By how many pods two values may differ.
    max_skew: int
    #: The node label.
    topology_key: str
    #: ``DoNotSchedule`` (must) or ``ScheduleAnyway`` (should).
    when_unsatisfiable: str = "DoNotSchedule"
    #: The pods that count; absent means none, empty means none too but for the pod itself.
    label_selector: LabelSelector | None = None
    #: With fewer values than this the least count is taken as 0.
    min_domains: int | None = None
    #: ``Honor`` (when absent) or ``Ignore`` the pod's node affinity when values are counted.
    node_affinity_policy: str | None = None
    #: ``Honor`` or ``Ignore`` (when absent) taints when values are counted.
    node_taints_policy: str | None = None
    #: Keys whose values the API server has copied from this pod into the selector.
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(Wire, frozen=True):
    """A name that must leave the list before the pod is considered."""

    #: The name.
    name: str


class PodResourceClaim(Wire, frozen=True):
    """A claim of devices that must be allocated before the pod can start."""

    #: Name within the pod.
    name: str
    #: The ResourceClaim, in the pod's namespace; absent where a template is named.
    resource_claim_name: str | None = None
    #: The template of which one is made for the pod.
    resource_claim_template_name: str | None = None


# ---------------------------------------------------------------- the pod


class PodSpec(Wire, frozen=True):
    """What a pod is and where it may run."""

    #: Containers.
    containers: tuple[Container, ...] = ()
    #: Run one after the other before the containers; sidecars among them run on.
    init_containers: tuple[Container, ...] = ()
    #: Node the pod is bound to; empty while pending.
    node_name: str = ""
    #: Scheduler that is asked to place the pod.
    scheduler_name: str = ""
    #: Resolved priority; absent before admission.
    priority: int | None = None
    #: Name of the pod's PriorityClass.
    priority_class_name: str = ""
    #: ``Never`` forbids the pod to preempt others; absent means ``PreemptLowerPriority``.
    preemption_policy: str | None = None
    #: Labels that the node must have.
    node_selector: dict[str, str] = NO_TEXTS
    #: Affinities.
    affinity: Affinity | None = None
    #: Taints borne.
    tolerations: tuple[Toleration, ...] = ()
    #: Spreading.
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: Gates; a pod with one waits.
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    #: Volumes.
    volumes: tuple[Volume, ...] = ()
    #: Claims of devices.
    resource_claims: tuple[PodResourceClaim, ...] = ()
    #: What the runtime itself costs, added to the requests.
    overhead: ResourceList = NO_AMOUNTS
    #: Pod-level requests, which stand in for the containers' where stated.
    resources: ResourceRequirements | None = None
    #: The pod's network is the node's: every container port is a host port.
    host_network: bool = False
    #: False for users of its own, apart from the node's.
    host_users: bool | None = None
    #: The runtime that ``overhead`` came from.
    runtime_class_name: str | None = None
    #: Whether containers are started again: ``Always``, ``OnFailure`` or ``Never``.
    restart_policy: str = ""
    #: Seconds that a deletion leaves for a clean end; absent means 30.
    termination_grace_period_seconds: int | None = None

    def __post_init__(self) -> None:
        check(self.overhead, "overhead")


class ContainerStatus(Wire, frozen=True):
    """What the node says of a container; the amounts differ from the spec while it is resized."""

    #: Name within the pod.
    name: str
    #: What the node has set aside.
    allocated_resources: ResourceList = NO_AMOUNTS
    #: What is in force.
    resources: ResourceRequirements | None = None
    #: Image that runs.
    image: str = ""
    #: Its digest.
    image_id: str = msgspec.field(name="imageID", default="")
    #: Whether it serves.
    ready: bool = False
    #: How often it was started again.
    restart_count: int = 0

    def __post_init__(self) -> None:
        check(self.allocated_resources, "allocatedResources")


class PodStatus(Wire, frozen=True):
    """What became of a pod."""

    #: ``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``.
    phase: str = ""
    #: Aspects, such as ``PodScheduled``.
    conditions: tuple[Condition, ...] = ()
    #: Node kept for a preemptor while its victims leave.
    nominated_node_name: str = ""
    #: RFC 3339 time at which a node started the pod.
    start_time: str | None = None
    #: CamelCase word: why the pod is in this phase.
    reason: str = ""
    #: Sentence for humans.
    message: str = ""
    #: Containers, as the node sees them.
    container_statuses: tuple[ContainerStatus, ...] = ()
    #: Init containers, as the node sees them.
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    #: Pod-level amounts that the node has set aside.
    allocated_resources: ResourceList = NO_AMOUNTS
    #: Pod-level amounts in force.
    resources: ResourceRequirements | None = None

    def __post_init__(self) -> None:
        check(self.allocated_resources, "allocatedResources")

    def condition(self, type_: str) -> Condition | None:
        """The condition of that type, if it is told."""
        return next((each for each in self.conditions if each.type == type_), None)


class Pod(Wire, frozen=True):
    """The running unit."""

    #: Identity.
    metadata: ObjectMeta
    #: What it is and where it may run.
    spec: PodSpec
    #: What became of it.
    status: PodStatus = PodStatus()
