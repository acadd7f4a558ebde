"""The rights of the federation in a member: exactly those that the configured kinds need."""

from collections.abc import Iterable
from typing import Final

from stretto.api.wire.kinds import POD_METRICS, Kind
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields

_READ: Final = ("get", "list", "watch")
_WRITE: Final = (*_READ, "create", "update", "patch", "delete")
_GRANT: Final = (*_WRITE, "bind", "escalate")
_RBAC: Final = "rbac.authorization.k8s.io"
_OBSERVED: Final = (
    ("", "nodes"),
    ("", "pods"),
    ("apps", "replicasets"),
    ("discovery.k8s.io", "endpointslices"),
)
"""Kinds that the federation reads for capacity, unschedulable pods and services."""
_METRICS: Final[Fields] = {
    "apiGroups": [POD_METRICS.group],
    "resources": [POD_METRICS.plural],
    "verbs": ["list"],
}
"""Metrics that autoscalers on the host read; they cannot be watched."""
ACCOUNT: Final = "kubeadmiral-member"
"""Name of the service account and of the secret with its token."""
ROLE: Final = f"kubeadmiral-controller-manager:{ACCOUNT}"
"""Name of the ClusterRole and of its binding."""

_PATHS: Final = ("/healthz", "/api", "/api/*", "/apis", "/apis/*", "/openapi/v3")
"""Paths that health checks and the discovery of kinds read."""


def rules(types: Iterable[FederatedType], namespace: str) -> list[Fields]:
    """Rules of the ClusterRole of the federation's service account.

    Roles and bindings need the verbs ``bind`` and ``escalate``: without them an API server rejects
    a role with more rights than its author.

    Args:
        types: the configured kinds.
        namespace: the system namespace, which the federation removes when it leaves.
    """
    kinds = sorted({each.kind for each in types}, key=lambda each: (each.group, each.plural))
    made = [_rule(kind) for kind in kinds]
    written = {(kind.group, kind.plural) for kind in kinds}
    made += [
        {"apiGroups": [group], "resources": [plural], "verbs": list(_READ)}
        for group, plural in _OBSERVED
        if (group, plural) not in written
    ]
    made.append(_METRICS)
    made.append(
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "resourceNames": [namespace],
            "verbs": ["get", "delete"],
        }
    )
    own = {"apiGroups": [_RBAC], "resources": ["clusterroles"], "resourceNames": [ROLE]}
    made.append({**own, "verbs": ["get"]})
    return [*made, {"nonResourceURLs": list(_PATHS), "verbs": ["get"]}]


def _rule(kind: Kind) -> Fields:
    verbs = _GRANT if kind.group == _RBAC else _WRITE
    return {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": list(verbs)}
