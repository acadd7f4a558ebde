"""Conditions of an autoscaler, with the reasons and messages of Kubernetes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stretto.capacity.scaling.behavior import Limited, ScalingStep, Stabilized
from stretto.reconcile.conditions import transition_time

Fields = Mapping[str, Any]

ABLE: Final = "AbleToScale"
ACTIVE: Final = "ScalingActive"
LIMITED: Final = "ScalingLimited"

_STABILIZED: Final = {
    Stabilized.NO: "recommended size matches current size",
    Stabilized.DOWN: (
        "recent recommendations were higher than current one, applying the highest recent "
        "recommendation"
    ),
    Stabilized.UP: (
        "recent recommendations were lower than current one, applying the lowest recent "
        "recommendation"
    ),
}
_LIMITS: Final = {
    Limited.NO: "the desired count is within the acceptable range",
    Limited.UP_RATE: ("the desired replica count is increasing faster than the maximum scale rate"),
    Limited.DOWN_RATE: (
        "the desired replica count is decreasing faster than the maximum scale rate"
    ),
    Limited.MOST: "the desired replica count is more than the maximum replica count",
    Limited.LEAST: "the desired replica count is less than the minimum replica count",
}


@dataclass(frozen=True)
class AutoscalerCondition:
    """One condition."""

    #: ``AbleToScale``, ``ScalingActive`` or ``ScalingLimited``.
    type: str
    #: True if the condition holds.
    holds: bool
    #: Reason, for programs.
    reason: str
    #: Message, for people.
    message: str


def found_scale() -> AutoscalerCondition:
    """The scale of the workload is known."""
    text = "the HPA controller was able to get the target's current scale"
    return AutoscalerCondition(ABLE, True, "SucceededGetScale", text)


def no_scale(error: str) -> AutoscalerCondition:
    """The scale of the workload is not known."""
    text = f"the HPA controller was unable to get the target's current scale: {error}"
    return AutoscalerCondition(ABLE, False, "FailedGetScale", text)


def disabled() -> AutoscalerCondition:
    """The workload is scaled to zero."""
    text = "scaling is disabled since the replica count of the target is zero"
    return AutoscalerCondition(ACTIVE, False, "ScalingDisabled", text)


def inactive(reason: str, problem: str) -> AutoscalerCondition:
    """No replicas could be computed."""
    text = f"the HPA was unable to compute the replica count: {problem}"
    return AutoscalerCondition(ACTIVE, False, reason, text)


def active(metric: str) -> AutoscalerCondition:
    """A metric determines the replicas."""
    text = f"the HPA was able to successfully calculate a replica count from {metric}"
    return AutoscalerCondition(ACTIVE, True, "ValidMetricFound", text)


def of_step(step: ScalingStep) -> list[AutoscalerCondition]:
    """The effect of earlier recommendations and limits on the desired replicas."""
    found = []
    if step.stabilized is not None:
        text = _STABILIZED[step.stabilized]
        found.append(AutoscalerCondition(ABLE, True, step.stabilized.value, text))
    if step.limited is not None:
        holds = step.limited is not Limited.NO
        text = _LIMITS[step.limited]
        found.append(AutoscalerCondition(LIMITED, holds, step.limited.value, text))
    return found


def rescaled(replicas: int) -> AutoscalerCondition:
    """The workload has been scaled."""
    text = f"the HPA controller was able to update the target scale to {replicas}"
    return AutoscalerCondition(ABLE, True, "SucceededRescale", text)


def not_rescaled(error: str) -> AutoscalerCondition:
    """The workload could not be scaled."""
    text = f"the HPA controller was unable to update the target scale: {error}"
    return AutoscalerCondition(ABLE, False, "FailedUpdateScale", text)


def merged(
    before: Iterable[Fields], new: Iterable[AutoscalerCondition], now: str
) -> list[dict[str, Any]]:
    """Replace some conditions; a transition time changes only with the status."""
    found = {str(each.get("type")): dict(each) for each in before}
    for each in new:
        status = "True" if each.holds else "False"
        found[each.type] = {
            "type": each.type,
            "status": status,
            "lastTransitionTime": transition_time(found.get(each.type), status, now),
            "reason": each.reason,
            "message": each.message,
        }
    return list(found.values())
