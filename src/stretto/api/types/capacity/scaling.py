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
    """Role of a group."""

    #: The group is filled by its priority.
    NORMAL = "Normal"
    #: The group is filled after all others, and emptied before them.
    EMERGENCY = "Emergency"


class ScalingBound(Wire, frozen=True):
    """Temporary limits of a group, after each tick of a cron expression."""

    #: Five fields in UTC: minute, hour, day of month, month, day of week.
    start: str
    #: Seconds for which the limits apply.
    duration_seconds: int
    #: Minimum number of replicas.
    min: int
    #: Maximum number of replicas.
    max: int


class ScalingGroupSpec(Wire, frozen=True):
    """The replicas of the service in one place."""

    #: Name of the group, for example the name of a data centre.
    name: str
    #: The workload whose replicas the group sets.
    target_ref: ScalingTarget
    #: Maximum number of replicas.
    max: int
    #: Minimum number of replicas.
    min: int = 0
    #: Groups with a lower number are filled first; groups with equal numbers by name.
    priority: int = 0
    #: Role of the group.
    role: ScalingGroupRole = ScalingGroupRole.NORMAL
    #: Number of replicas that start and end together, such as the members of a gang.
    step: int = 1
    #: Temporary limits; if several apply, the first one is used.
    bounds: tuple[ScalingBound, ...] = ()


class ScaleStrategy(StrEnum):
    """Effect of the results of a policy, or of its forecast; the words are those of IHPA."""

    #: Results are only published in the status.
    PREVIEW = "Preview"
    #: Results are applied.
    AUTO = "Auto"


class ScalingForecast(Wire, frozen=True):
    """A forecast of the replicas from their past."""

    #: Name of the predictor.
    predictor: str = "seasonal"
    #: Effect of the forecast: with ``Auto``, replicas follow the forecast if it exceeds
    #: ``replicas``.
    strategy: ScaleStrategy = ScaleStrategy.PREVIEW
    #: Seconds of a season, such as a day.
    season_seconds: int = 86_400
    #: Seconds from now to the time of the forecast: the start-up time of new replicas.
    ahead_seconds: int = 900
    #: Seconds between two samples of ``replicas``.
    sample_seconds: int = 300


class ScalingSpec(Wire, frozen=True):
    """The service and its groups."""

    #: The groups.
    groups: tuple[ScalingGroupSpec, ...]
    #: Replicas over all groups; a HorizontalPodAutoscaler sets them through the scale subresource.
    replicas: int = 0
    #: Maximum number of replicas over all groups; null: only the limits of the groups apply.
    quota: int | None = None
    #: Label selector of the service's pods as text, for a HorizontalPodAutoscaler.
    selector: str = ""
    #: Effect of the division: with ``Auto``, the workloads of the groups are scaled.
    scale_strategy: ScaleStrategy = ScaleStrategy.AUTO
    #: A forecast of the replicas; null for none.
    forecast: ScalingForecast | None = None


class ScalingGroupStatus(Wire, frozen=True):
    """Status of a group."""

    #: Name of the group.
    name: str
    #: Replicas that it sets, or would set in a preview.
    replicas: int = 0
    #: Number of replicas that fit while some are unschedulable; null while all are scheduled.
    fits: int | None = None
    #: Start time of this limit; null without it.
    limited_time: str | None = None


class ScalingForecastGroup(Wire, frozen=True):
    """Forecast for a group."""

    #: Name of the group.
    name: str
    #: Replicas.
    replicas: int = 0


class ScalingForecastStatus(Wire, frozen=True):
    """The forecast and the resulting division."""

    #: Expected replicas; null before the first season is complete.
    replicas: int | None = None
    #: Error of the forecasts of the kept samples, in percent of their sum; null without a forecast.
    error_percent: int | None = None
    #: Division of the larger of the expected and the desired replicas.
    groups: tuple[ScalingForecastGroup, ...] = ()
    #: Time of the last sample.
    sampled_time: str | None = None
    #: The samples of ``replicas`` of up to three seasons, the oldest first.
    samples: tuple[int, ...] = ()


class ScalingStatus(Wire, frozen=True):
    """The division of the replicas."""

    #: Replicas over all groups.
    replicas: int = 0
    #: Number of replicas that fit no group.
    unmet: int = 0
    #: Label selector of the pods as text.
    selector: str = ""
    #: The groups.
    groups: tuple[ScalingGroupStatus, ...] = ()
    #: The forecast; null without one.
    forecast: ScalingForecastStatus | None = None
    #: Generation of the spec that was divided.
    observed_generation: int = 0
    #: ``Divided``: whether all replicas are assigned to a group.
    conditions: tuple[Condition, ...] = ()


class ScalingPolicy(Wire, frozen=True):
    """The replicas of a service, divided among groups."""

    #: Identity.
    metadata: ObjectMeta
    #: The service and its groups.
    spec: ScalingSpec
    #: The division.
    status: ScalingStatus = ScalingStatus()
