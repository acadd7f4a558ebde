"""Served and stored forms of objects, including those that several resources share.

In the first version of autoscalers, annotations contain the values that have no field. Events of
the newer group have other names of members.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.schema.autoscaling import (
    external_behavior,
    internal_behavior,
    new_metrics,
    old_metrics,
)
from stretto.api.schema.decoding import Decoding, decode
from stretto.api.schema.exact import is_exact
from stretto.api.schema.kubernetes import struct, struct_of_kind
from stretto.web.api.crds.objects import shown_custom
from stretto.web.api.objects.rendering import without_type
from stretto.web.api.resources import ServedResource
from stretto.web.api.webhooks.reviews import ReviewMemory

Json = dict[str, Any]

_NOTES: Final = "autoscaling.alpha.kubernetes.io/"
_PERCENT: Final = "targetCPUUtilizationPercentage"
_CURRENT: Final = "currentCPUUtilizationPercentage"


@dataclass(frozen=True)
class VersionForms:
    """Conversion between the served version and the stored version of objects."""

    #: Converts the served to the stored form.
    to_stored: Callable[[Json], Json]
    #: Converts the stored to the served form.
    to_served: Callable[[Json], Json]


def shown_form(resource: ServedResource, item: Json, memory: ReviewMemory) -> Json:
    """Return a stored object in the served version, with the fields that Go encodes."""
    return shown_forms(resource, [item], memory)[0]


def shown_forms(
    resource: ServedResource, items: Sequence[Json], memory: ReviewMemory
) -> list[Json]:
    """Return stored objects in the served version, with the fields that Go encodes.

    Args:
        resource: the served version.
        items: the objects.
        memory: the data that their request keeps between its attempts.

    Raises:
        PendingReviewsError: a webhook must convert them, and has not answered yet.
        ApiError: the conversion fails.
    """
    if resource.definition is not None:
        found = shown_custom(items, resource, memory)
    else:
        found = [_shown_built_in(resource, each) for each in items]
    kind = resource.kind
    head = {"kind": kind.kind, "apiVersion": kind.api_version}
    return [{**head, **without_type(each)} for each in found]


def canonical_form(resource: ServedResource, item: Json) -> Json:
    """Return an object of a stored version with the fields that Go encodes.

    An object that decoding does not change keeps its parts.
    """
    if not resource.struct.fields:
        return item
    kind, inner = resource.kind, without_type(item)
    if not is_exact(inner, resource.struct):
        inner = decode(inner, resource.struct, Decoding())
    return {"kind": kind.kind, "apiVersion": kind.api_version, **inner}


def _shown_built_in(resource: ServedResource, item: Json) -> Json:
    """Return a stored object of a kind of Kubernetes in the served version."""
    if not resource.struct.fields:
        return item
    inner = without_type(served_form(resource, item))
    if is_exact(inner, resource.struct):  # a copy takes a third of the time of a decoding
        copied: Json = msgspec.json.decode(msgspec.json.encode(inner))
        return copied
    return decode(inner, resource.struct, Decoding())


def stored_form(resource: ServedResource, item: Json) -> Json:
    """Return an object in the stored version."""
    forms = _FORMS.get((resource.group, resource.kind.version, resource.resource))
    kind = resource.stored
    found = struct_of_kind(kind.group, kind.version, kind.kind)
    if forms is None or found is None:
        return item
    stored = forms.to_stored(item)
    inner = decode(without_type(stored), found, Decoding())
    return {"kind": kind.kind, "apiVersion": kind.api_version, **inner}


def served_form(resource: ServedResource, item: Json) -> Json:
    """Return an object in the served version; an object in this version does not change."""
    forms = _FORMS.get((resource.group, resource.kind.version, resource.resource))
    if forms is None or item.get("apiVersion") == resource.kind.api_version:
        return item
    return {**forms.to_served(item), "apiVersion": resource.kind.api_version}


def _second(item: Json) -> Json:
    """Convert an autoscaler from the first version to the second."""
    notes = dict(item["metadata"].get("annotations") or {})
    spec, status = dict(item.get("spec") or {}), dict(item.get("status") or {})
    percent, current = spec.pop(_PERCENT, None), status.pop(_CURRENT, None)
    metrics = new_metrics(_listed(notes, "metrics"))
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.append(_cpu("target", target))
    if metrics:
        spec["metrics"] = metrics
    behavior = _taken(notes, "behavior")
    if isinstance(behavior, dict) and behavior:
        spec["behavior"] = external_behavior(behavior)
    measured = new_metrics(_listed(notes, "current-metrics"), current=True)
    if current is not None and not measured:
        measured = [_cpu("current", {"averageUtilization": current, "averageValue": "0"})]
    if measured:
        status["currentMetrics"] = measured
    conditions = _listed(notes, "conditions")
    if conditions:
        status["conditions"] = conditions
    metadata = {key: each for key, each in item["metadata"].items() if key != "annotations"}
    if notes:
        metadata["annotations"] = notes
    made = {**item, "metadata": metadata, "spec": spec, "status": status}
    set_defaults(made, struct("autoscaling/v2.HorizontalPodAutoscaler"))
    return made


def _first(item: Json) -> Json:
    """Convert an autoscaler from the second version to the first."""
    notes = dict(item["metadata"].get("annotations") or {})
    spec, status = dict(item.get("spec") or {}), dict(item.get("status") or {})
    metrics, measured = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    percent, others = _split(metrics, "target")
    current, _ = _split(measured, "current")
    behavior = spec.pop("behavior", None)
    if percent is not None:
        spec[_PERCENT] = percent
    if current is not None:
        status[_CURRENT] = current
    rest = {
        "metrics": old_metrics(others),
        "current-metrics": old_metrics(measured, current=True),
        "behavior": None if behavior is None else internal_behavior(behavior),
        "conditions": status.pop("conditions", None),
    }
    texts = {key: msgspec.json.encode(each).decode() for key, each in rest.items() if each}
    notes |= {f"{_NOTES}{key}": text for key, text in texts.items()}
    metadata = {**item["metadata"], **({"annotations": notes} if notes else {})}
    return {**item, "metadata": metadata, "spec": spec, "status": status}


def _cpu(member: str, value: Json) -> Json:
    return {"type": "Resource", "resource": {"name": "cpu", member: value}}


def _split(metrics: list[Json], member: str) -> tuple[int | None, list[Json]]:
    """Return the percentage of the first CPU metric, and the metrics that state none."""
    others, percent = [], None
    for each in metrics:
        resource = each.get("resource") or {}
        found = (resource.get(member) or {}).get("averageUtilization")
        if resource.get("name") != "cpu" or found is None:
            others.append(each)
        elif percent is None:
            percent = found
    return percent, others


def _listed(notes: dict[str, str], name: str) -> list[Json]:
    """Remove and return the objects of an annotation; none if it contains anything else."""
    found = _taken(notes, name)
    is_list = isinstance(found, list) and all(isinstance(each, dict) for each in found)
    return found if is_list else []


def _taken(notes: dict[str, str], name: str) -> Any:
    """Remove and return an annotation's value; ``None`` if it is absent or not JSON."""
    text = notes.pop(f"{_NOTES}{name}", None)
    try:
        return None if text is None else msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _renamed(names: Mapping[str, str]) -> Callable[[Json], Json]:
    """Return a function that renames some members of an object."""
    return lambda item: {names.get(key, key): each for key, each in item.items()}


_EVENT: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""Members of an event of ``events.k8s.io``, and their names in the core group."""

_FORMS: Final[Mapping[tuple[str, str, str], VersionForms]] = {
    ("autoscaling", "v1", "horizontalpodautoscalers"): VersionForms(_second, _first),
    ("events.k8s.io", "v1", "events"): VersionForms(
        _renamed(_EVENT), _renamed({core: new for new, core in _EVENT.items()})
    ),
}
"""Forms by group, version and plural."""
