"""The objects that a fresh server makes by itself."""

from typing import Any, Final

from stretto.web.api.authn.users import User
from stretto.web.api.authz.roles import aggregate, bootstrap_bindings, bootstrap_roles
from stretto.web.api.call import Call, WriteOptions
from stretto.web.api.message import ApiRequest
from stretto.web.api.routes import Route
from stretto.web.api.state import ApiState
from stretto.web.api.writes import create_object, default_object

Json = dict[str, Any]

SERVER: Final = User("system:apiserver", "", ("system:masters",))
"""The user of the server's own writes."""

_RBAC: Final = "rbac.authorization.k8s.io"
_NAMESPACES: Final = ("kube-system", "default", "kube-public", "kube-node-lease")
_PRIORITIES: Final = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary."
        ),
    ),
)


def make_objects(state: ApiState) -> None:
    """Make the namespaces, priority classes and roles that do not exist yet."""
    for name in _NAMESPACES:
        make(state, "", "v1", "namespaces", {"metadata": {"name": name}})
    for name, value, text in _PRIORITIES:
        item = {"metadata": {"name": name}, "value": value, "description": text}
        make(state, "scheduling.k8s.io", "v1", "priorityclasses", item)
    for role in bootstrap_roles():
        make(state, _RBAC, "v1", "clusterroles", role)
    for binding in bootstrap_bindings():
        make(state, _RBAC, "v1", "clusterrolebindings", binding)
    aggregate(state)


def make(state: ApiState, group: str, version: str, plural: str, item: Json) -> Json | None:
    """Create an object on behalf of the server; ``None`` if it exists."""
    resource = state.resources.find(group, version, plural)
    if resource is None:
        return None
    metadata = item["metadata"]
    namespace = metadata.get("namespace", "")
    if state.storage.find(resource.stored, namespace, metadata["name"]) is not None:
        return None
    kind = resource.kind
    call = Call(
        ApiRequest("POST", ""),
        Route(group, version, plural, namespace),
        resource,
        "create",
        SERVER,
        WriteOptions(manager="kube-apiserver"),
    )
    made = {"kind": kind.kind, "apiVersion": kind.api_version, **item}
    return create_object(state, call, default_object(call, made))
