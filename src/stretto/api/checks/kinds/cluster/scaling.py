"""Rules of HorizontalPodAutoscalers and PodDisruptionBudgets."""

from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    forbidden,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.fields.texts import path_segment
from stretto.api.checks.kinds.resources import check_container_resource
from stretto.api.checks.kinds.values import (
    Json,
    check_selector,
    count_or_percent,
    exceeds_all,
    labelled,
    not_negative,
    one_of,
)
from stretto.api.wire.quantity import nano

_TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_MEMBERS: Final = {
    "Object": "object", "Pods": "pods", "Resource": "resource", "External": "external",
    "ContainerResource": "containerResource",
}  # fmt: skip
_POSITIVE: Final = "must be greater than 0"
_POLICIES: Final = ("Percent", "Pods")
_SELECTS: Final = ("Disabled", "Max", "Min")
_MOST_SECONDS: Final = 3600
_MOST_PERIOD: Final = 1800


def check_autoscaler(item: Json, _old: Json | None) -> Errors:
    """Check a HorizontalPodAutoscaler; the first version states the use of CPU alone."""
    spec = item.get("spec") or {}
    metrics = [*(spec.get("metrics") or ())]
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    found: Errors = []
    least = spec.get("minReplicas")
    if least is not None and least < 1:
        detail = "must be greater than or equal to 1"
        found.append(invalid("spec.minReplicas", least, detail))
    most = spec.get("maxReplicas") or 0
    if not most:
        found.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 1:
        detail = "must be greater than or equal to 1"
        found.append(invalid("spec.maxReplicas", most, detail))
    if least is not None and most < least:
        detail = "must be greater than or equal to `minReplicas`"
        found.append(invalid("spec.maxReplicas", most, detail))
    found += _reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef")
    found += _metrics(metrics, least)
    return found + _behavior(spec.get("behavior") or {})


def _reference(ref: Json, path: str, *, needs_group: bool = True) -> Errors:
    found: Errors = []
    for name in ("kind", "name"):
        value = ref.get(name, "")
        if not value:
            found.append(required(f"{path}.{name}"))
        else:
            found += [invalid(f"{path}.{name}", value, each) for each in path_segment(value)]
    version = ref.get("apiVersion", "")
    if version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {version}"
        found.append(invalid(f"{path}.apiVersion", version, detail))
    elif needs_group and "/" not in version and ref.get("kind") != "ReplicationController":
        detail = "apiVersion must specify API group"
        found.append(invalid(f"{path}.apiVersion", version, detail))
    return found


def _metrics(metrics: list[Json], least: int | None) -> Errors:
    found: Errors = []
    for index, metric in enumerate(metrics):
        found += _metric(metric, f"spec.metrics[{index}]")
    scales = any(each.get("type") in ("Object", "External") for each in metrics)
    if least == 0 and not scales:
        detail = (
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas"
        )
        found.append(forbidden("spec.metrics", detail))
    return found


def _metric(metric: Json, path: str) -> Errors:
    """Check a metric; only the first of several sources is checked."""
    kind, where = metric.get("type", ""), f"{path}.type"
    found = [] if kind else [required(where, "must specify a metric source type")]
    if kind not in _TYPES:
        found.append(unsupported(where, kind, _TYPES))
    given = {name: word for word, name in _MEMBERS.items() if metric.get(name) is not None}
    for name, word in [*given.items()][:1]:
        found += _source(word, metric[name], f"{path}.{name}")
    expected = _MEMBERS.get(kind, "")
    if not expected:
        found.append(unsupported(where, kind, _TYPES))
    elif expected not in given:
        detail = "must populate information for the given metric source"
        found.append(required(f"{path}.{expected}", detail))
    detail = "must populate the given metric source only"
    others = [name for name in given if name != expected] if len(given) > 1 else []
    return found + [forbidden(f"{path}.{name}", detail) for name in others]


def _source(kind: str, source: Json, path: str) -> Errors:
    found: Errors = []
    if kind in ("Resource", "ContainerResource"):
        name, container = source.get("name", ""), source.get("container", "")
        if not name:
            found.append(required(f"{path}.name", "must specify a resource name"))
        elif kind == "ContainerResource":
            found += check_container_resource(name, f"{path}.name")
        if kind == "ContainerResource" and not container:
            found.append(required(f"{path}.container", "must specify a container"))
        elif kind == "ContainerResource":
            found += labelled(container, f"{path}.container")
        found += _target(source.get("target") or {}, f"{path}.target")
        return found + _resource_target(source.get("target") or {}, f"{path}.target")
    metric = source.get("metric") or {}
    if kind == "Object":
        found += _reference(
            source.get("describedObject") or {}, f"{path}.describedObject", needs_group=False
        )
    found += _identifier(metric, f"{path}.metric")
    target = source.get("target") or {}
    found += _target(target, f"{path}.target")
    value, average = target.get("value"), target.get("averageValue")
    if kind == "Pods":
        if average is None:
            detail = "must specify a positive target averageValue"
            found.append(required(f"{path}.target.averageValue", detail))
    elif value is None and average is None:
        detail = (
            "must set either a target value or averageValue"
            if kind == "Object"
            else "must set either a target value for metric or a per-pod target"
        )
        found.append(required(f"{path}.target.averageValue", detail))
    elif kind == "External" and value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        found.append(forbidden(f"{path}.target.value", detail))
    return found


