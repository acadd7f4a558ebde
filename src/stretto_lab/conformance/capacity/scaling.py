"""Adapter from recorded inputs of Kubernetes' horizontal autoscaler to the scaling models."""

from typing import Any

import msgspec

from stretto.base.errors import InputError
from stretto.capacity.scaling import choice, replicas
from stretto.capacity.scaling.behavior import (
    DEFAULT_DOWN,
    DEFAULT_UP,
    Behavior,
    Bounds,
    Direction,
    Limited,
    PolicyType,
    RatePolicy,
    Scaler,
    ScalingStep,
    Select,
)
from stretto.capacity.scaling.readiness import MetricSample, ReadinessPeriods, ScaledPod
from stretto.capacity.scaling.replicas import MetricPod, Overflow, Proposal, Tolerance
from stretto_lab.models.kubernetes.replicas import INT64_MAX, by_value, by_value_per_pod

Fields = dict[str, Any]
"""The members of an input or of a result."""


class ScaledPodInput(msgspec.Struct, frozen=True):
    """A pod of the workload."""

    name: str
    phase: str
    requests_milli: tuple[int | None, ...]
    transition_ago_s: float = 0
    started_ago_s: float | None = None
    ready: bool | None = None
    deleted: bool = False
    sidecar_request_milli: int | None = None
    init_request_milli: int | None = None
    pod_level_request_milli: int | None = None

    def request(self, container: str) -> int | None:
        """The request of a container, or of the pod; ``None`` if one is missing."""
        named = {f"c{index}": each for index, each in enumerate(self.requests_milli)}
        if self.sidecar_request_milli is not None:
            named["side"] = self.sidecar_request_milli
        if container:
            return named.get(container)
        if self.pod_level_request_milli is not None:
            return self.pod_level_request_milli
        parts = [each for each in named.values() if each is not None]
        return sum(parts) if len(parts) == len(named) else None


class ScalingMetricInput(msgspec.Struct, frozen=True):
    """One metric."""

    mode: str
    target: int
    resource: str = ""
    container: str = ""
    metrics: dict[str, MetricSample] = {}
    values: tuple[int, ...] = ()
    metrics_error: bool = False


class ReplicasInput(ScalingMetricInput, frozen=True, kw_only=True):
    """The input of the family ``hpa_replicas``."""

    current: int
    tolerance_up: float
    tolerance_down: float
    cpu_init_s: float
    readiness_delay_s: float
    pods: tuple[ScaledPodInput, ...] = ()


class ToleranceInput(msgspec.Struct, frozen=True):
    """The tolerance of one direction."""

    tolerance: float | None = None


class TolerancesInput(msgspec.Struct, frozen=True):
    """Tolerances of both directions."""

    up: ToleranceInput = ToleranceInput()
    down: ToleranceInput = ToleranceInput()


class MetricsInput(msgspec.Struct, frozen=True):
    """The input of the family ``hpa_metrics``."""

    spec_replicas: int
    status_replicas: int
    tolerance: float
    cpu_init_s: float
    readiness_delay_s: float
    specs: tuple[ScalingMetricInput, ...]
    pods: tuple[ScaledPodInput, ...] = ()
    behavior: TolerancesInput = TolerancesInput()

    def tolerances(self) -> Tolerance:
        """The tolerances in effect."""
        up, down = self.behavior.up.tolerance, self.behavior.down.tolerance
        return Tolerance(
            self.tolerance if up is None else up,
            self.tolerance if down is None else down,
            Overflow.WRAP,
        )


class PolicyInput(msgspec.Struct, frozen=True):
    """A policy."""

    type: PolicyType
    value: int
    period_s: float


class DirectionInput(msgspec.Struct, frozen=True):
    """Rules of one direction."""

    window_s: float | None = None
    policies: tuple[PolicyInput, ...] = ()
    select: Select = Select.MAX

    def rules(self, default: Direction) -> Direction:
        """The rules, completed by the defaults."""
        policies = tuple(RatePolicy(p.type, p.value, p.period_s) for p in self.policies)
        window = default.window if self.window_s is None else self.window_s
        return Direction(window, policies or default.policies, self.select)


class BehaviorInput(msgspec.Struct, frozen=True):
    """Rules of both directions."""

    up: DirectionInput = DirectionInput()
    down: DirectionInput = DirectionInput()


class StepInput(msgspec.Struct, frozen=True):
    """One evaluation."""

    dt_s: float
    desired: int
    current: int | None = None


class StepsInput(msgspec.Struct, frozen=True):
    """The input of the family ``hpa_behavior``."""

    min: int
    max: int
    default_downscale_window_s: float
    start: int
    steps: tuple[StepInput, ...]
    behavior: BehaviorInput | None = None

    def bounds(self) -> Bounds:
        """The limits."""
        behavior, window = None, self.default_downscale_window_s
        if self.behavior is not None:
            down = Direction(window, DEFAULT_DOWN.policies)
            behavior = Behavior(self.behavior.up.rules(DEFAULT_UP), self.behavior.down.rules(down))
        return Bounds(self.min, self.max, behavior, window)


def replicas_of_metric(given: Fields) -> Fields:
    """``hpa_replicas``: the replicas that one metric requires."""
    fields = msgspec.convert(given, ReplicasInput)
    timing = ReadinessPeriods(fields.cpu_init_s, fields.readiness_delay_s)
    tolerance = Tolerance(fields.tolerance_up, fields.tolerance_down, Overflow.WRAP)
    try:
        current = fields.current
        found = _propose(fields, fields.pods, timing, (current, current), tolerance)
    except InputError as error:
        return {"error": str(error)}
    result: Fields = {"replicas": found.replicas, "usage": found.usage}
    return result if found.utilization is None else result | {"utilization": found.utilization}


