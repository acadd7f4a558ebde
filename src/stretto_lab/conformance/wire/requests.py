"""Requests of a user, applied to an embedded store as an API server would."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError
from stretto.stores.store import Deletion, Patch, Reply, Store, Update
from stretto_lab.conformance.wire.scenario import UserStep

_POLICIES: Final = (PROPAGATION_POLICY.kind, CLUSTER_PROPAGATION_POLICY.kind)
_RESCHEDULE: Final = {"rescheduleWhen": {"policyContentChanged": True}}
"""Default of a policy's ``reschedulePolicy``; a later merge patch of one member keeps the others.
"""
_METHODS: Final = ("POST", "PUT", "PATCH", "DELETE")


def apply(store: Store, step: UserStep, kinds: Iterable[Kind] = ()) -> Reply:
    """Perform a request.

    Args:
        store: the server.
        step: the request.
        kinds: further known kinds, besides those of Kubernetes and of this project.

    Raises:
        InputError: the method or the path is not supported.
    """
    kind, namespace, name, subresource = place(step.path, step.body, kinds)
    if step.method == "POST":
        body = _defaulted(kind, _placed(step.body, namespace))
        return store.create(kind, [msgspec.json.encode(body)])[0]
    if step.method == "PATCH" and subresource == "status":
        return store.patch_status(kind, [Patch(namespace, name, step.body)])[0]
    if step.method == "PATCH":
        return store.patch(kind, [Patch(namespace, name, step.body)])[0]
    if step.method == "PUT" and subresource == "status":
        return store.patch_status(kind, [Patch(namespace, name, {"status": step.body["status"]})])[
            0
        ]
    if step.method == "PUT":
        whole = msgspec.json.encode(_defaulted(kind, step.body))
        return store.update(kind, [Update(namespace, name, whole)])[0]
    if step.method == "DELETE":
        return store.delete(kind, [Deletion(namespace, name)])[0]
    raise InputError("method", step.method, f"one of {', '.join(_METHODS)}")


def place(path: str, body: Any, kinds: Iterable[Kind] = ()) -> tuple[Kind, str, str, str]:
    """Kind, namespace, name and subresource of a path."""
    parts = [each for each in path.split("?", maxsplit=1)[0].split("/") if each]
    is_core = parts[0] == "api"
    group, version = ("", parts[1]) if is_core else (parts[1], parts[2])
    rest = parts[2:] if is_core else parts[3:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    for kind in (*TABLE.kinds(), *kinds):
        if (kind.group, kind.version, kind.plural) == (group, version, plural):
            return kind, namespace, name, subresource
    return _kind(group, version, plural, namespace, body), namespace, name, subresource


def _kind(group: str, version: str, plural: str, namespace: str, body: Any) -> Kind:
    """The kind of an unknown plural, with the kind name in the body."""
    stated = str((body or {}).get("kind", ""))
    name = plural[:-1].capitalize() if stated in ("", "DeleteOptions") else stated
    return Kind(group, version, name, plural, namespaced=bool(namespace))


def _defaulted(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    """A whole object with the default that its CRD sets; other defaults are those of its type."""
    if kind not in _POLICIES:
        return body
    return {**body, "spec": {"reschedulePolicy": _RESCHEDULE, **(body.get("spec") or {})}}


def _placed(body: dict[str, Any], namespace: str) -> dict[str, Any]:
    """A new object with the namespace of its path."""
    if not namespace:
        return body
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}
