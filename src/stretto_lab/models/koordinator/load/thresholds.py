"""Classes of nodes by measured load: receivers and nodes to unload.

Source: Koordinator's ``descheduler/framework/plugins/loadaware`` (``utilization_util.go``).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stretto_lab.models.koordinator.demand import Amounts

FULL: Final = 100.0
"""Percent of a resource without a threshold."""
MEMORY: Final = "memory"
"""The resource that is always measured."""


class LoadClass(Enum):
    """Role of a node in the rebalancing."""

    #: The node receives any pod.
    LOW = "low"
    #: The node receives any pod; the use of its online pods is low, too.
    BOTH_LOW = "both_low"
    #: The node receives online pods.
    PROD_LOW = "prod_low"
    #: Pods of any class are moved away from the node.
    HIGH = "high"
    #: Online pods are moved away from the node.
    PROD_HIGH = "prod_high"


@dataclass(frozen=True)
class Percents:
    """Thresholds in percent of the allocatable amount, by resource."""

    #: Low thresholds: a node is low if all resources are at or below them.
    low: Mapping[str, float]
    #: High thresholds: a node is high if a resource is above one of them. A resource without a low
    #: threshold has none, and one with a low threshold only is high as soon as it is used.
    high: Mapping[str, float]


@dataclass(frozen=True)
class LoadLimits:
    """Thresholds of a pool of nodes."""

    #: Thresholds of all use; their resources are measured.
    node: Percents
    #: Thresholds of the use of online pods; missing resources are never low or high.
    prod: Percents = field(default_factory=lambda: Percents({}, {}))
    #: True if the percentages are distances from the mean of the pool.
    deviation: bool = False

    @property
    def resources(self) -> list[str]:
        """Names of the measured resources."""
        sides = (self.node, self.prod)
        return sorted({MEMORY}.union(*(each.low for each in sides), *(each.high for each in sides)))


@dataclass(frozen=True)
class LoadedMember:
    """A node of the pool with a valid report."""

    #: Name.
    name: str
    #: Allocatable amounts before amplification; the thresholds are percentages of them.
    base: Amounts
    #: Allocatable amounts that limit the requests.
    allocatable: Amounts
    #: Measured use.
    usage: dict[str, int]
    #: Measured use of online pods.
    prod_usage: dict[str, int]
    #: True if the node accepts no new pods.
    unschedulable: bool = False


@dataclass(frozen=True)
class LoadBounds:
    """Thresholds of one node in amounts."""

    #: Low thresholds, by resource.
    low: Amounts
    #: High thresholds, by resource.
    high: Amounts

    def is_low(self, usage: Amounts) -> bool:
        """Return whether no resource is above its low threshold."""
        return all(usage.get(name, 0) <= limit for name, limit in self.low.items())

    def exceeded(self, usage: Amounts) -> list[str]:
        """Resources above their high threshold."""
        return [name for name, limit in self.high.items() if usage.get(name, 0) > limit]


@dataclass(frozen=True)
class NodeBounds:
    """Thresholds of one node."""

    #: Thresholds of all use.
    node: LoadBounds
    #: Thresholds of the use of online pods.
    prod: LoadBounds


def bounds(members: Sequence[LoadedMember], limits: LoadLimits) -> dict[str, NodeBounds]:
    """Thresholds of every node, by name."""
    names = limits.resources
    node_mean = _mean([(each.usage, each.base) for each in members], names)
    prod_mean = _mean([(each.prod_usage, each.base) for each in members], names)
    means = (node_mean, prod_mean) if limits.deviation else (None, None)
    return {
        each.name: NodeBounds(
            _bounds(each.base, limits.node, names, means[0]),
            _bounds(each.base, limits.prod, names, means[1]),
        )
        for each in members
    }


def classify(
    members: Iterable[LoadedMember], limits: Mapping[str, NodeBounds]
) -> dict[LoadClass, list[LoadedMember]]:
    """Group nodes by class; a node between the thresholds has no class."""
    found: dict[LoadClass, list[LoadedMember]] = {each: [] for each in LoadClass}
    for member in members:
        load_class = _class_of(member, limits[member.name])
        if load_class is not None:
            found[load_class].append(member)
    return found


def _class_of(member: LoadedMember, limits: NodeBounds) -> LoadClass | None:
    prod_low = limits.prod.is_low(member.prod_usage) and not member.unschedulable
    prod_high = bool(limits.prod.exceeded(member.prod_usage))
    if limits.node.is_low(member.usage) and not member.unschedulable:
        if prod_high:
            return LoadClass.PROD_HIGH
        return LoadClass.BOTH_LOW if prod_low else LoadClass.LOW
    if limits.node.exceeded(member.usage):
        return LoadClass.HIGH
    if prod_high:
        return LoadClass.PROD_HIGH
    return LoadClass.PROD_LOW if prod_low else None


def _bounds(
    base: Amounts, percents: Percents, names: Iterable[str], mean: Mapping[str, float] | None
) -> LoadBounds:
    low, high = {}, {}
    for name in names:
        whole = base.get(name, 0)
        if mean is None:
            given = name in percents.low
            low[name] = _part(whole, percents.low[name] if given else FULL)
            high[name] = _part(whole, percents.high.get(name, 0.0) if given else FULL)
        elif not percents.low.get(name, 0):
            low[name] = high[name] = whole
        else:
            low[name] = _part(whole, _bounded(mean[name] - percents.low[name]))
            high[name] = _part(whole, _bounded(mean[name] + percents.high.get(name, 0)))
    return LoadBounds(low, high)


def _bounded(percent: float) -> float:
    return min(max(percent, 0.0), FULL)


def _part(whole: int, percent: float) -> int:
    return int(percent * 0.01 * whole)


def _mean(measured: Sequence[tuple[Amounts, Amounts]], names: Iterable[str]) -> Mapping[str, float]:
    means = {}
    for name in names:
        shares = [
            usage.get(name, 0) / whole[name] * 100 if whole.get(name) else 0.0
            for usage, whole in measured
        ]
        means[name] = sum(shares) / max(len(shares), 1)
    return means
