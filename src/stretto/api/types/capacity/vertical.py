"""VerticalPodAutoscaler and its checkpoints: requests of containers from their measured use.

The fields are those of ``autoscaling.k8s.io/v1`` that the recommender reads and writes. The
policies of updates besides the mode belong to other components.
"""

from enum import StrEnum
from typing import Final

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.api.wire.meta import Condition, ObjectMeta, Wire
from stretto.api.wire.quantity import check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList

EVERY_CONTAINER: Final = "*"
"""Container name of the policy for containers without a policy of their own."""
CONTROLLED: Final = ("cpu", "memory")
"""Resources that are recommended unless a policy states fewer."""

NO_WEIGHTS: Final[dict[int, int]] = {}
"""Default of the weights of a histogram; msgspec copies it for each object."""


class VerticalUpdateMode(StrEnum):
    """How other components apply the recommendation to pods."""

    #: The recommendation is only published.
    OFF = "Off"
    #: New pods start with the recommendation.
    INITIAL = "Initial"
    #: Pods are also evicted to start again with the recommendation.
    RECREATE = "Recreate"
    #: Former name of ``Recreate``.
    AUTO = "Auto"
    #: Pods are resized without a restart where that is possible, otherwise evicted.
    IN_PLACE_OR_RECREATE = "InPlaceOrRecreate"
    #: Pods are resized without a restart, and never evicted.
    IN_PLACE = "InPlace"


class VerticalUpdatePolicy(Wire, frozen=True):
    """Application of the recommendation."""

    #: How the recommendation is applied to pods.
    update_mode: VerticalUpdateMode = VerticalUpdateMode.RECREATE


class ContainerScalingMode(StrEnum):
    """Whether a container has a recommendation."""

    #: The container has a recommendation.
    AUTO = "Auto"
    #: The container has none.
    OFF = "Off"


class ControlledValues(StrEnum):
    """Values of a container that the recommendation changes when it is applied."""

    #: The request, and the limit in proportion.
    REQUESTS_AND_LIMITS = "RequestsAndLimits"
    #: The request alone.
    REQUESTS_ONLY = "RequestsOnly"


class ContainerVerticalPolicy(Wire, frozen=True):
    """Limits of the recommendation for one container."""

    #: Name of the container; ``*`` for all containers without a policy of their own.
    container_name: str = EVERY_CONTAINER
    #: Whether the container has a recommendation.
    mode: ContainerScalingMode = ContainerScalingMode.AUTO
    #: Lowest recommended amounts; resources without an amount have no minimum.
    min_allowed: ResourceList = NO_AMOUNTS
    #: Highest recommended amounts; resources without an amount have no maximum.
    max_allowed: ResourceList = NO_AMOUNTS
    #: Recommended resources.
    controlled_resources: tuple[str, ...] = CONTROLLED
    #: Values that change when the recommendation is applied; the recommendation is the same.
    controlled_values: ControlledValues = ControlledValues.REQUESTS_AND_LIMITS

    def __post_init__(self) -> None:
        check(self.min_allowed, "minAllowed")
        check(self.max_allowed, "maxAllowed")


class VerticalResourcePolicy(Wire, frozen=True):
    """Limits of the recommendation."""

    #: Policies of containers, each name only once.
    container_policies: tuple[ContainerVerticalPolicy, ...] = ()


class RecommenderName(Wire, frozen=True):
    """A recommender."""

    #: Name of the recommender.
    name: str


class VerticalSpec(Wire, frozen=True):
    """The workload and the limits of its requests."""

    #: The workload that owns the pods, in the namespace of the object.
    target_ref: ScaleTargetRef
    #: Application of the recommendation; null for the mode ``Recreate``.
    update_policy: VerticalUpdatePolicy | None = None
    #: Limits of the recommendation; null for none.
    resource_policy: VerticalResourcePolicy | None = None
    #: The recommender that computes the recommendation; empty for the one named ``default``.
    recommenders: tuple[RecommenderName, ...] = ()


