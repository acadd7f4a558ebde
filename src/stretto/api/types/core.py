"""Kubernetes' own kinds beside the pod: nodes, bindings, events, budgets, classes, leases."""

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
    """Keeps pods away that do not tolerate it."""

    #: What it is about.
    key: str
    #: ``NoSchedule``, ``PreferNoSchedule`` or ``NoExecute``.
    effect: str
    #: Told apart by tolerations with ``Equal``.
    value: str = ""
    #: RFC 3339 time at which a ``NoExecute`` taint was set.
    time_added: str | None = None


class NodeSpec(Wire, frozen=True):
    """What somebody wants of a node."""

    #: Taints.
    taints: tuple[Taint, ...] = ()
    #: Cordoned: no new pods.
    unschedulable: bool = False
    #: The cloud's name for the machine.
    provider_id: str = msgspec.field(name="providerID", default="")
    #: Addresses for its pods.
    pod_cidr: str = msgspec.field(name="podCIDR", default="")


class NodeAddress(Wire, frozen=True):
    """One address of a node."""

    #: ``InternalIP``, ``Hostname``, ...
    type: str
    #: The address.
    address: str


class ContainerImage(Wire, frozen=True):
    """An image that a node has already."""

    #: All names of it.
    names: tuple[str, ...] = ()
    #: Bytes.
    size_bytes: int = 0


class NodeStatus(Wire, frozen=True):
    """What a node says of itself."""

    #: All it has.
    capacity: ResourceList = NO_AMOUNTS
    #: What pods may have of it.
    allocatable: ResourceList = NO_AMOUNTS
    #: Aspects, such as ``Ready``.
    conditions: tuple[Condition, ...] = ()
    #: Images it has.
    images: tuple[ContainerImage, ...] = ()
    #: Its addresses.
    addresses: tuple[NodeAddress, ...] = ()
    #: What its kubelet can do of what not every kubelet can.
    declared_features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self.capacity, "capacity")
        check(self.allocatable, "allocatable")


class Node(Wire, frozen=True):
    """A machine."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted of it.
    spec: NodeSpec = NodeSpec()
    #: What it says of itself.
    status: NodeStatus = NodeStatus()


# ---------------------------------------------------------------- namespaces, services


class Namespace(Wire, frozen=True):
    """A room of names; selected by its labels."""

    #: Identity and labels.
    metadata: ObjectMeta


class ServiceSpec(Wire, frozen=True):
    """The pods behind a service."""

    #: Labels of the pods; none means no pods.
    selector: dict[str, str] = NO_TEXTS


class Service(Wire, frozen=True):
    """A group of pods with one address; the default spreading is over these groups."""

    #: Identity.
    metadata: ObjectMeta
    #: Its pods.
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Wire, frozen=True):
    """Texts by name."""

    #: Identity.
    metadata: ObjectMeta
    #: The texts.
    data: dict[str, str] = NO_TEXTS


# ---------------------------------------------------------------- bindings and events


class Binding(Wire, frozen=True):
    """The decision: this pod goes to that node."""

    #: The pod's namespace, name and uid.
    metadata: ObjectMeta
    #: The node.
    target: ObjectReference


class EventSource(Wire, frozen=True):
    """Who tells an event (the older form)."""

    #: The program.
    component: str = ""
    #: Its machine.
    host: str = ""


class EventSeries(Wire, frozen=True):
    """An event told again and again."""

    #: How often.
    count: int = 0
    #: RFC 3339 time of the latest.
    last_observed_time: str | None = None


class Event(Wire, frozen=True):
    """Something that happened to an object, told to humans."""

    #: Identity of the event itself.
    metadata: ObjectMeta
    #: What it happened to.
    involved_object: ObjectReference
    #: CamelCase word for machines.
    reason: str = ""
    #: Sentence for humans.
    message: str = ""
    #: ``Normal`` or ``Warning``.
    type: str = ""
    #: What was done, CamelCase.
    action: str = ""
    #: Another object concerned.
    related: ObjectReference | None = None
    #: Who tells it (the older form).
    source: EventSource = EventSource()
    #: RFC 3339 time of the first, in the older form.
    first_timestamp: str | None = None
    #: RFC 3339 time of the latest, in the older form.
    last_timestamp: str | None = None
    #: How often, in the older form.
    count: int = 0
    #: RFC 3339 time with microseconds.
    event_time: str | None = None
    #: Repetition, in the newer form.
    series: EventSeries | None = None
    #: Who tells it.
    reporting_component: str = ""
    #: Which one of them.
    reporting_instance: str = ""


# ---------------------------------------------------------------- policy


class PriorityClass(Wire, frozen=True):
    """A name for a priority."""

    #: Identity.
    metadata: ObjectMeta
    #: The priority; a pod of a higher one may push out pods of a lower one.
    value: int
    #: Whether it stands where a pod names no class.
    global_default: bool = False
    #: For humans.
    description: str = ""
    #: ``Never`` or ``PreemptLowerPriority`` (when absent).
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """How many pods may be missing."""

    #: The pods; absent means none, empty means all of the namespace.
    selector: LabelSelector | None = None
    #: How many must stay, a number or a percentage.
    min_available: int | str | None = None
    #: How many may be missing, a number or a percentage.
    max_unavailable: int | str | None = None
    #: ``IfHealthyBudget`` (when absent) or ``AlwaysAllow`` for pods that are not ready.
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """How many more pods may be disrupted just now."""

    #: Disruptions left.
    disruptions_allowed: int = 0
    #: Pods that are healthy.
    current_healthy: int = 0
    #: Pods that must stay healthy.
    desired_healthy: int = 0
    #: Pods that count.
    expected_pods: int = 0
    #: Pods being disrupted and already counted, with the RFC 3339 time.
    disrupted_pods: dict[str, str | None] = msgspec.field(default_factory=dict)
    #: Generation of the spec that this speaks of.
    observed_generation: int = 0


class PodDisruptionBudget(Wire, frozen=True):
    """Protects pods from being disrupted together."""

    #: Identity.
    metadata: ObjectMeta
    #: The budget.
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    #: What is left of it.
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class LeaseSpec(Wire, frozen=True):
    """Who holds a lease and for how long."""

    #: The holder; empty when given up.
    holder_identity: str = ""
    #: Seconds it is good for after ``renew_time``.
    lease_duration_seconds: int | None = None
    #: RFC 3339 time with microseconds: first taken by this holder.
    acquire_time: str | None = None
    #: RFC 3339 time with microseconds: last renewed.
    renew_time: str | None = None
    #: How often it changed hands.
    lease_transitions: int = 0


class Lease(Wire, frozen=True):
    """Elects one among several."""

    #: Identity.
    metadata: ObjectMeta
    #: Who holds it.
    spec: LeaseSpec = LeaseSpec()
