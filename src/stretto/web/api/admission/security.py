"""Admission by pod security: pods, pod templates, and labels of namespaces."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.admission.security.findings import PodView, SecurityFinding
from stretto.api.admission.security.levels import (
    PRIVILEGED,
    SecurityLevel,
    SecurityPolicy,
    VersionedLevel,
    policy_of,
)
from stretto.api.admission.security.standards import described, violations
from stretto.api.wire.kinds import NAMESPACE, POD
from stretto.web.api import failures
from stretto.web.api.admission.namespaces import namespace_labels
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_NOTES: Final = "pod-security.kubernetes.io/"
_MOST_PODS: Final = 3000
"""Maximum number of pods of a namespace that are checked when its labels change."""
_PARTS_OF_PODS: Final = frozenset({"", "ephemeralcontainers", "resize"})
_TEMPLATES: Final = {
    ("", "ReplicationController"): ("spec", "template"),
    ("", "PodTemplate"): ("template",),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""Path of the pod template, by kind."""


def secure_pods(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse pods above the level of their namespace, and warn about templates above it."""
    item, resource = admission.item, admission.resource
    if item is None:
        return
    if resource.stored == NAMESPACE:
        _check_labels(state, admission, item)
    elif resource.stored == POD and admission.subresource in _PARTS_OF_PODS:
        _check_pod(state, admission, item)
    elif resource.key in _TEMPLATES and not admission.subresource:
        template: Json = item
        for step in _TEMPLATES[resource.key]:
            template = template.get(step) or {}
        policy = _policy(state, admission)
        if template.get("spec"):
            view = PodView(template.get("metadata") or {}, template["spec"])
            _audit(admission, policy, view)
            _warn(admission, policy, view)


def _policy(state: ApiState, admission: AdmittedWrite) -> SecurityPolicy:
    """The policy of the namespace of a write."""
    return policy_of(namespace_labels(state, admission.call))[0]


def _check_pod(state: ApiState, admission: AdmittedWrite, item: Json) -> None:
    if not _is_significant(item, admission.old):
        return
    policy, notes = _policy(state, admission), admission.call.request.notes
    notes.annotate(f"{_NOTES}enforce-policy", str(policy.enforce))
    if policy is PRIVILEGED:
        return
    view = PodView(item["metadata"], item["spec"])
    _audit(admission, policy, view)
    found = violations(policy.enforce, view)
    if found:
        text = f'violates PodSecurity "{policy.enforce}": {described(found)}'
        raise failures.forbidden("", "pods", item["metadata"].get("name", ""), text)
    _warn(admission, policy, view)


def _audit(admission: AdmittedWrite, policy: SecurityPolicy, view: PodView) -> None:
    """Record the violations of a pod for the audit log."""
    found = violations(policy.audit, view)
    if found:
        text = f'would violate PodSecurity "{policy.audit}": {described(found)}'
        admission.call.request.notes.annotate(f"{_NOTES}audit-violations", text)


def _warn(admission: AdmittedWrite, policy: SecurityPolicy, view: PodView) -> None:
    found = violations(policy.warn, view)
    if found:
        text = f'would violate PodSecurity "{policy.warn}": {described(found)}'
        admission.call.warnings.append(text)


def _is_significant(item: Json, old: Json | None) -> bool:
    """Return whether a write changes the input of the checks: containers or their images."""
    if old is None:
        return True
    spec, before = item["spec"], old["spec"]
    for key in ("containers", "initContainers"):
        images = [each.get("image") for each in spec.get(key) or ()]
        if images != [each.get("image") for each in before.get(key) or ()]:
            return True
    known = {
        each.get("name"): each.get("image") for each in before.get("ephemeralContainers") or ()
    }
    return any(
        each.get("name") not in known or each.get("image") != known[each.get("name")]
        for each in spec.get("ephemeralContainers") or ()
    )


def _check_labels(state: ApiState, admission: AdmittedWrite, item: Json) -> None:
    """Refuse invalid labels of a namespace; warn about its pods above a new level."""
    if admission.subresource:
        return
    policy, errors = policy_of(item["metadata"].get("labels") or {})
    old = admission.old
    before, known = policy_of((old or {}).get("metadata", {}).get("labels") or {})
    if errors and (old is None or errors != known):
        causes = [(each.reason, each.message, each.field) for each in errors]
        raise failures.invalid(NAMESPACE, item["metadata"].get("name", ""), causes)
    if old is not None and _is_stricter(policy.enforce, before.enforce):
        found = _existing(state, item["metadata"]["name"], policy.enforce)
        admission.call.warnings.extend(found)


def _is_stricter(level: VersionedLevel, before: VersionedLevel) -> bool:
    """Return whether a pod within ``before`` can be above ``level``."""
    if level == before or level.level is SecurityLevel.PRIVILEGED:
        return False
    return level.minor != before.minor or level.level > before.level


def _existing(state: ApiState, namespace: str, level: VersionedLevel) -> Iterator[str]:
    """Warnings about the pods of a namespace, grouped by finding."""
    pods = _of_different_owners(state.storage.items(POD, namespace))
    names: dict[str, list[str]] = {}
    for pod in pods[:_MOST_PODS]:
        found: list[SecurityFinding] = violations(level, PodView(pod["metadata"], pod["spec"]))
        if found:
            reasons = ", ".join(each.reason for each in found)
            names.setdefault(reasons, []).append(pod["metadata"]["name"])
    if len(pods) > _MOST_PODS:
        yield (
            f"new PodSecurity enforce level only checked against the first {_MOST_PODS} of "
            f"{len(pods)} existing pods"
        )
    if names:
        yield (
            f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level '
            f'"{level}"'
        )
    yield from sorted(
        f"{min(each)}{_others(len(each) - 1)}: {reasons}" for reasons, each in sorted(names.items())
    )


def _others(count: int) -> str:
    if count == 0:
        return ""
    return f" (and {count} other {'pod' if count == 1 else 'pods'})"


def _of_different_owners(pods: list[Json]) -> list[Json]:
    """Sort pods so that the first pod of each controller comes before all others."""
    first: list[Json] = []
    others: list[Json] = []
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        owner = next((each.get("uid", "") for each in owners if each.get("controller")), "")
        (others if owner and owner in seen else first).append(pod)
        seen.add(owner)
    return first + others
