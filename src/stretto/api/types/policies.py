"""Kinds that admission reads: LimitRange, ResourceQuota and RuntimeClass."""

from stretto.api.types.pod import Toleration
from stretto.api.wire.meta import NO_TEXTS, ObjectMeta, Wire
from stretto.api.wire.quantity import check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList


class LimitRangeItem(Wire, frozen=True):
    """Bounds and defaults of one type of object."""

    #: ``Container``, ``Pod`` or ``PersistentVolumeClaim``.
    type: str
    #: Minimum amounts.
    min: ResourceList = NO_AMOUNTS
    #: Maximum amounts.
    max: ResourceList = NO_AMOUNTS
    #: Default limits of containers.
    default: ResourceList = NO_AMOUNTS
    #: Default requests of containers.
    default_request: ResourceList = NO_AMOUNTS
    #: Maximum ratio of limit to request.
    max_limit_request_ratio: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.min, "min")
        check(self.max, "max")
        check(self.default, "default")
        check(self.default_request, "defaultRequest")
        check(self.max_limit_request_ratio, "maxLimitRequestRatio")


class LimitRangeSpec(Wire, frozen=True):
    """All entries of a LimitRange."""

    #: The entries.
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Wire, frozen=True):
    """Bounds and defaults of the objects of a namespace."""

    #: Identity.
    metadata: ObjectMeta
    #: The bounds.
    spec: LimitRangeSpec = LimitRangeSpec()


class QuotaScope(Wire, frozen=True):
    """A rule on the pods that a quota counts."""

    #: The aspect: ``PriorityClass``, ``BestEffort``, ``Terminating``, ...
    scope_name: str
    #: ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``.
    operator: str = "Exists"
    #: Values to compare with.
    values: tuple[str, ...] = ()


class QuotaScopeSelector(Wire, frozen=True):
    """A conjunction of rules on pods."""

    #: The rules.
    match_expressions: tuple[QuotaScope, ...] = ()


class ResourceQuotaSpec(Wire, frozen=True):
    """Limits on the total requests of the objects of a namespace."""

    #: The limits, by resource.
    hard: ResourceList = NO_AMOUNTS
    #: Names of scopes; a counted pod has all of them.
    scopes: tuple[str, ...] = ()
    #: Rules on the counted pods.
    scope_selector: QuotaScopeSelector | None = None

    def __post_init__(self) -> None:
        check(self.hard, "hard")


class ResourceQuotaStatus(Wire, frozen=True):
    """Observed usage."""

    #: The effective limits.
    hard: ResourceList = NO_AMOUNTS
    #: The usage, by resource.
    used: ResourceList = NO_AMOUNTS


class ResourceQuota(Wire, frozen=True):
    """Limits on a namespace."""

    #: Identity.
    metadata: ObjectMeta
    #: The limits.
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    #: The usage.
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class RuntimeOverhead(Wire, frozen=True):
    """Overhead of a runtime in addition to the containers."""

    #: Amounts per pod.
    pod_fixed: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.pod_fixed, "podFixed")


class RuntimeScheduling(Wire, frozen=True):
    """Nodes that support a runtime."""

    #: Labels of these nodes.
    node_selector: dict[str, str] = NO_TEXTS
    #: Tolerations of the pods.
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Wire, frozen=True):
    """A runtime of containers."""

    #: Identity.
    metadata: ObjectMeta
    #: Name of the runtime on the nodes.
    handler: str = ""
    #: Overhead of its pods.
    overhead: RuntimeOverhead | None = None
    #: Nodes of its pods.
    scheduling: RuntimeScheduling | None = None
