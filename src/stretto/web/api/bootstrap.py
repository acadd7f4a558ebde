"""The objects that a new server creates by itself."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION
from stretto.web.api.authn.users import User
from stretto.web.api.authz.roles import aggregate, bootstrap_rights
from stretto.web.api.call import Call, WriteOptions
from stretto.web.api.flows.objects import (
    GROUP,
    LEVEL,
    PRODUCER,
    SCHEMA,
    flow_schemas,
    priority_levels,
)
from stretto.web.api.fresh.registrations import (
    API_SERVICE,
    initial_registrations,
    missing_registrations,
)
from stretto.web.api.fresh.services import (
    api_objects,
    settle_authentication,
    settle_network,
)
from stretto.web.api.message import ApiRequest
from stretto.web.api.objects.ownership import own_new
from stretto.web.api.routes import Route
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.writes import create_object, default_object

Json = dict[str, Any]

SERVER_NAME: Final = "kube-apiserver"
"""Field manager of the server's own writes."""
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


def make_objects(state: ApiState, authentication: Mapping[str, str]) -> None:
    """Create the missing namespaces, priority classes, roles and settings."""
    for name in _NAMESPACES:
        make(state, ("", "v1", "namespaces"), {"metadata": {"name": name}})
    for name, value, text in _PRIORITIES:
        item = {"metadata": {"name": name}, "value": value, "description": text}
        make(state, ("scheduling.k8s.io", "v1", "priorityclasses"), item)
    for level in priority_levels():
        _make_complete(state, (GROUP, "v1", LEVEL.plural), level, PRODUCER)
    for schema in flow_schemas():
        _make_complete(state, (GROUP, "v1", SCHEMA.plural), schema, PRODUCER)
    for resource, item in api_objects(state.now, authentication):
        make(state, resource, item)
    settle_authentication(state, authentication)
    settle_network(state)
    for item in initial_registrations(state):
        make_registration(state, item)
    for name, right in bootstrap_rights():
        _make_right(state, name, right)
    if state.aggregates_roles:
        aggregate(state)


def make_registration(state: ApiState, item: Json) -> None:
    """Create an APIService."""
    make(state, (API_SERVICE.group, API_SERVICE.version, API_SERVICE.plural), item)


def after_kinds(state: ApiState, admission: AdmittedWrite) -> None:
    """Create the missing APIServices of a changed definition."""
    if admission.resource.stored == CUSTOM_RESOURCE_DEFINITION:
        for item in missing_registrations(state):
            make_registration(state, item)


def make(
    state: ApiState, served: tuple[str, str, str], item: Json, manager: str = SERVER_NAME
) -> Json | None:
    """Create an object on behalf of the server; return ``None`` if it exists.

    Args:
        state: the server.
        served: group, version and plural.
        item: the object.
        manager: field manager of its fields.
    """
    call = _creation(state, served, item, manager)
    if call is None:
        return None
    return create_object(state, call, default_object(call, _typed(call, item)))


def _make_right(state: ApiState, plural: str, right: Json) -> None:
    """Store a role or a binding in the form of kube-apiserver, if it does not exist."""
    no_rules = {"rules": None} if plural.endswith("roles") else {}  # as encoded by Go
    _make_complete(state, (_RBAC, "v1", plural), {**no_rules, **right}, SERVER_NAME)


def _make_complete(state: ApiState, served: tuple[str, str, str], item: Json, manager: str) -> None:
    """Store an object that has its defaults and all that Go encodes, if it does not exist.

    It skips defaults, checks and admission, which would take most of the start-up time.
    """
    call = _creation(state, served, item, manager)
    if call is not None:
        made = _typed(call, item)
        own_new(state, call, made)
        state.storage.create(call.resource, made)


def _creation(
    state: ApiState, served: tuple[str, str, str], item: Json, manager: str
) -> Call | None:
    """Return the server's call that creates an object; ``None`` if it exists or is not served."""
    group, version, plural = served
    resource = state.resources.find(group, version, plural)
    if resource is None:
        return None
    metadata = item["metadata"]
    namespace = metadata.get("namespace", "")
    if state.storage.find(resource.stored, namespace, metadata["name"]) is not None:
        return None
    return Call(
        ApiRequest("POST", ""),
        Route(group, version, plural, namespace),
        resource,
        "create",
        SERVER,
        WriteOptions(manager=manager),
    )


def _typed(call: Call, item: Json) -> Json:
    kind = call.resource.kind
    return {"kind": kind.kind, "apiVersion": kind.api_version, **item}
