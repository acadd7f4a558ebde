"""Metrics and behavior of autoscalers in annotations of ``autoscaling/v1``.

The first version has fields for the use of CPU only. kube-apiserver keeps metrics in an older form
of their own, and the behavior as Go's internal struct.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

Json = dict[str, Any]

_Members = Mapping[str, tuple[str, str | None]]
"""Path of a member of ``autoscaling/v2`` and the text of an absent one, by the older name."""

_NAMED: Final = {"metricName": ("metric.name", "")}
_SELECTOR: Final = {"selector": ("metric.selector", None)}
_TARGETS: Final[Mapping[str, _Members]] = {
    "object": {
        "target": ("describedObject", None),
        **_NAMED,
        "targetValue": ("target.value", "0"),
        **_SELECTOR,
        "averageValue": ("target.averageValue", None),
    },
    "pods": {**_NAMED, "targetAverageValue": ("target.averageValue", "0"), **_SELECTOR},
    "resource": {
        "name": ("name", ""),
        "targetAverageUtilization": ("target.averageUtilization", None),
        "targetAverageValue": ("target.averageValue", None),
    },
    "containerResource": {
        "name": ("name", ""),
        "targetAverageUtilization": ("target.averageUtilization", None),
        "targetAverageValue": ("target.averageValue", None),
        "container": ("container", ""),
    },
    "external": {
        **_NAMED,
        "metricSelector": ("metric.selector", None),
        "targetValue": ("target.value", None),
        "targetAverageValue": ("target.averageValue", None),
    },
}
"""Members of the sources of a metric, in Go's order."""
_CURRENT: Final[Mapping[str, _Members]] = {
    "object": {
        "target": ("describedObject", None),
        **_NAMED,
        "currentValue": ("current.value", "0"),
        **_SELECTOR,
        "averageValue": ("current.averageValue", None),
    },
    "pods": {**_NAMED, "currentAverageValue": ("current.averageValue", "0"), **_SELECTOR},
    "resource": {
        "name": ("name", ""),
        "currentAverageUtilization": ("current.averageUtilization", None),
        "currentAverageValue": ("current.averageValue", "0"),
    },
    "containerResource": {
        "name": ("name", ""),
        "currentAverageUtilization": ("current.averageUtilization", None),
        "currentAverageValue": ("current.averageValue", "0"),
        "container": ("container", ""),
    },
    "external": {
        **_NAMED,
        "metricSelector": ("metric.selector", None),
        "currentValue": ("current.value", "0"),
        "currentAverageValue": ("current.averageValue", None),
    },
}
"""Members of the current values of a metric, in Go's order."""
_REFERENCE: Final = ("kind", "name", "apiVersion")
_RULES: Final = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY: Final = ("type", "value", "periodSeconds")


def old_metrics(metrics: list[Json], *, current: bool = False) -> list[Json]:
    """Return metrics, or their current values, in the older form."""
    return [_old(each, _CURRENT if current else _TARGETS) for each in metrics]


def new_metrics(metrics: list[Json], *, current: bool = False) -> list[Json]:
    """Return metrics, or their current values, in the form of ``autoscaling/v2``."""
    found = [_new(each, _CURRENT if current else _TARGETS) for each in metrics]
    for each in found if not current else ():
        for kind in _TARGETS:
            if kind in each:
                target = each[kind].setdefault("target", {})
                each[kind]["target"] = {"type": _TYPES[kind](target), **target}
    return found


def _old(metric: Json, sources: Mapping[str, _Members]) -> Json:
    found: Json = {"type": metric.get("type", "")}
    for kind, members in sources.items():
        source = metric.get(kind)
        if source is not None:
            values = {name: _at(source, path, absent) for name, (path, absent) in members.items()}
            found[kind] = {name: each for name, each in values.items() if each is not None}
    return found


def _new(metric: Json, sources: Mapping[str, _Members]) -> Json:
    found: Json = {"type": metric.get("type", "")}
    for kind, members in sources.items():
        source = metric.get(kind)
        if isinstance(source, dict):
            made: Json = {}
            for name, (path, _) in members.items():
                if source.get(name) is not None:
                    head, _, rest = path.partition(".")
                    if rest:
                        made.setdefault(head, {})[rest] = source[name]
                    else:
                        made[head] = source[name]
            found[kind] = made
    return found


def _at(source: Json, path: str, absent: str | None) -> Any:
    value: Any = source
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if path == "describedObject":
        return {key: value[key] for key in _REFERENCE if (value or {}).get(key)}
    return absent if value is None else value


def _type_of_use(target: Json) -> str:
    return "Utilization" if "averageUtilization" in target else "AverageValue"


_TYPES: Final[Mapping[str, Callable[[Json], str]]] = {
    "object": lambda target: "AverageValue" if "averageValue" in target else "Value",
    "pods": lambda _: "AverageValue",
    "resource": _type_of_use,
    "containerResource": _type_of_use,
    "external": lambda target: "Value" if "value" in target else "AverageValue",
}
"""Types of targets, which the older form does not contain."""


def internal_behavior(behavior: Json) -> Json:
    """Return a behavior as Go's internal struct."""
    return {_go(word): _internal_rules(behavior.get(word)) for word in ("scaleUp", "scaleDown")}


def _internal_rules(rules: Json | None) -> Json | None:
    if rules is None:
        return None
    found: Json = {_go(name): rules.get(name) for name in _RULES}
    if rules.get("policies"):
        found["Policies"] = [
            {_go(name): each.get(name) for name in _POLICY} for each in rules["policies"]
        ]
    return found


def external_behavior(value: Json) -> Json:
    """Return the behavior of ``autoscaling/v2`` from a text of Go's internal struct.

    Go reads names of members in any case.
    """
    names = {each.lower(): each for each in ("scaleUp", "scaleDown", *_RULES, *_POLICY)}
    return {
        names.get(key.lower(), key): _external(each)
        for key, each in value.items()
        if each is not None
    }


def _external(value: Any) -> Any:
    if isinstance(value, dict):
        return external_behavior(value)
    return [_external(each) for each in value] if isinstance(value, list) else value


def _go(name: str) -> str:
    return name[0].upper() + name[1:]
