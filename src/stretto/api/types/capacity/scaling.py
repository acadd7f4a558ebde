"""ScalingPolicy: the replicas of one service, divided among groups such as data centres."""

from enum import StrEnum

from stretto.api.wire.meta import Condition, ObjectMeta, Wire


class ScalingTarget(Wire, frozen=True):
    """The workload whose replicas a group sets, in the namespace of the policy."""

    #: Kind: Deployment, StatefulSet or ReplicaSet.
    kind: str
    #: Name.
    name: str
    #: API version; ``apps/v1`` for all of these kinds.
    api_version: str = "apps/v1"


class ScalingGroupRole(StrEnum):
    """When a group is filled."""

    #: By its priority.
    NORMAL = "Normal"
    #: After all others, and emptied before them.
    EMERGENCY = "Emergency"


class ScalingBound(Wire, frozen=True):
    """Other limits of a group for a time after each tick of a cron expression."""

    #: Five fields in UTC: minute, hour, day of month, month, day of week.
    start: str
    #: Seconds for which the limits apply.
    duration_seconds: int
    #: Fewest replicas.
    min: int
    #: Most replicas.
    max: int


class ScalingGroupSpec(Wire, frozen=True):
    """The replicas of the service in one place."""

    #: Name of the group, such as that of a data centre.
    name: str
    #: The workload whose replicas it sets.
    target_ref: ScalingTarget
    #: Most replicas.
    max: int
    #: Fewest replicas.
    min: int = 0
    #: Groups with a lower number fill first; equal ones by name.
    priority: int = 0
    #: When it is filled.
    role: ScalingGroupRole = ScalingGroupRole.NORMAL
    #: Replicas that start and end together, such as the members of a gang.
    step: int = 1
    #: Limits at some times; of several that apply, the first one counts.
    bounds: tuple[ScalingBound, ...] = ()


class ScaleStrategy(StrEnum):
    """What a policy, or its forecast, does with what it computes; the words are those of IHPA."""

    #: It is published in the status and changes nothing.
    PREVIEW = "Preview"
    #: It is used.
    AUTO = "Auto"


class ScalingForecast(Wire, frozen=True):
    """A forecast of the replicas from their past."""

    #: Name of the predictor.
    predictor: str = "seasonal"
    #: True if replicas follow the forecast where it is larger than ``replicas``.
    strategy: ScaleStrategy = ScaleStrategy.PREVIEW
    #: Seconds of a season, such as a day.
    season_seconds: int = 86_400
    #: Seconds from now to the time of the forecast: how long new replicas take to be useful.
    ahead_seconds: int = 900
    #: Seconds between two samples of ``replicas``.
    sample_seconds: int = 300


class ScalingSpec(Wire, frozen=True):
    """The service and its groups."""

    #: The groups.
    groups: tuple[ScalingGroupSpec, ...]
    #: Replicas over all groups; a HorizontalPodAutoscaler sets them through the scale subresource.
    replicas: int = 0
    #: Most replicas over all groups; null for no limit beyond that of each group.
    quota: int | None = None
    #: Label selector of the pods of the service as text, for a HorizontalPodAutoscaler.
    selector: str = ""
    #: True if the workloads of the groups are scaled, or the division is only published.
    scale_strategy: ScaleStrategy = ScaleStrategy.AUTO
    #: A forecast of the replicas; null for none.
    forecast: ScalingForecast | None = None


class ScalingGroupStatus(Wire, frozen=True):
    """What a group has."""

    #: Name of the group.
    name: str
    #: Replicas that it sets, or would set in a preview.
    replicas: int = 0
    #: Replicas that fit while some were unschedulable; null while all are scheduled.
    fits: int | None = None
    #: Time since which this limit holds; null without it.
    limited_time: str | None = None


class ScalingForecastGroup(Wire, frozen=True):
    """What a group would have."""

    #: Name of the group.
    name: str
    #: Replicas.
    replicas: int = 0


class ScalingForecastStatus(Wire, frozen=True):
    """The forecast and what it would change."""

    #: Expected replicas; null before the first season is complete.
    replicas: int | None = None
    #: Error of the forecasts of the kept samples in percent of their sum; null without one.
    error_percent: int | None = None
    #: Division of the larger one of the expected and the wanted replicas.
    groups: tuple[ScalingForecastGroup, ...] = ()
    #: Time of the last sample.
    sampled_time: str | None = None
    #: The samples of ``replicas`` of up to three seasons, the oldest first.
    samples: tuple[int, ...] = ()


class ScalingStatus(Wire, frozen=True):
    """The division of the replicas."""

    #: Replicas over all groups.
    replicas: int = 0
    #: Replicas that no group can take.
    unmet: int = 0
    #: Label selector of the pods as text.
    selector: str = ""
    #: The groups.
    groups: tuple[ScalingGroupStatus, ...] = ()
    #: The forecast; null without one.
    forecast: ScalingForecastStatus | None = None
    #: Generation of the spec that was divided.
    observed_generation: int = 0
    #: ``Divided``: whether all replicas have a group.
    conditions: tuple[Condition, ...] = ()


class ScalingPolicy(Wire, frozen=True):
    """The replicas of a service, divided among groups."""

    #: Identity.
    metadata: ObjectMeta
    #: The service and its groups.
    spec: ScalingSpec
    #: The division.
    status: ScalingStatus = ScalingStatus()
