"""Pods: the fields that scheduling reads; all other fields stay in the raw bytes."""

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

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""Terms of an affinity that a node must meet."""
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
"""Terms of an affinity that add to the score of a node."""

# ---------------------------------------------------------------- containers


class ContainerPort(Wire, frozen=True):
    """A port of a container."""

    #: The port inside the pod.
    container_port: int
    #: The port on the node; 0 for none.
    host_port: int = 0
    #: The address of the node; empty means all.
    host_ip: str = msgspec.field(name="hostIP", default="")
    #: ``TCP``, ``UDP`` or ``SCTP``.
    protocol: str = "TCP"
    #: Name within the pod.
    name: str = ""


class RestartRule(Wire, frozen=True):
    """Action after a container has ended in a certain way."""

    #: ``Restart``, or ``RestartAllContainers``, which not every node supports.
    action: str = ""


class Container(Wire, frozen=True):
    """One container of a pod."""

    #: Name within the pod.
    name: str = ""
    #: Image reference, for image locality.
    image: str = ""
    #: Requests and limits.
    resources: ResourceRequirements = ResourceRequirements()
    #: Ports; scheduling reads those with a host port.
    ports: tuple[ContainerPort, ...] = ()
    #: ``Always`` on an init container makes it a sidecar, which runs alongside the containers.
    restart_policy: str | None = None
    #: Actions by exit code; they take precedence over ``restart_policy``.
    restart_policy_rules: tuple[RestartRule, ...] = ()

    @property
    def sidecar(self) -> bool:
        """Return whether this init container is a sidecar."""
        return self.restart_policy == "Always"


# ---------------------------------------------------------------- placement


class PreferredNodes(Wire, frozen=True):
    """A weighted preference for nodes."""

    #: Weight: 1 to 100.
    weight: int
    #: Rules on the nodes.
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    """Required and preferred nodes of a pod."""

    #: Required terms; absent means any node.
    required: NodeSelector | None = msgspec.field(name=REQUIRED, default=None)
    #: Preferred terms.
    preferred: tuple[PreferredNodes, ...] = msgspec.field(name=PREFERRED, default=())


class PodAffinityTerm(Wire, frozen=True):
    """Pods of a domain to which an affinity or anti-affinity refers."""

    #: The node label whose values are the domains.
    topology_key: str
    #: Selector of the pods; absent matches none.
    label_selector: LabelSelector | None = None
    #: Their namespaces; if empty and without a selector, the namespace of the pod.
    namespaces: tuple[str, ...] = ()
    #: Selector of their namespaces; empty matches all.
    namespace_selector: LabelSelector | None = None
    #: Keys whose values the API server copies from this pod into the selector.
    match_label_keys: tuple[str, ...] = ()
    #: Keys whose values the API server excludes in the selector.
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A weighted preference for, or against, a domain."""

    #: Weight: 1 to 100.
    weight: int
    #: The term.
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire, frozen=True):
    """Required and preferred terms of an affinity or anti-affinity."""

    #: Required terms, all of them.
    required: tuple[PodAffinityTerm, ...] = msgspec.field(name=REQUIRED, default=())
    #: Preferred terms.
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(name=PREFERRED, default=())


class Affinity(Wire, frozen=True):
    """All affinities of a pod."""

    #: Affinity to nodes.
    node_affinity: NodeAffinity | None = None
    #: Affinity to pods.
    pod_affinity: PodAffinity | None = None
    #: Anti-affinity to pods.
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Wire, frozen=True):
    """Taints that the pod tolerates."""

    #: Key of the taint; empty (with ``Exists``) matches every key.
    key: str = ""
    #: ``Equal`` (when empty) or ``Exists``.
    operator: str = ""
    #: Value of the taint, for ``Equal``.
    value: str = ""
    #: Effect of the taint; empty matches every effect.
    effect: str = ""
    #: Seconds for which a ``NoExecute`` taint is tolerated; absent means without limit.
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    """Even spreading of matching pods over the values of a node label."""

    #: Maximum difference in the number of pods between two values.
    max_skew: int
    #: The node label.
    topology_key: str
    #: ``DoNotSchedule`` (required) or ``ScheduleAnyway`` (preferred).
    when_unsatisfiable: str = "DoNotSchedule"
    #: Selector of the pods; absent matches none, empty matches none except the pod itself.
    label_selector: LabelSelector | None = None
    #: Minimum number of values; with fewer values, the smallest count is 0.
    min_domains: int | None = None
    #: Whether the node affinity limits the values: ``Honor`` (when absent) or ``Ignore``.
    node_affinity_policy: str | None = None
    #: Whether taints limit the values: ``Honor`` or ``Ignore`` (when absent).
    node_taints_policy: str | None = None
    #: Keys whose values the API server copies from this pod into the selector.
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(Wire, frozen=True):
    """A gate that must be removed before the pod is scheduled."""

    #: The name.
    name: str


