"""Kinds of the objects that joining writes."""

from typing import Final

from stretto.api.wire.kinds import Kind

_RBAC: Final = "rbac.authorization.k8s.io"

SECRET: Final = Kind("", "v1", "Secret", "secrets")
CLUSTER_ROLE: Final = Kind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(
    _RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
