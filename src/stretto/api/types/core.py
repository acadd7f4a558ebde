"""Kinds of the core group other than the pod, budgets, priority classes and leases."""

import msgspec

from stretto.api.wire.meta import (
    NO_TEXTS,
    Condition,
    LabelSelector,
    ObjectMeta,
    ObjectReference,
    Wire,
)
from stretto.api.wire.quantity import check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList

# ---------------------------------------------------------------- nodes


class Taint(Wire, frozen=True):
    """Repels pods that do not tolerate it."""

    #: Key.
    key: str
    #: ``NoSchedule``, ``PreferNoSchedule`` or ``NoExecute``.
    effect: str
    #: Value, compared by tolerations with ``Equal``.
    value: str = ""
    #: RFC 3339 time at which a ``NoExecute`` taint was set.
    time_added: str | None = None


class NodeSpec(Wire, frozen=True):
    """Desired state of a node."""

    #: Taints.
    taints: tuple[Taint, ...] = ()
    #: True if the node is cordoned: no new pods are bound to it.
    unschedulable: bool = False
    #: Name of the machine at the cloud provider.
    provider_id: str = msgspec.field(name="providerID", default="")
    #: Address range of its pods.
    pod_cidr: str = msgspec.field(name="podCIDR", default="")


class NodeAddress(Wire, frozen=True):
    """One address of a node."""

    #: ``InternalIP``, ``Hostname``, ...
    type: str
    #: The address.
    address: str


class ContainerImage(Wire, frozen=True):
    """An image that is present on a node."""

    #: All names of the image.
    names: tuple[str, ...] = ()
    #: Size in bytes.
    size_bytes: int = 0


class NodeStatus(Wire, frozen=True):
    """Observed state of a node."""

    #: Total amounts.
    capacity: ResourceList = NO_AMOUNTS
    #: Amounts that pods can request.
    allocatable: ResourceList = NO_AMOUNTS
    #: Conditions, such as ``Ready``.
    conditions: tuple[Condition, ...] = ()
    #: Images present on the node.
    images: tuple[ContainerImage, ...] = ()
    #: Addresses.
    addresses: tuple[NodeAddress, ...] = ()
    #: Optional features of its kubelet.
    declared_features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self.capacity, "capacity")
        check(self.allocatable, "allocatable")


class Node(Wire, frozen=True):
    """A node of the cluster."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: NodeSpec = NodeSpec()
    #: Observed state.
    status: NodeStatus = NodeStatus()


# ---------------------------------------------------------------- namespaces, services


class Namespace(Wire, frozen=True):
    """A namespace, selected by its labels."""

    #: Identity and labels.
    metadata: ObjectMeta


class ServiceSpec(Wire, frozen=True):
    """The pods behind a service."""

    #: Labels of the pods; an empty map matches no pods.
    selector: dict[str, str] = NO_TEXTS


class Service(Wire, frozen=True):
    """Pods behind one address; default spreading counts them as one group."""

    #: Identity.
    metadata: ObjectMeta
    #: Selector of the pods.
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Wire, frozen=True):
    """Configuration as strings by name."""

    #: Identity.
    metadata: ObjectMeta
    #: The strings.
    data: dict[str, str] = NO_TEXTS


# ---------------------------------------------------------------- bindings and events


class Binding(Wire, frozen=True):
    """Assignment of a pod to a node."""

    #: Namespace, name and uid of the pod.
    metadata: ObjectMeta
    #: The node.
    target: ObjectReference


class EventSource(Wire, frozen=True):
    """Source of an event (older form)."""

    #: The program.
    component: str = ""
    #: Its host.
    host: str = ""


class EventSeries(Wire, frozen=True):
    """Repetitions of an event."""

    #: Number of occurrences.
    count: int = 0
    #: RFC 3339 time of the last occurrence.
    last_observed_time: str | None = None


class Event(Wire, frozen=True):
    """Report of something that happened to an object."""

    #: Identity of the event.
    metadata: ObjectMeta
    #: The object.
    involved_object: ObjectReference
    #: Reason, one CamelCase word for programs.
    reason: str = ""
    #: Message for users.
    message: str = ""
    #: ``Normal`` or ``Warning``.
    type: str = ""
    #: The action, one CamelCase word.
    action: str = ""
    #: A second object involved in the action.
    related: ObjectReference | None = None
    #: Source (older form).
    source: EventSource = EventSource()
    #: RFC 3339 time of the first occurrence (older form).
    first_timestamp: str | None = None
    #: RFC 3339 time of the last occurrence (older form).
    last_timestamp: str | None = None
    #: Number of occurrences (older form).
    count: int = 0
    #: RFC 3339 time of the occurrence, with microseconds.
    event_time: str | None = None
    #: Repetitions (newer form).
    series: EventSeries | None = None
    #: Name of the reporting program.
    reporting_component: str = ""
    #: Instance of the reporting program.
    reporting_instance: str = ""


# ---------------------------------------------------------------- policy


class PriorityClass(Wire, frozen=True):
    """Name of a priority."""

    #: Identity.
    metadata: ObjectMeta
    #: The priority; a pod can preempt pods of lower priority.
    value: int
    #: True if the class applies to pods without a class.
    global_default: bool = False
    #: Description for users.
    description: str = ""
    #: ``Never`` or ``PreemptLowerPriority`` (when absent).
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """Desired availability of a set of pods."""

    #: Selector of the pods; absent matches none, empty all pods of the namespace.
    selector: LabelSelector | None = None
    #: Minimum number of available pods, or a percentage.
    min_available: int | str | None = None
    #: Maximum number of unavailable pods, or a percentage.
    max_unavailable: int | str | None = None
    #: Policy for pods that are not ready: ``IfHealthyBudget`` (when absent) or ``AlwaysAllow``.
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """Disruptions that a budget currently allows."""

    #: Number of allowed disruptions.
    disruptions_allowed: int = 0
    #: Number of healthy pods.
    current_healthy: int = 0
    #: Minimum number of healthy pods.
    desired_healthy: int = 0
    #: Number of pods that the budget counts.
    expected_pods: int = 0
    #: Pods whose disruption is in progress and counted, with the RFC 3339 time.
    disrupted_pods: dict[str, str | None] = msgspec.field(default_factory=dict)
    #: Generation of the observed spec.
    observed_generation: int = 0


class PodDisruptionBudget(Wire, frozen=True):
    """Limits simultaneous voluntary disruptions of pods."""

    #: Identity.
    metadata: ObjectMeta
    #: The budget.
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    #: Remaining disruptions.
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class LeaseSpec(Wire, frozen=True):
    """Holder and duration of a lease."""

    #: The holder; empty after release.
    holder_identity: str = ""
    #: Seconds of validity after ``renew_time``.
    lease_duration_seconds: int | None = None
    #: RFC 3339 time with microseconds at which the holder acquired the lease.
    acquire_time: str | None = None
    #: RFC 3339 time with microseconds of the last renewal.
    renew_time: str | None = None
    #: Number of changes of the holder.
    lease_transitions: int = 0


class Lease(Wire, frozen=True):
    """Elects one leader among several candidates."""

    #: Identity.
    metadata: ObjectMeta
    #: Holder and duration.
    spec: LeaseSpec = LeaseSpec()
