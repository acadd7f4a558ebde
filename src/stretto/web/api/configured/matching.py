"""Matching of writes by the rules and the selectors of a policy or a webhook."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import LabelSelector
from stretto.api.wire.selectors import label_selector
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.state import ApiState

Json = dict[str, Any]


def matched_resource(
    state: ApiState, attributes: WriteAttributes, resources: Json, rules: Iterable[Json]
) -> Kind | None:
    """Return the resource for which some rules match a write; ``None`` if they do not.

    Args:
        state: the server, which contains the other versions of the resource.
        attributes: the write.
        resources: selectors and ``matchPolicy``.
        rules: the rules.
    """
    if not _selected(attributes, resources):
        return None
    known = list(rules)
    served = attributes.admission.resource.kind
    candidates = [served]
    if resources.get("matchPolicy", "Equivalent") == "Equivalent":
        candidates += _equivalents(state, attributes)
    for kind in candidates:
        if any(_rule_matches(rule, attributes, kind) for rule in known):
            return kind
    return None


def constrained_kind(state: ApiState, attributes: WriteAttributes, resources: Json) -> Kind | None:
    """Return the resource for which the constraints of a policy or of a binding match a write.

    ``None`` if they do not. Without rules they match all resources.
    """
    excluded = resources.get("excludeResourceRules") or ()
    if excluded and matched_resource(state, attributes, _policy_of(resources), excluded):
        return None
    rules = resources.get("resourceRules")
    if not rules:
        is_selected = _selected(attributes, resources)
        return attributes.admission.resource.kind if is_selected else None
    return matched_resource(state, attributes, resources, rules)


def _policy_of(resources: Json) -> Json:
    """Return the constraints without selectors, for the match of exclusions."""
    return {"matchPolicy": resources.get("matchPolicy", "Equivalent")}


def _equivalents(state: ApiState, attributes: WriteAttributes) -> Iterator[Kind]:
    """Yield other versions in which the same objects are served."""
    resource = attributes.admission.resource
    for each in state.resources.all():
        if each.stored == resource.stored and each.kind != resource.kind:
            yield each.kind


def _rule_matches(rule: Json, attributes: WriteAttributes, kind: Kind) -> bool:
    admission = attributes.admission
    names = rule.get("resourceNames")
    return (
        _has(rule.get("operations"), admission.operation)
        and _has(rule.get("apiGroups"), kind.group)
        and _has(rule.get("apiVersions"), kind.version)
        and _has_resource(rule.get("resources") or (), kind.plural, admission.subresource)
        and _in_scope(rule.get("scope") or "*", kind)
        and (not names or attributes.name in names)
    )


def _has(values: Any, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in values or ())


def _has_resource(patterns: Iterable[str], resource: str, subresource: str) -> bool:
    for pattern in patterns:
        name, _, sub = pattern.partition("/")
        if name in ("*", resource) and sub in ("*", subresource):
            return True
    return False


def _in_scope(scope: str, kind: Kind) -> bool:
    return scope == "*" or (scope == "Namespaced") == kind.namespaced


def _selected(attributes: WriteAttributes, resources: Json) -> bool:
    """Return whether the namespace selector and the object selector match."""
    labels = attributes.labels_of_namespace()
    if labels is not None and not selects(resources.get("namespaceSelector"), labels):
        return False
    selector = resources.get("objectSelector")
    if not selector:
        return True
    objects = [each for each in (attributes.item, attributes.old) if each is not None]
    return any(
        selects(selector, (each.get("metadata") or {}).get("labels") or {}) for each in objects
    )


def selects(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches; an absent or empty selector matches all."""
    if not selector:
        return True
    return label_selector(msgspec.convert(selector, LabelSelector), "selector").matches(labels)