def replicas_of_metrics(given: Fields) -> Fields:
    """``hpa_metrics``: the choice between metrics."""
    fields = msgspec.convert(given, MetricsInput)
    timing = ReadinessPeriods(fields.cpu_init_s, fields.readiness_delay_s)
    counts, tolerance = (fields.spec_replicas, fields.status_replicas), fields.tolerances()
    proposals: list[Proposal | None] = []
    errors: list[tuple[str, str]] = []
    for spec in fields.specs:
        try:
            proposals.append(_propose(spec, fields.pods, timing, counts, tolerance))
        except InputError as error:
            proposals.append(None)
            errors.append((spec.mode, str(error)))
    numbers = [None if each is None else each.replicas for each in proposals]
    chosen = choice.choose(numbers, fields.spec_replicas)
    result: Fields = {
        "replicas": -1 if chosen is None else chosen.replicas,
        "metric": ""
        if chosen is None
        else _metric_name(fields.specs[chosen.metric], chosen.metric),
        "statuses": [_status(*pair) for pair in zip(fields.specs, proposals, strict=True)],
        "scaling_active": "True:ValidMetricFound",
    }
    if errors:
        result["error"] = errors[0][1]
    if chosen is None:
        result["scaling_active"] = f"False:FailedGet{_KINDS[errors[0][0]]}Metric"
    return result


def behavior(given: Fields) -> Fields:
    """``hpa_behavior``: replicas over several evaluations."""
    fields = msgspec.convert(given, StepsInput)
    scaler, now, current = Scaler(fields.bounds()), 0.0, fields.start
    found = []
    for each in fields.steps:
        now += each.dt_s
        current = current if each.current is None else each.current
        step = scaler.step(now, current, each.desired)
        current = step.replicas
        found.append(_step(step))
    return {"steps": found}


_KINDS = {
    "resource": "Resource",
    "raw_resource": "Resource",
    "pods": "Pods",
    "object": "Object",
    "object_per_pod": "Object",
    "external": "External",
    "external_per_pod": "External",
}


def _propose(
    metric: ScalingMetricInput,
    pods: tuple[ScaledPodInput, ...],
    timing: ReadinessPeriods,
    counts: tuple[int, int],
    tolerance: Tolerance,
) -> Proposal:
    """Replicas that a metric requires; ``counts`` contains the replicas of spec and status."""
    if metric.metrics_error:
        raise InputError("metrics", None, "values from the metrics API")
    spec, status = counts
    mode, target = metric.mode, metric.target
    resource = (metric.resource or "cpu") if mode in ("resource", "raw_resource") else ""
    states = [_state(pod, metric, timing, resource) for pod in pods]
    values = {name: each.value for name, each in metric.metrics.items()}
    if mode == "resource":
        return replicas.by_utilization(states, values, target, spec, tolerance)
    if mode in ("pods", "raw_resource"):
        return replicas.by_average(states, values, target, spec, tolerance)
    if mode == "object":
        return by_value(states, sum(metric.values), target, spec, tolerance)
    if mode == "object_per_pod":
        return by_value_per_pod(sum(metric.values), target, status, tolerance)
    if mode == "external":
        return by_value(states, _sum_until_full(metric.values), target, spec, tolerance)
    total = _sum_unless_negative(metric.values)
    if total is None:
        return Proposal(replicas.capped(INT64_MAX / target), INT64_MAX)
    capping = Tolerance(tolerance.up, tolerance.down)
    return by_value_per_pod(total, target, status, capping)


def _state(
    pod: ScaledPodInput, metric: ScalingMetricInput, timing: ReadinessPeriods, resource: str
) -> MetricPod:
    scaled = ScaledPod(
        pod.name, pod.phase, pod.deleted, pod.ready, pod.started_ago_s, pod.transition_ago_s
    )
    sample = metric.metrics.get(pod.name)
    return timing.state(scaled, sample, resource, pod.request(metric.container))


def _sum_until_full(values: tuple[int, ...]) -> int:
    total = 0
    for each in values:
        if each > 0 and total > INT64_MAX - each:
            return INT64_MAX
        total += each
    return total


def _sum_unless_negative(values: tuple[int, ...]) -> int | None:
    """The sum; ``None`` if a partial sum is negative or too large."""
    total = 0
    for each in values:
        total += each
        if not 0 <= total <= INT64_MAX:
            return None
    return total


def _metric_name(metric: ScalingMetricInput, index: int) -> str:
    return {
        "resource": "cpu resource utilization (percentage of request)",
        "raw_resource": "cpu resource",
        "pods": f"pods metric m{index}",
        "object": f" metric m{index}",
    }.get(metric.mode, f"external metric m{index}(nil)")


def _status(metric: ScalingMetricInput, found: Proposal | None) -> Fields | None:
    if found is None:
        return None
    if metric.mode == "resource":
        return {"average_milli": found.usage, "utilization": found.utilization}
    kind = "value_milli" if metric.mode in ("object", "external") else "average_milli"
    return {kind: found.usage}


def _step(step: ScalingStep) -> Fields:
    if step.stabilized is None or step.limited is None:
        return {"replicas": step.replicas, "able_to_scale": "", "scaling_limited": ""}
    limited = step.limited is not Limited.NO
    return {
        "replicas": step.replicas,
        "able_to_scale": f"True:{step.stabilized.value}",
        "scaling_limited": f"{limited}:{step.limited.value}",
    }
