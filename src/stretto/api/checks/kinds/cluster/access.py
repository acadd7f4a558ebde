"""Rules of roles and their bindings."""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, invalid, required, unsupported
from stretto.api.checks.fields.shapes import moved
from stretto.api.checks.fields.texts import dns_subdomain, path_segment
from stretto.api.checks.kinds.values import Json, check_selector

_GROUP: Final = "rbac.authorization.k8s.io"


def check_role(item: Json, _old: Json | None) -> Errors:
    """Check a Role."""
    return _rules(item.get("rules") or (), namespaced=True)


def check_cluster_role(item: Json, _old: Json | None) -> Errors:
    """Check a ClusterRole."""
    found = _rules(item.get("rules") or (), namespaced=False)
    aggregation = item.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or []
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            found.append(required(path, detail))
        for index, selector in enumerate(selectors):
            errors = check_selector(selector, "")
            found += [moved(each, f"{path}[{index}]") for each in errors]
            if errors:
                found.append(invalid(f"{path}[{index}]", None, "invalid label selector."))
    return found


def _rules(rules: Any, *, namespaced: bool) -> Errors:
    found: Errors = []
    for index, rule in enumerate(rules):
        where = f"rules[{index}]"
        if not rule.get("verbs"):
            found.append(required(f"{where}.verbs", "verbs must contain at least one value"))
        paths = rule.get("nonResourceURLs")
        if paths:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                found.append(invalid(f"{where}.nonResourceURLs", paths, text))
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                found.append(invalid(f"{where}.nonResourceURLs", paths, text))
            continue
        for name, word in (
            ("apiGroups", "resource rules must supply at least one api group"),
            ("resources", "resource rules must supply at least one resource"),
        ):
            if not rule.get(name):
                found.append(required(f"{where}.{name}", word))
    return found


def check_role_binding(item: Json, old: Json | None) -> Errors:
    """Check a RoleBinding."""
    return _binding(item, old, ("Role", "ClusterRole"))


def check_cluster_role_binding(item: Json, old: Json | None) -> Errors:
    """Check a ClusterRoleBinding."""
    return _binding(item, old, ("ClusterRole",))


def _binding(item: Json, old: Json | None, kinds: tuple[str, ...]) -> Errors:
    ref = item.get("roleRef") or {}
    found: Errors = []
    if ref.get("apiGroup") != _GROUP:
        found.append(unsupported("roleRef.apiGroup", ref.get("apiGroup", ""), (_GROUP,)))
    if ref.get("kind") not in kinds:
        found.append(unsupported("roleRef.kind", ref.get("kind", ""), kinds))
    name = ref.get("name", "")
    if not name:
        found.append(required("roleRef.name"))
    else:
        found += [invalid("roleRef.name", name, each) for each in path_segment(name)]
    for index, subject in enumerate(item.get("subjects") or ()):
        found += _subject(subject, f"subjects[{index}]", namespaced="Role" in kinds)
    if old is not None and ref != old.get("roleRef"):
        shown = {name: ref.get(name[0].lower() + name[1:], "") for name in ("Kind", "Name")}
        shown = {"APIGroup": ref.get("apiGroup", ""), **shown}
        found.append(invalid("roleRef", shown, "cannot change roleRef"))
    return found


def _subject(subject: Json, path: str, *, namespaced: bool) -> Errors:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    found: Errors = []
    if not name:
        found.append(required(f"{path}.name"))
    group = subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if name:
            found += [invalid(f"{path}.name", name, each) for each in dns_subdomain(name)]
        if group:
            found.append(unsupported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            found.append(unsupported(f"{path}.apiGroup", group, (_GROUP,)))
    else:
        allowed = ("ServiceAccount", "User", "Group")
        found.append(unsupported(f"{path}.kind", kind, allowed))
    return found
