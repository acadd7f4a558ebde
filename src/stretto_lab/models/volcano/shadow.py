"""Measured load of a node together with the load of tasks that the metrics do not include yet.

The estimates and their defaults are those of Volcano's plugin ``usage``.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

import msgspec

MIB: Final = 1 << 20
"""Bytes per MiB."""


class TwoResources(NamedTuple):
    """CPU and memory."""

    #: Milli-CPU, or a fraction.
    cpu: float = 0.0
    #: Bytes, or a fraction.
    memory: float = 0.0

    def plus(self, other: "TwoResources") -> "TwoResources":
        """Return the sum."""
        return TwoResources(self.cpu + other.cpu, self.memory + other.memory)


NOTHING: Final = TwoResources()
"""No load."""


class ShadowEstimate(msgspec.Struct, frozen=True):
    """Expected use of a task before it is measured."""

    #: Fraction of the request.
    request_ratio: float = 0.7
    #: Fraction of the difference between limit and request.
    burst_ratio: float = 0.0
    #: Minimum load of a node at which estimates are raised.
    risk_threshold: float = 0.6
    #: Factor of raised estimates.
    risk_factor: float = 1.2
    #: Use of a task without requests.
    best_effort: TwoResources = TwoResources(250.0, 200.0 * MIB)

    def of(self, requests: TwoResources, limits: TwoResources, load: float) -> TwoResources:
        """Return the estimate for a task.

        Args:
            requests: requests of the task.
            limits: limits of the task; 0 for no limit.
            load: load of the node, 0 to 1.
        """
        risk = self.risk_factor if load >= self.risk_threshold else 1.0
        if not any(requests):
            return TwoResources(*(each * risk for each in self.best_effort))
        return TwoResources(
            *(
                self._one(request, limit, risk)
                for request, limit in zip(requests, limits, strict=True)
            )
        )

    def _one(self, request: float, limit: float, risk: float) -> float:
        most = max(request, limit)
        return min(
            (request * self.request_ratio + (most - request) * self.burst_ratio) * risk, most
        )


class ShadowWeights(NamedTuple):
    """Weights of the resources."""

    #: Weight of CPU.
    cpu: float = 1.0
    #: Weight of memory.
    memory: float = 1.0

    def mean(self, parts: TwoResources) -> float:
        """Weighted mean; 0 without weights."""
        whole = self.cpu + self.memory
        return (self.cpu * parts.cpu + self.memory * parts.memory) / whole if whole else 0.0


class MeasuredNode(NamedTuple):
    """A node and its last metrics."""

    #: Allocatable amounts.
    capacity: TwoResources
    #: Used fractions, 0 to 1.
    used: TwoResources
    #: Seconds since the metrics were measured.
    age_s: float

    def load(self, shadow: TwoResources) -> TwoResources:
        """Used fractions including the load that is not measured yet, at most 1.

        A resource that the node does not have counts as unused.
        """
        return TwoResources(
            *(
                min((used * has + extra) / has, 1.0) if has else 0.0
                for used, extra, has in zip(self.used, shadow, self.capacity, strict=True)
            )
        )


class TaskPhase(Enum):
    """State of a task: its visibility in the metrics of a node."""

    #: It will start.
    COMING = "coming"
    #: It has started.
    STARTED = "started"


class ShadowTask(NamedTuple):
    """A task on a node."""

    #: Requests of the task.
    requests: TwoResources
    #: Limits of the task; 0 for no limit.
    limits: TwoResources
    #: State of the task.
    phase: TaskPhase = TaskPhase.COMING
    #: Seconds since it started; ``None`` if unknown.
    started_ago_s: float | None = None

    def is_unmeasured(self, interval_s: float) -> bool:
        """True if metrics that are measured every ``interval_s`` seconds may not include it."""
        if self.phase is TaskPhase.COMING or self.started_ago_s is None:
            return True
        return self.started_ago_s < interval_s


class UsageRules(msgspec.Struct, frozen=True):
    """Parameters of the score by use."""

    #: Estimates.
    estimate: ShadowEstimate = ShadowEstimate()
    #: Weights.
    weights: ShadowWeights = ShadowWeights()
    #: Weight of the score.
    weight: float = 5.0
    #: Used percentages above which a node accepts no task.
    thresholds: TwoResources = TwoResources(80.0, 80.0)
    #: Seconds after which metrics are ignored.
    expires_s: float = 300.0
    #: Seconds between measurements.
    interval_s: float = 30.0


def shadow_load(
    node: MeasuredNode,
    tasks: Iterable[ShadowTask],
    rules: UsageRules,
    before: TwoResources = NOTHING,
) -> TwoResources:
    """Load of tasks that the metrics do not include yet, in milli-CPU and bytes.

    Each estimate depends on the load including the earlier tasks, so the order matters if the risk
    threshold is crossed.
    """
    found = before
    for task in tasks:
        if task.is_unmeasured(rules.interval_s):
            load = rules.weights.mean(node.load(found))
            found = found.plus(rules.estimate.of(task.requests, task.limits, load))
    return found


def takes_tasks(node: MeasuredNode, rules: UsageRules) -> bool:
    """True if the use of a node is within the thresholds; expired metrics count as no use."""
    if node.age_s > rules.expires_s:
        return True
    pairs = zip(node.used, rules.thresholds, strict=True)
    return all(used <= bound / 100 for used, bound in pairs)


def usage_score(node: MeasuredNode, shadow: TwoResources, rules: UsageRules) -> float:
    """Score: unused fraction of a node, 0 to 100 times the weight; 0 with expired metrics."""
    if node.age_s > rules.expires_s:
        return 0.0
    load = node.load(shadow)
    free = TwoResources(1.0 - load.cpu, 1.0 - load.memory)
    return rules.weights.mean(free) * 100.0 * rules.weight
