"""The roles and bindings that a fresh server makes, and roles that aggregate others."""

from typing import Any, Final

from stretto.web.api.authz.rules import CLUSTER_ROLE
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.tables.values import matches_selector

Json = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_NOTES: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_READS: Final = ["get", "list", "watch"]
_WRITES: Final = ["create", "delete", "deletecollection", "patch", "update"]
_INFO: Final = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY: Final = [
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*",
    "/readyz", "/version", "/version/",
]  # fmt: skip
_ISSUER: Final = "system:service-account-issuer-discovery"
_TOKENS: Final = [
    "/.well-known/openid-configuration", "/.well-known/openid-configuration/",
    "/openid/v1/jwks", "/openid/v1/jwks/",
]  # fmt: skip
_NAMESPACED: Final = [
    (
        "",
        (
            "bindings configmaps endpoints events limitranges namespaces persistentvolumeclaims "
            "pods pods/log pods/status replicationcontrollers resourcequotas serviceaccounts "
            "services"
        ),
    ),
    ("apps", "controllerrevisions daemonsets deployments replicasets statefulsets"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("batch", "cronjobs jobs"),
    ("networking.k8s.io", "ingresses networkpolicies"),
    ("policy", "poddisruptionbudgets"),
    ("discovery.k8s.io", "endpointslices"),
]


def bootstrap_roles() -> list[Json]:
    """The ClusterRoles of a fresh server."""
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    paths = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    return [
        _role("cluster-admin", [everything, paths]),
        _role("system:discovery", [{"nonResourceURLs": _DISCOVERY, "verbs": ["get"]}]),
        _role("system:public-info-viewer", [{"nonResourceURLs": _INFO, "verbs": ["get"]}]),
        _role(
            "system:basic-user",
            [
                {
                    "apiGroups": ["authorization.k8s.io"],
                    "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                    "verbs": ["create"],
                },
                {
                    "apiGroups": ["authentication.k8s.io"],
                    "resources": ["selfsubjectreviews"],
                    "verbs": ["create"],
                },
            ],
        ),
        _role(
            _ISSUER,
            [{"nonResourceURLs": _TOKENS, "verbs": ["get"]}],
        ),
        _aggregate("view", into="edit"),
        _aggregate("edit", into="admin"),
        _aggregate("admin"),
        _part("system:aggregate-to-view", "view", _rules(_READS)),
        _part("system:aggregate-to-edit", "edit", [*_rules(_READS), *_rules(_WRITES)]),
        _part("system:aggregate-to-admin", "admin", [*_rules(_READS), *_rules(_WRITES), _rights()]),
    ]


def bootstrap_bindings() -> list[Json]:
    """The ClusterRoleBindings of a fresh server."""
    return [
        _binding("cluster-admin", "system:masters"),
        _binding("system:basic-user", "system:authenticated"),
        _binding("system:discovery", "system:authenticated"),
        _binding("system:public-info-viewer", "system:authenticated", "system:unauthenticated"),
        _binding(_ISSUER, "system:serviceaccounts"),
    ]


def _rights() -> Json:
    return {
        "apiGroups": [_GROUP],
        "resources": ["rolebindings", "roles"],
        "verbs": [*_READS, *_WRITES],
    }


def _rules(verbs: list[str]) -> list[Json]:
    return [
        {"apiGroups": [group], "resources": names.split(), "verbs": verbs}
        for group, names in _NAMESPACED
    ]


def _role(name: str, rules: list[Json] | None, labels: dict[str, str] | None = None) -> Json:
    metadata = {"name": name, "labels": {**_LABELS, **(labels or {})}, "annotations": _NOTES}
    return {"metadata": metadata} if rules is None else {"metadata": metadata, "rules": rules}


def _aggregate(name: str, into: str = "") -> Json:
    """A role with the rules of others; ``into`` names the role that has its rules too."""
    rule = {"clusterRoleSelectors": [{"matchLabels": {f"{_GROUP}/aggregate-to-{name}": "true"}}]}
    labels = {f"{_GROUP}/aggregate-to-{into}": "true"} if into else {}
    return {**_role(name, None, labels), "aggregationRule": rule}


def _part(name: str, of: str, rules: list[Json]) -> Json:
    return _role(name, rules, {f"{_GROUP}/aggregate-to-{of}": "true"})


def _binding(role: str, *groups: str) -> Json:
    subjects = [{"kind": "Group", "apiGroup": _GROUP, "name": each} for each in groups]
    return {
        "metadata": {"name": role, "labels": _LABELS, "annotations": _NOTES},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    }


def after_role(state: ApiState, admission: AdmittedWrite) -> None:
    """Recompute the roles that aggregate others when a ClusterRole has changed."""
    if state.aggregates_roles and admission.resource.stored == CLUSTER_ROLE:
        aggregate(state)


def aggregate(state: ApiState) -> None:
    """Give each aggregating role the rules of those that it selects, which may aggregate too."""
    resource = state.resources.find(_GROUP, "v1", "clusterroles")
    roles = state.storage.items(CLUSTER_ROLE)
    for _ in roles:
        changed = [each for each in roles if _collect(each, roles)]
        for role in changed:
            stored = state.storage.find(CLUSTER_ROLE, "", role["metadata"]["name"])
            if stored is not None and resource is not None:
                item = {**stored.item, "rules": role["rules"]}
                state.storage.replace(resource, stored.record, item)
        if not changed:
            return


def _collect(role: Json, roles: list[Json]) -> bool:
    """Set the rules of an aggregating role; returns whether they changed."""
    rule = role.get("aggregationRule")
    if not rule:
        return False
    rules: list[Json] = []
    for other in roles:
        labels = other["metadata"].get("labels") or {}
        selectors = rule.get("clusterRoleSelectors") or ()
        if other is not role and any(matches_selector(each, labels) for each in selectors):
            rules += [each for each in other.get("rules") or () if each not in rules]
    if rules == (role.get("rules") or []):
        return False
    role["rules"] = rules
    return True
