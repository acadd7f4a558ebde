"""HorizontalPodAutoscalers (autoscaling/v2)."""

from stretto.api.wire.meta import ObjectMeta, Wire
from stretto.api.wire.quantity import Quantity


class ScaleTargetRef(Wire, frozen=True):
    """The workload that an autoscaler scales."""

    #: Kind.
    kind: str
    #: Name.
    name: str
    #: Group and version.
    api_version: str = ""


class MetricTarget(Wire, frozen=True):
    """The value to which a metric is brought."""

    #: ``Utilization``, ``Value`` or ``AverageValue``.
    type: str
    #: Percent of the requests.
    average_utilization: int | None = None
    #: Value of a pod.
    average_value: Quantity | None = None
    #: Value of the whole workload.
    value: Quantity | None = None


class ResourceMetric(Wire, frozen=True):
    """The use of a resource."""

    #: The resource.
    name: str
    #: Its target.
    target: MetricTarget
    #: The container; empty for whole pods.
    container: str = ""


class MetricIdentifier(Wire, frozen=True):
    """A metric of another source."""

    #: Its name.
    name: str


class NamedMetric(Wire, frozen=True):
    """A metric that another source measures."""

    #: The metric.
    metric: MetricIdentifier
    #: Its target.
    target: MetricTarget


class AutoscalerMetric(Wire, frozen=True):
    """One metric of an autoscaler; the member that its type names is present."""

    #: ``Resource``, ``ContainerResource``, ``Pods``, ``Object`` or ``External``.
    type: str
    #: Use of pods.
    resource: ResourceMetric | None = None
    #: Use of one container of each pod.
    container_resource: ResourceMetric | None = None
    #: A metric of each pod.
    pods: NamedMetric | None = None
    #: A metric of another object.
    object: NamedMetric | None = None
    #: A metric of no object.
    external: NamedMetric | None = None


class AutoscalerPolicy(Wire, frozen=True):
    """How much the replicas may change in a period."""

    #: ``Pods`` or ``Percent``.
    type: str
    #: Pods or percent.
    value: int
    #: Seconds.
    period_seconds: int


class AutoscalerRules(Wire, frozen=True):
    """Rules of one direction."""

    #: Seconds over which recommendations count; absent for the default.
    stabilization_window_seconds: int | None = None
    #: ``Max``, ``Min`` or ``Disabled``.
    select_policy: str = "Max"
    #: Limits of the rate; empty for the default.
    policies: tuple[AutoscalerPolicy, ...] = ()
    #: Deviation from the target that changes nothing; absent for the default.
    tolerance: Quantity | None = None


class AutoscalerBehavior(Wire, frozen=True):
    """Rules of both directions."""

    #: Growth.
    scale_up: AutoscalerRules | None = None
    #: Shrinking.
    scale_down: AutoscalerRules | None = None


class AutoscalerSpec(Wire, frozen=True):
    """What an autoscaler does."""

    #: The workload.
    scale_target_ref: ScaleTargetRef
    #: Most replicas.
    max_replicas: int
    #: Fewest replicas.
    min_replicas: int = 1
    #: Metrics; the one that asks for the most replicas wins.
    metrics: tuple[AutoscalerMetric, ...] = ()
    #: Rules of change; absent for the rules of autoscalers without a behavior.
    behavior: AutoscalerBehavior | None = None


class HorizontalPodAutoscaler(Wire, frozen=True):
    """An autoscaler of the replicas of one workload."""

    #: Identity.
    metadata: ObjectMeta
    #: What it does.
    spec: AutoscalerSpec
