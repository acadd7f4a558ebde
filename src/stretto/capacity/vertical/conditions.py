"""Conditions of a VerticalPodAutoscaler.

Three types are those of the Vertical Pod Autoscaler. ``Measured`` and ``Applied`` state what an
object without pods or without an updater would hide.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stretto.api.types.capacity.vertical import VerticalUpdateMode
from stretto.capacity.autoscaling.conditions import AutoscalerCondition, merged

PROVIDED: Final = "RecommendationProvided"
NO_PODS: Final = "NoPodsMatched"
UNSUPPORTED: Final = "ConfigUnsupported"
MEASURED: Final = "Measured"
APPLIED: Final = "Applied"
OPTIONAL: Final = (NO_PODS, UNSUPPORTED, MEASURED, APPLIED)
"""Types that the status contains only while an evaluation notes them."""

Fields = Mapping[str, Any]


def updated(
    before: Iterable[Fields], noted: Sequence[AutoscalerCondition], now: str
) -> list[dict[str, Any]]:
    """Return conditions with the noted ones; an optional type that is not noted is removed."""
    new = {each.type for each in noted}
    kept = [each for each in before if each.get("type") in new or each.get("type") not in OPTIONAL]
    return merged(kept, noted, now)


def provided(has_recommendation: bool, problem: AutoscalerCondition | None) -> AutoscalerCondition:
    """Whether there is a recommendation, and without one the reason."""
    if has_recommendation:
        return AutoscalerCondition(PROVIDED, True, "", "")
    reason, message = ("", "") if problem is None else (problem.reason, problem.message)
    return AutoscalerCondition(PROVIDED, False, reason, message)


def no_pods() -> AutoscalerCondition:
    """The target has no running pods."""
    text = "No pods match this VPA object"
    return AutoscalerCondition(NO_PODS, True, "NoPodsMatched", text)


def unsupported(reason: str, problem: str) -> AutoscalerCondition:
    """The object cannot have a recommendation."""
    return AutoscalerCondition(UNSUPPORTED, True, reason, problem)


def measured(pods: int, count: int) -> AutoscalerCondition:
    """Whether the pods have current measurements; ``count`` of ``pods`` have one."""
    if count:
        return AutoscalerCondition(MEASURED, True, "Measured", "")
    text = f"metrics.k8s.io has no current measurement of the {pods} pods"
    return AutoscalerCondition(MEASURED, False, "NoMeasurement", text)


def unmeasured(problem: str) -> AutoscalerCondition:
    """The measurements cannot be read."""
    text = f"the metrics of the pods cannot be read: {problem}"
    return AutoscalerCondition(MEASURED, False, "MetricsUnreadable", text)


def not_applied(mode: VerticalUpdateMode) -> AutoscalerCondition:
    """Stretto changes no pods, although the mode says that they are changed."""
    text = (
        f"Stretto publishes the recommendation and changes no pods: updateMode {mode.value} needs "
        "the updater and the admission controller of the Vertical Pod Autoscaler"
    )
    return AutoscalerCondition(APPLIED, False, "RecommendationOnly", text)
