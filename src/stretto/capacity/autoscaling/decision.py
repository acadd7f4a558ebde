"""One evaluation of an autoscaler: from metrics to replicas, conditions and events."""

from dataclasses import dataclass
from typing import Any, Final

from stretto.api.types.capacity.autoscaling import AutoscalerSpec
from stretto.capacity.autoscaling import conditions
from stretto.capacity.autoscaling.conditions import AutoscalerCondition
from stretto.capacity.autoscaling.evaluation import EvaluatedMetric, ScalingInputs, evaluated
from stretto.capacity.autoscaling.limits import bounds_of
from stretto.capacity.scaling.behavior import Scaler
from stretto.capacity.scaling.choice import Choice, choose
from stretto.capacity.scaling.history import History
from stretto.reconcile.events import EventLevel, EventText

_ABOVE: Final = "Current number of replicas above Spec.MaxReplicas"
_BELOW: Final = "Current number of replicas below Spec.MinReplicas"


@dataclass(frozen=True)
class ScalingDecision:
    """Result of one evaluation."""

    #: New number of replicas; ``None`` if none could be computed.
    replicas: int | None
    #: Conditions that the evaluation changes.
    conditions: tuple[AutoscalerCondition, ...]
    #: Reason why the replicas change; empty if they do not.
    reason: str = ""
    #: Status entries, one for each metric.
    metrics: tuple[dict[str, Any], ...] = ()
    #: Events about failures.
    events: tuple[EventText, ...] = ()


def decide(
    spec: AutoscalerSpec, history: History, inputs: ScalingInputs, now: float
) -> ScalingDecision:
    """Evaluate an autoscaler.

    Args:
        spec: its specification.
        history: earlier recommendations and changes; this evaluation adds its own.
        inputs: pods and metrics.
        now: monotonic seconds.
    """
    current, bounds = inputs.replicas, bounds_of(spec)
    scaler = Scaler(bounds, history)
    if current == 0 and bounds.least != 0:
        history.start(now, current)
        return ScalingDecision(0, (conditions.disabled(),))
    if not bounds.least <= current <= bounds.most:
        step = scaler.step(now, current, current)
        return ScalingDecision(step.replicas, (), _ABOVE if current > bounds.most else _BELOW)
    found = [evaluated(each, inputs) for each in spec.metrics]
    proposals = [None if each.proposal is None else each.proposal.replicas for each in found]
    chosen = choose(proposals, current)
    if chosen is None:
        history.start(now, current)
        return _failed(found)
    step = scaler.step(now, current, chosen.replicas)
    noted = (conditions.active(found[chosen.metric].name), *conditions.of_step(step))
    statuses = tuple(each.status for each in found)
    reason = _reason(found, chosen, current)
    return ScalingDecision(step.replicas, noted, reason, statuses, _problems(found))


def _reason(found: list[EvaluatedMetric], chosen: Choice, current: int) -> str:
    if chosen.replicas > current:
        return f"{found[chosen.metric].name} above target"
    return "All metrics below target" if chosen.replicas < current else ""


def _failed(found: list[EvaluatedMetric]) -> ScalingDecision:
    """Decision if no replicas can be computed, or only fewer while a metric is missing."""
    failed = [each for each in found if each.problem]
    text = f"invalid metrics ({len(failed)} invalid out of {len(found)}), first error is: "
    message = text + failed[0].problem if failed else "no metrics are stated"
    reason = failed[0].failure if failed else "NoMetrics"
    noted = (conditions.inactive(reason, failed[0].problem if failed else message),)
    event = EventText(EventLevel.WARNING, "FailedComputeMetricsReplicas", message)
    statuses = tuple(each.status for each in found)
    return ScalingDecision(None, noted, "", statuses, (*_problems(found), event))


def _problems(found: list[EvaluatedMetric]) -> tuple[EventText, ...]:
    return tuple(
        EventText(EventLevel.WARNING, each.failure, each.problem) for each in found if each.problem
    )
