"""Selectors: label keys of terms merged into them, and their match with pod templates."""

from collections.abc import Iterator
from typing import Any

import msgspec

from stretto.api.admission.request import AdmissionRequest, JsonObject
from stretto.api.types.pod import PREFERRED, REQUIRED
from stretto.api.wire.kinds import REPLICATION_CONTROLLER
from stretto.api.wire.meta import LabelSelector
from stretto.api.wire.selectors import label_selector
from stretto.base.errors import InputError


def merge_label_keys(pod: JsonObject) -> None:
    """Add the values of ``matchLabelKeys`` and ``mismatchLabelKeys`` to the selectors of a pod.

    Terms without a selector do not change, because they match no pod.
    """
    labels, spec = pod["metadata"].get("labels") or {}, pod["spec"]
    for term in (*pod_terms(spec), *(spec.get("topologySpreadConstraints") or ())):
        selector = term.get("labelSelector")
        if selector is None:
            continue
        rules = list(selector.get("matchExpressions") or ())
        for key, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
            for label in term.get(key) or ():
                rule = {"key": label, "operator": operator, "values": [labels.get(label)]}
                if label in labels and rule not in rules:
                    rules.append(rule)
        if rules:
            selector["matchExpressions"] = rules


def has_label_keys(spec: JsonObject) -> bool:
    """Return whether a term of a pod reads the labels of the pod itself."""
    terms = (*pod_terms(spec), *(spec.get("topologySpreadConstraints") or ()))
    return any(each.get("matchLabelKeys") or each.get("mismatchLabelKeys") for each in terms)


def pod_terms(spec: JsonObject) -> Iterator[JsonObject]:
    """The terms of all affinities to other pods."""
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(name) or {}
        yield from part.get(REQUIRED) or ()
        for each in part.get(PREFERRED) or ():
            yield each.get("podAffinityTerm") or {}


def check_template(request: AdmissionRequest, item: JsonObject, where: str) -> None:
    """Refuse a controller whose selector is missing, empty or does not match its template.

    Raises:
        InputError: with the path of the selector or of the labels.
    """
    spec = item["spec"]
    selector: Any = spec.get("selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    path = f"{where}: spec.selector"
    hint = "set matchLabels to the labels of spec.template"
    if request.kind == REPLICATION_CONTROLLER:
        hint = "give spec.template labels, and repeat some in spec.selector"
        selector = {"matchLabels": selector} if selector else None
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        raise InputError(path, selector, "a selector of the controller's pods", hint)
    typed = msgspec.convert(selector, LabelSelector)
    if not label_selector(typed, path).matches(labels):
        expected = "labels that spec.selector matches"
        hint = "`selector` does not match template `labels`"
        raise InputError(f"{where}: spec.template.metadata.labels", labels, expected, hint)
