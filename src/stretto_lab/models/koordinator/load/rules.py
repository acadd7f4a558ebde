"""Filter and score of nodes by measured load.

Source: Koordinator's ``loadaware/load_aware.go``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stretto.base.errors import InputError
from stretto_lab.models.koordinator.demand import Amounts
from stretto_lab.models.koordinator.load import usage as usages
from stretto_lab.models.koordinator.load.usage import LATEST, AssignedPod, NodeReport, Percentile

DEFAULT_THRESHOLDS: Final[Mapping[str, int]] = {"cpu": 65, "memory": 95}
"""Percent of a node above which no pod is placed."""
DEFAULT_WEIGHTS: Final[Mapping[str, int]] = {"cpu": 1, "memory": 1}
"""Weights of the resources in the score."""
FULL_SCORE: Final = 100
"""Score of an idle node."""


class Expired(Enum):
    """The handling of an expired report by the filter."""

    #: The filter rejects the pod.
    REJECT = "reject"
    #: The filter accepts the pod.
    PASS = "pass"
    #: The filter uses the report.
    JUDGE = "judge"


@dataclass(frozen=True)
class Thresholds:
    """Limits of the filter, in percent of the allocatable amount; 0 for no limit."""

    #: Limits of the latest use.
    latest: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_THRESHOLDS))
    #: Limits of the use of online pods, for online pods.
    prod: Mapping[str, int] = field(default_factory=dict)
    #: Limits of a percentile.
    percentile: Mapping[str, int] = field(default_factory=dict)
    #: Percentile.
    of: Percentile = LATEST


@dataclass(frozen=True)
class LoadRules:
    """Parameters of filter and score."""

    #: Limits.
    thresholds: Thresholds = field(default_factory=Thresholds)
    #: Weights of the resources in the score.
    weights: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    #: Weight of the scarcest resource in the score.
    dominant_weight: int = 0
    #: Percentile that the score reads.
    score_by: Percentile = LATEST
    #: True if online pods are scored by the use of online pods.
    score_by_prod: bool = False
    #: True if the use of online pods includes the system's.
    prod_with_system: bool = False
    #: Seconds after which a report is expired.
    expiration: float = 180.0
    #: The handling of an expired report by the filter.
    when_expired: Expired = Expired.REJECT

    def check(self) -> None:
        """Verify all parameters that Koordinator verifies, which excludes limits of online pods.

        Raises:
            InputError: a weight, a threshold or the expiration is out of range.
        """
        limits = self.thresholds
        _check("resourceWeights", self.weights, 1)
        for name, each in [
            ("usageThresholds", limits.latest),
            ("aggregated.usageThresholds", limits.percentile),
            ("dominantResourceWeight", {"": self.dominant_weight}),
        ]:
            _check(name, each, 0)
        if self.expiration <= 0:
            expected = "seconds above 0"
            raise InputError("nodeMetricExpirationSeconds", self.expiration, expected)


def check_factors(factors: Mapping[str, int]) -> None:
    """Verify factors of estimates.

    Raises:
        InputError: a factor is not between 1 and 100.
    """
    _check("estimatedScalingFactors", factors, 1)


@dataclass(frozen=True)
class IncomingPod:
    """The pod to place."""

    #: Expected use.
    estimate: Amounts
    #: True if the pod is online.
    prod: bool = False


@dataclass(frozen=True)
class LoadedNode:
    """State of a node for filter and score."""

    #: Allocatable amounts, before amplification.
    allocatable: Amounts
    #: The latest report; ``None`` if there is none.
    report: NodeReport | None
    #: Pods bound to the node or reserved on it.
    assigned: tuple[AssignedPod, ...] = ()


@dataclass(frozen=True)
class Exceeded:
    """Reason why a node is rejected: its report is expired, or a resource exceeds its limit."""

    #: Name of the resource; empty for an expired report.
    resource: str = ""
    #: True if the limit is on a percentile.
    percentile: bool = False


def expired(report: NodeReport, rules: LoadRules) -> bool:
    """Return whether a report is too old for filter and score."""
    return report.age >= rules.expiration


def reject(
    node: LoadedNode, pod: IncomingPod, limits: Thresholds, rules: LoadRules
) -> Exceeded | None:
    """Reason to reject a pod; ``None`` if it passes.

    Args:
        node: the node.
        pod: the pod.
        limits: limits of this node, or of the rules.
        rules: parameters.
    """
    prod = pod.prod and any(limits.prod.values())
    percentile = not prod and bool(limits.of.name and limits.percentile)
    chosen = limits.prod if prod else limits.percentile if percentile else limits.latest
    report = node.report
    if report is None or not any(chosen.values()):
        return None
    if expired(report, rules) and rules.when_expired is not Expired.JUDGE:
        return Exceeded() if rules.when_expired is Expired.REJECT else None
    if report.usage is None:
        return None
    if prod:
        used = usages.prod_usage(report, node.assigned, system=rules.prod_with_system)
    else:
        used = usages.node_usage(report, node.assigned, limits.of if percentile else LATEST)
    above = _above(used, pod.estimate, node.allocatable, chosen)
    return None if above is None else Exceeded(above, percentile)


def score(node: LoadedNode, pod: IncomingPod, rules: LoadRules) -> int:
    """Score from 0 for a full node or one without a valid report to 100 for an idle one."""
    report = node.report
    if report is None or report.usage is None or expired(report, rules):
        return 0
    if pod.prod and rules.score_by_prod:
        used = usages.prod_usage(report, node.assigned, system=rules.prod_with_system)
    else:
        used = usages.node_usage(report, node.assigned, rules.score_by)
    free = {
        name: _free(node.allocatable.get(name, 0), used.get(name, 0) + pod.estimate.get(name, 0))
        for name in {**DEFAULT_WEIGHTS, **rules.weights}
    }
    total = sum(weight * free[name] for name, weight in rules.weights.items())
    lowest = min(free.values(), default=0)
    weights = sum(rules.weights.values()) + rules.dominant_weight
    return (total + rules.dominant_weight * lowest) // weights if weights else 0


def _above(used: Amounts, more: Amounts, allocatable: Amounts, limits: Amounts) -> str | None:
    for name in sorted(limits):
        limit, whole = limits[name], allocatable.get(name, 0)
        if not limit or not whole:
            continue
        percent = math.floor(100 * (used.get(name, 0) + more.get(name, 0)) / whole + 0.5)
        if percent > limit:
            return name
    return None


def _free(allocatable: int, used: int) -> int:
    if not allocatable or used > allocatable:
        return 0
    return (allocatable - used) * FULL_SCORE // allocatable


def _check(name: str, values: Mapping[str, int], least: int) -> None:
    for resource, value in values.items():
        if not least <= value <= 100:
            where = f"{name}.{resource}" if resource else name
            raise InputError(where, value, f"a number from {least} to 100")