class PodResourceClaim(Wire, frozen=True):
    """A claim of devices that must be allocated before the pod starts."""

    #: Name within the pod.
    name: str
    #: The ResourceClaim, in the namespace of the pod; absent if a template is set.
    resource_claim_name: str | None = None
    #: The template from which a claim is created for the pod.
    resource_claim_template_name: str | None = None


# ---------------------------------------------------------------- the pod


class PodSpec(Wire, frozen=True):
    """Desired state of a pod."""

    #: Containers.
    containers: tuple[Container, ...] = ()
    #: Init containers, which run one after another before the containers; sidecars keep running.
    init_containers: tuple[Container, ...] = ()
    #: Node to which the pod is bound; empty while pending.
    node_name: str = ""
    #: Scheduler that places the pod.
    scheduler_name: str = ""
    #: Resolved priority; absent before admission.
    priority: int | None = None
    #: Name of the pod's PriorityClass.
    priority_class_name: str = ""
    #: ``Never`` forbids preemption by the pod; absent means ``PreemptLowerPriority``.
    preemption_policy: str | None = None
    #: Labels that the node must have.
    node_selector: dict[str, str] = NO_TEXTS
    #: Affinities.
    affinity: Affinity | None = None
    #: Tolerations.
    tolerations: tuple[Toleration, ...] = ()
    #: Spreading constraints.
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: Scheduling gates; a gated pod is not scheduled.
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    #: Volumes.
    volumes: tuple[Volume, ...] = ()
    #: Claims of devices.
    resource_claims: tuple[PodResourceClaim, ...] = ()
    #: Overhead of the runtime, added to the requests.
    overhead: ResourceList = NO_AMOUNTS
    #: Pod-level requests, which replace those of the containers.
    resources: ResourceRequirements | None = None
    #: True if the pod uses the network of the node: every container port is a host port.
    host_network: bool = False
    #: False if the pod has a user namespace of its own.
    host_users: bool | None = None
    #: Runtime class from which ``overhead`` comes.
    runtime_class_name: str | None = None
    #: Restart policy of containers: ``Always``, ``OnFailure`` or ``Never``.
    restart_policy: str = ""
    #: Grace period in seconds after a deletion; absent means 30.
    termination_grace_period_seconds: int | None = None

    def __post_init__(self) -> None:
        check(self.overhead, "overhead")


class ContainerStatus(Wire, frozen=True):
    """Observed state of a container; the amounts differ from the spec during a resize."""

    #: Name within the pod.
    name: str
    #: Amounts allocated by the node.
    allocated_resources: ResourceList = NO_AMOUNTS
    #: Amounts currently in effect.
    resources: ResourceRequirements | None = None
    #: Running image.
    image: str = ""
    #: Its digest.
    image_id: str = msgspec.field(name="imageID", default="")
    #: True if the container is ready.
    ready: bool = False
    #: Number of restarts.
    restart_count: int = 0

    def __post_init__(self) -> None:
        check(self.allocated_resources, "allocatedResources")


class PodStatus(Wire, frozen=True):
    """Observed state of a pod."""

    #: ``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``.
    phase: str = ""
    #: Conditions, such as ``PodScheduled``.
    conditions: tuple[Condition, ...] = ()
    #: Node nominated for a preemptor until its victims are gone.
    nominated_node_name: str = ""
    #: RFC 3339 time at which the node started the pod.
    start_time: str | None = None
    #: Reason for the phase, one CamelCase word.
    reason: str = ""
    #: Message for users.
    message: str = ""
    #: Observed containers.
    container_statuses: tuple[ContainerStatus, ...] = ()
    #: Observed init containers.
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    #: Pod-level amounts allocated by the node.
    allocated_resources: ResourceList = NO_AMOUNTS
    #: Pod-level amounts currently in effect.
    resources: ResourceRequirements | None = None

    def __post_init__(self) -> None:
        check(self.allocated_resources, "allocatedResources")

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of a type, or None."""
        return next((each for each in self.conditions if each.type == type_), None)


class Pod(Wire, frozen=True):
    """A pod."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: PodSpec
    #: Observed state.
    status: PodStatus = PodStatus()