def _identifier(metric: Json, path: str) -> Errors:
    name = metric.get("name", "")
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return [invalid(f"{path}.name", name, each) for each in path_segment(name)]


def _target(target: Json, path: str) -> Errors:
    found: Errors = []
    kind = target.get("type", "")
    if not kind:
        detail = "must specify a metric target type"
        found.append(required(f"{path}.type", detail))
    if kind not in ("Utilization", "Value", "AverageValue"):
        detail = "must be either Utilization, Value, or AverageValue"
        found.append(invalid(f"{path}.type", kind, detail))
    for name in ("value", "averageValue"):
        amount = target.get(name)
        if amount is not None and nano(amount, path) <= 0:
            found.append(invalid(f"{path}.{name}", amount, "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        found.append(invalid(f"{path}.averageUtilization", share, _POSITIVE))
    return found


def _resource_target(target: Json, path: str) -> Errors:
    found: Errors = []
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        detail = "must set either a target raw value or a target utilization"
        found.append(required(f"{path}.averageUtilization", detail))
    if share is not None and average is not None:
        detail = "may not set both a target raw value and a target utilization"
        found.append(forbidden(f"{path}.averageValue", detail))
    return found


def _behavior(behavior: Json) -> Errors:
    found: Errors = []
    for word in ("scaleUp", "scaleDown"):
        rules = behavior.get(word)
        if rules is None:
            continue
        path = f"spec.behavior.{word}"
        window = rules.get("stabilizationWindowSeconds")
        if window is not None and not 0 <= window <= _MOST_SECONDS:
            where = f"{path}.stabilizationWindowSeconds"
            detail = "must be greater than or equal to zero"
            if window > _MOST_SECONDS:
                detail = f"must be less than or equal to {_MOST_SECONDS}"
            found.append(invalid(where, window, detail))
        tolerance = rules.get("tolerance")
        if tolerance is not None and nano(tolerance, path) < 0:
            detail = "must be greater than or equal to 0"
            found.append(invalid(f"{path}.tolerance", tolerance, detail))
        if rules.get("selectPolicy") is not None:
            found += one_of(rules["selectPolicy"], f"{path}.selectPolicy", _SELECTS)
        policies = rules.get("policies") or []
        if not policies:
            found.append(required(f"{path}.policies", "must specify at least one Policy"))
        for index, policy in enumerate(policies):
            found += _policy(policy, f"{path}.policies[{index}]")
    return found


def _policy(policy: Json, path: str) -> Errors:
    found = one_of(policy.get("type"), f"{path}.type", _POLICIES)
    value, period = policy.get("value") or 0, policy.get("periodSeconds") or 0
    if value <= 0:
        found.append(invalid(f"{path}.value", value, "must be greater than zero"))
    if period <= 0:
        found.append(invalid(f"{path}.periodSeconds", period, "must be greater than zero"))
    if period > _MOST_PERIOD:
        detail = f"must be less than or equal to {_MOST_PERIOD}"
        found.append(invalid(f"{path}.periodSeconds", period, detail))
    return found


def check_autoscaler_status(item: Json, _old: Json) -> Errors:
    """Check the status of a HorizontalPodAutoscaler."""
    status = item.get("status") or {}
    found: Errors = []
    for name in ("currentReplicas", "desiredReplicas"):
        found += not_negative(status.get(name), f"status.{name}")
    return found


def check_budget(item: Json, _old: Json | None) -> Errors:
    """Check a PodDisruptionBudget."""
    spec = item.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    found: Errors = []
    if least is not None and most is not None:
        shown: dict[str, Any] = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        text = "minAvailable and maxUnavailable cannot be both set"
        found.append(invalid("spec", shown, text))
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            found += count_or_percent(value, f"spec.{name}")
            if exceeds_all(value):
                detail = "must not be greater than 100%"
                found.append(invalid(f"spec.{name}", value, detail))
    found += check_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        allowed = ("AlwaysAllow", "IfHealthyBudget")
        found += one_of(policy, "spec.unhealthyPodEvictionPolicy", allowed)
    return found


def check_budget_status(item: Json, _old: Json) -> Errors:
    """Check the status of a PodDisruptionBudget."""
    status = item.get("status") or {}
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return [error for name in names for error in not_negative(status.get(name), f"status.{name}")]
