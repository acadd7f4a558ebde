"""Replicas that one metric of an autoscaler requires, and their form in its status."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.types.capacity.autoscaling import (
    AutoscalerMetric,
    AutoscalerSpec,
    NamedMetric,
    ResourceMetric,
)
from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.wire.quantity import format_milli, thousandths
from stretto.api.wire.selectors import parse_labels
from stretto.base.errors import InputError
from stretto.capacity.autoscaling.limits import tolerance_of
from stretto.capacity.autoscaling.pods import request_of, samples, scaled_pod
from stretto.capacity.scaling.readiness import ReadinessPeriods
from stretto.capacity.scaling.replicas import Proposal, Tolerance, by_average, by_utilization
from stretto.reconcile.scales import NamedPod, WorkloadScale

Fields = dict[str, Any]

PERIODS: Final = ReadinessPeriods()
"""Periods in which a young pod does not count, as in Kubernetes."""


@dataclass(frozen=True)
class ScalingInputs:
    """Values that all metrics of one evaluation share."""

    #: Pods that the workload selects.
    pods: Sequence[NamedPod]
    #: Metrics of the pods of the namespace.
    metrics: Sequence[PodMetrics]
    #: Current number of replicas of the workload.
    replicas: int
    #: Deviations that do not change the replicas.
    tolerance: Tolerance
    #: Current time in seconds since the epoch.
    now: float


@dataclass(frozen=True)
class EvaluatedMetric:
    """Replicas that a metric requires."""

    #: Name of the metric in messages.
    name: str
    #: Required replicas; ``None`` if they could not be computed.
    proposal: Proposal | None
    #: Status entry of the metric.
    status: Fields
    #: Reason why the replicas could not be computed; empty if they were.
    problem: str = ""
    #: Reason of the failure in a condition.
    failure: str = ""


def inputs_of(
    spec: AutoscalerSpec,
    scale: WorkloadScale,
    pods: Iterable[NamedPod],
    metrics: Sequence[PodMetrics],
    now: float,
) -> ScalingInputs:
    """Collect the inputs of an evaluation.

    Args:
        spec: the specification of the autoscaler.
        scale: the scale of its workload.
        pods: the pods of the namespace.
        metrics: the metrics of the pods of the namespace.
        now: seconds since the epoch.
    """
    selector = parse_labels(scale.selector)
    selected = (each for each in pods if selector.matches(each.pod.labels))
    ordered = sorted(selected, key=lambda each: each.name)
    return ScalingInputs(ordered, metrics, scale.replicas, tolerance_of(spec), now)


def evaluated(metric: AutoscalerMetric, inputs: ScalingInputs) -> EvaluatedMetric:
    """Compute the replicas that a metric requires; a failure is a value, not an error."""
    resource = metric.resource or metric.container_resource
    failure = f"FailedGet{metric.type}Metric"
    if resource is None:
        other = metric.pods or metric.object or metric.external
        name = _other_name(metric.type, other)
        problem = f"failed to get {name}: no source of {metric.type} metrics is served"
        return EvaluatedMetric(name, None, {"type": ""}, problem, failure)
    by_percent = resource.target.average_utilization is not None
    name = _resource_name(resource, by_percent=by_percent)
    try:
        found = _proposed(resource, inputs)
    except InputError as error:
        word = "utilization" if by_percent else "usage"
        problem = f"failed to get {resource.name} {word}: {error}"
        return EvaluatedMetric(name, None, {"type": ""}, problem, failure)
    return EvaluatedMetric(name, found, _status(metric.type, resource, found))


def _proposed(metric: ResourceMetric, inputs: ScalingInputs) -> Proposal:
    """Return the replicas that bring a resource to its target.

    Raises:
        InputError: there are no values, or a container has no request.
    """
    found = samples(inputs.metrics, metric.name, metric.container, inputs.now)
    percent = metric.target.average_utilization
    states = [
        PERIODS.state(
            scaled_pod(name, pod, inputs.now),
            found.get(name),
            metric.name,
            None if percent is None else request_of(pod, metric.name, metric.container),
        )
        for name, pod in inputs.pods
    ]
    names = {name for name, _ in inputs.pods}
    values = {name: sample.value for name, sample in found.items() if name in names}
    if percent is not None:
        return by_utilization(states, values, percent, inputs.replicas, inputs.tolerance)
    target = metric.target.average_value
    if target is None:
        raise InputError("target", metric.target.type, "averageUtilization or averageValue")
    milli = thousandths(target, "target.averageValue")
    return by_average(states, values, milli, inputs.replicas, inputs.tolerance)


def _status(type_: str, metric: ResourceMetric, found: Proposal) -> Fields:
    current: Fields = {"averageValue": format_milli(found.usage)}
    if found.utilization is not None:
        current["averageUtilization"] = found.utilization
    entry: Fields = {"name": metric.name, "current": current}
    if metric.container:
        entry["container"] = metric.container
    member = "containerResource" if metric.container else "resource"
    return {"type": type_, member: entry}


def _resource_name(metric: ResourceMetric, *, by_percent: bool) -> str:
    word = f"{metric.name} container resource" if metric.container else f"{metric.name} resource"
    return f"{word} utilization (percentage of request)" if by_percent else word


def _other_name(type_: str, metric: NamedMetric | None) -> str:
    return f"{type_.lower()} metric {metric.metric.name if metric else ''}"
