"""Measured load of a node together with the load of tasks that no metric shows yet.

The estimates and their defaults are those of Volcano's plugin ``usage``.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

import msgspec

MIB: Final = 1 << 20
"""Bytes."""


class TwoResources(NamedTuple):
    """CPU and memory."""

    #: Milli-CPU, or a part.
    cpu: float = 0.0
    #: Bytes, or a part.
    memory: float = 0.0

    def plus(self, other: "TwoResources") -> "TwoResources":
        """The sum."""
        return TwoResources(self.cpu + other.cpu, self.memory + other.memory)


NOTHING: Final = TwoResources()
"""No load."""


class ShadowEstimate(msgspec.Struct, frozen=True):
    """How much a task is expected to use before it is measured."""

    #: Part of the request.
    request_ratio: float = 0.7
    #: Part of what the limit exceeds the request.
    burst_ratio: float = 0.0
    #: Load of a node from which estimates are raised.
    risk_threshold: float = 0.6
    #: Factor of raised estimates.
    risk_factor: float = 1.2
    #: Use of a task that requests nothing.
    best_effort: TwoResources = TwoResources(250.0, 200.0 * MIB)

    def of(self, requests: TwoResources, limits: TwoResources, load: float) -> TwoResources:
        """The estimate for a task.

        Args:
            requests: what the task requests.
            limits: what it is limited to; 0 for no limit.
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
    """How much each resource counts."""

    #: Weight of CPU.
    cpu: float = 1.0
    #: Weight of memory.
    memory: float = 1.0

    def mean(self, parts: TwoResources) -> float:
        """The weighted mean; 0 without weights."""
        whole = self.cpu + self.memory
        return (self.cpu * parts.cpu + self.memory * parts.memory) / whole if whole else 0.0


class MeasuredNode(NamedTuple):
    """A node and its last metrics."""

    #: Allocatable amounts.
    capacity: TwoResources
    #: Used parts, 0 to 1.
    used: TwoResources
    #: Seconds since the metrics were measured.
    age_s: float

    def load(self, shadow: TwoResources) -> TwoResources:
        """Used parts with the load that is not measured yet, at most 1.

        A resource of which the node has nothing counts as unused.
        """
        return TwoResources(
            *(
                min(used + extra / has, 1.0) if has else 0.0
                for used, extra, has in zip(self.used, shadow, self.capacity, strict=True)
            )
        )


class TaskPhase(Enum):
    """Whether the metrics of a node show a task."""

    #: It will start.
    COMING = "coming"
    #: It has started.
    STARTED = "started"


class ShadowTask(NamedTuple):
    """A task on a node."""

    #: What it requests.
    requests: TwoResources
    #: What it is limited to; 0 for no limit.
    limits: TwoResources
    #: Whether it has started.
    phase: TaskPhase = TaskPhase.COMING
    #: Seconds since it started; ``None`` if that is unknown.
    started_ago_s: float | None = None

    def is_unmeasured(self, interval_s: float) -> bool:
        """Whether metrics that are measured every so many seconds may not show it."""
        if self.phase is TaskPhase.COMING or self.started_ago_s is None:
            return True
        return self.started_ago_s < interval_s


class UsageRules(msgspec.Struct, frozen=True):
    """Parameters by which nodes are scored by their use."""

    #: Estimates.
    estimate: ShadowEstimate = ShadowEstimate()
    #: Weights.
    weights: ShadowWeights = ShadowWeights()
    #: Weight of the score.
    weight: float = 5.0
    #: Used percentages above which a node takes no task.
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
    """The load of tasks that no metric shows yet, in milli-CPU and bytes.

    Each estimate depends on the load with the tasks before it, so the order counts where the risk
    threshold is crossed.
    """
    found = before
    for task in tasks:
        if task.is_unmeasured(rules.interval_s):
            load = rules.weights.mean(node.load(found))
            found = found.plus(rules.estimate.of(task.requests, task.limits, load))
    return found


def takes_tasks(node: MeasuredNode, rules: UsageRules) -> bool:
    """Whether the use of a node is within the thresholds; expired metrics count as no use."""
    if node.age_s > rules.expires_s:
        return True
    pairs = zip(node.used, rules.thresholds, strict=True)
    return all(100 * used <= bound for used, bound in pairs)


def usage_score(node: MeasuredNode, shadow: TwoResources, rules: UsageRules) -> float:
    """The unused part of a node, 0 to 100 times the weight; 0 with expired metrics."""
    if node.age_s > rules.expires_s:
        return 0.0
    load = node.load(shadow)
    free = TwoResources(1.0 - load.cpu, 1.0 - load.memory)
    return rules.weights.mean(free) * 100.0 * rules.weight
