"""HorizontalPodAutoscalers (autoscaling/v2)."""

from stretto.api.wire.meta import ObjectMeta, Wire
from stretto.api.wire.quantity import Quantity


class ScaleTargetRef(Wire, frozen=True):
    """The workload scaled by an autoscaler."""

    #: Kind.
    kind: str
    #: Name.
    name: str
    #: Group and version.
    api_version: str = ""


class MetricTarget(Wire, frozen=True):
    """The target value of a metric."""

    #: ``Utilization``, ``Value`` or ``AverageValue``.
    type: str
    #: Percent of the requests.
    average_utilization: int | None = None
    #: Value per pod.
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
    """A metric measured by another source."""

    #: The metric.
    metric: MetricIdentifier
    #: Its target.
    target: MetricTarget


class AutoscalerMetric(Wire, frozen=True):
    """One metric of an autoscaler; the member for its type is set."""

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
    #: A metric without an object.
    external: NamedMetric | None = None


class AutoscalerPolicy(Wire, frozen=True):
    """Limit of the change of replicas in a period."""

    #: ``Pods`` or ``Percent``.
    type: str
    #: Number of pods, or percent.
    value: int
    #: Length of the period in seconds.
    period_seconds: int


class AutoscalerRules(Wire, frozen=True):
    """Rules for one direction."""

    #: Seconds of past recommendations to consider; absent for the default.
    stabilization_window_seconds: int | None = None
    #: ``Max``, ``Min`` or ``Disabled``.
    select_policy: str = "Max"
    #: Limits of the rate; empty for the default.
    policies: tuple[AutoscalerPolicy, ...] = ()
    #: Maximum deviation from the target without a change; absent for the default.
    tolerance: Quantity | None = None


class AutoscalerBehavior(Wire, frozen=True):
    """Rules for both directions."""

    #: Rules for scaling up.
    scale_up: AutoscalerRules | None = None
    #: Rules for scaling down.
    scale_down: AutoscalerRules | None = None


class AutoscalerSpec(Wire, frozen=True):
    """Spec of an autoscaler."""

    #: The workload.
    scale_target_ref: ScaleTargetRef
    #: Maximum number of replicas.
    max_replicas: int
    #: Minimum number of replicas.
    min_replicas: int = 1
    #: Metrics; the metric with the highest number of replicas wins.
    metrics: tuple[AutoscalerMetric, ...] = ()
    #: Rules for changes; absent for the default rules.
    behavior: AutoscalerBehavior | None = None


class HorizontalPodAutoscaler(Wire, frozen=True):
    """An autoscaler of the replicas of one workload."""

    #: Identity.
    metadata: ObjectMeta
    #: Target, limits and metrics.
    spec: AutoscalerSpec