class ContainerRecommendation(Wire, frozen=True):
    """Recommended requests of one container."""

    #: Name of the container.
    container_name: str
    #: Recommended requests, within the policy.
    target: ResourceList
    #: Requests below which the container should be changed, within the policy.
    lower_bound: ResourceList = NO_AMOUNTS
    #: Requests above which the container should be changed, within the policy.
    upper_bound: ResourceList = NO_AMOUNTS
    #: Recommended requests from the use alone, without the policy.
    uncapped_target: ResourceList = NO_AMOUNTS


class VerticalRecommendation(Wire, frozen=True):
    """Recommended requests of the containers of a pod."""

    #: The containers, by name.
    container_recommendations: tuple[ContainerRecommendation, ...] = ()


class VerticalStatus(Wire, frozen=True):
    """The recommendation."""

    #: Recommended requests; null before the first measurement.
    recommendation: VerticalRecommendation | None = None
    #: ``RecommendationProvided``, ``NoPodsMatched``, ``ConfigUnsupported``, ``Measured`` and
    #: ``Applied``.
    conditions: tuple[Condition, ...] = ()
    #: Generation of the spec for which the recommendation was computed.
    observed_generation: int = 0


class VerticalPodAutoscaler(Wire, frozen=True):
    """Requests of the containers of a workload, from their measured use."""

    #: Identity.
    metadata: ObjectMeta
    #: The workload and the limits of its requests.
    spec: VerticalSpec
    #: The recommendation.
    status: VerticalStatus = VerticalStatus()

    @property
    def mode(self) -> VerticalUpdateMode:
        """How other components apply the recommendation."""
        policy = self.spec.update_policy
        return VerticalUpdateMode.RECREATE if policy is None else policy.update_mode


class CheckpointedHistogram(Wire, frozen=True):
    """A histogram of use in which old samples lose weight."""

    #: RFC 3339 time at which a sample has a factor of 1; null for an empty histogram.
    reference_timestamp: str | None = None
    #: Weights by number of the bucket; the largest one is 10,000.
    bucket_weights: dict[int, int] = NO_WEIGHTS
    #: Sum of the original weights.
    total_weight: float = 0.0


class CheckpointedPeak(Wire, frozen=True):
    """The current interval of one instance of a container, of which one peak of memory counts."""

    #: Uid of the pod.
    pod_uid: str
    #: RFC 3339 end of the interval.
    window_end: str
    #: Largest measurement in bytes; 0 without one.
    usage: int = 0
    #: Bytes needed after an out-of-memory kill; 0 without one.
    kill: int = 0
    #: RFC 3339 time of the last counted kill; null without one.
    killed_time: str | None = None


class VerticalCheckpointStatus(Wire, frozen=True):
    """The history of a container."""

    #: RFC 3339 time of the write.
    last_update_time: str | None = None
    #: Version of the form of the histograms.
    version: str = ""
    #: Use of CPU in cores.
    cpu_histogram: CheckpointedHistogram = CheckpointedHistogram()
    #: Peaks of memory in bytes, without those of the current interval.
    memory_histogram: CheckpointedHistogram = CheckpointedHistogram()
    #: RFC 3339 time of the first sample of CPU.
    first_sample_start: str | None = None
    #: RFC 3339 time of the last sample of CPU.
    last_sample_start: str | None = None
    #: Number of samples of CPU.
    total_samples_count: int = 0
    #: Current intervals, whose peaks are not in ``memoryHistogram``.
    memory_peaks: tuple[CheckpointedPeak, ...] = ()


class VerticalCheckpointSpec(Wire, frozen=True):
    """The container of a history."""

    #: Name of the VerticalPodAutoscaler, in the same namespace.
    vpa_object_name: str = ""
    #: Name of the container.
    container_name: str = ""


class VerticalCheckpoint(Wire, frozen=True):
    """The history of a container, so that it survives a restart of the recommender."""

    #: Identity.
    metadata: ObjectMeta
    #: The container.
    spec: VerticalCheckpointSpec = VerticalCheckpointSpec()
    #: The history.
    status: VerticalCheckpointStatus = VerticalCheckpointStatus()
