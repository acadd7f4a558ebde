"""Field managers in writes: ``metadata.managedFields`` of updates."""

from contextlib import suppress
from functools import cache
from typing import Any, Final

import msgspec

from stretto.api.edit.apply.managers import (
    ManagerEntry,
    ManagerKey,
    VersionError,
    WriteFrame,
    encode_managers,
    encoded_entry,
    fields_of_new,
    managed_update,
    managers_of,
)
from stretto.api.edit.apply.walking import ApplyError
from stretto.api.schema.decoding import Decoding, decode, drop_empty
from stretto.api.schema.kubernetes import kind_versions, struct
from stretto.api.schema.types import StructType
from stretto.api.wire.kinds import Kind
from stretto.web.api.call import Call
from stretto.web.api.crds.owners import versions_of
from stretto.web.api.objects.recurring.cache import recent, seen_text
from stretto.web.api.objects.strategies import SIGNING_REQUEST, STATUS_ONLY
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_STATUS_RESETS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("apps", "Deployment"): {"f:spec": {}, "f:metadata": {"f:labels": {}}},
    ("", "Pod"): {
        "f:spec": {},
        "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}},
    },
}
"""Fields besides the spec that a write of the status does not change."""
_REQUEST_RESETS: Final[dict[str, dict[str, Any]]] = {
    "": {"f:spec": {}, "f:status": {}},
    "approval": {"f:spec": {}, "f:status": {"f:certificate": {}}},
    "status": {"f:spec": {}, "f:status": {"f:conditions": {}}},
}
"""Fields of a CertificateSigningRequest that a write does not change, by subresource."""


def own(state: ApiState, call: Call, old: Json, item: Json) -> None:
    """Set the managers of an object's fields after an update; then drop empty lists."""
    _own(state, call, old, item)
    settle(call, item)


def settle(call: Call, item: Json) -> None:
    """Drop the empty lists of an object whose managers are set."""
    drop_empty(item, call.resource.struct)


def _own(state: ApiState, call: Call, old: Json, item: Json) -> None:
    metadata, subresource = item["metadata"], call.route.subresource
    if _is_untracked(call.resource, item):
        metadata.pop("managedFields", None)
        if "managedFields" in old["metadata"]:
            metadata["managedFields"] = old["metadata"]["managedFields"]
        return
    if metadata.get("managedFields") == [{}] and not subresource:
        del metadata["managedFields"]
        if old["metadata"].get("uid"):
            return
    managers = {} if subresource else managers_of(item)
    if not managers:
        managers = managers_of(old)
    metadata.pop("managedFields", None)
    if not managers and old["metadata"].get("uid"):
        return
    try:
        managers = managed_update(old, item, managers, write_frame(state, call, "Update"))
    except (ApplyError, VersionError):  # a malformed object is refused later
        return
    if managers:
        metadata["managedFields"] = encode_managers(managers)


def write_frame(state: ApiState, call: Call, operation: str) -> WriteFrame:
    """Return the write frame of an object for ``Update`` or ``Apply``."""
    resource, kind = call.resource, call.resource.kind
    version = kind.api_version
    return WriteFrame(
        resource.struct,
        ManagerKey(call.manager, operation, version, call.route.subresource),
        state.now,
        reset_fields(call),
        versions_of(resource, call.request.memory),
        _versions(kind.kind) if resource.definition is None else None,
    )


@cache
def _versions(kind: str) -> frozenset[str]:
    """Return the versions of a kind of Kubernetes; managers of others lose their fields."""
    found = [(group, version) for group, version, name in kind_versions() if name == kind]
    return frozenset(f"{group}/{version}" if group else version for group, version in found)


def _is_untracked(resource: ServedResource, item: Json) -> bool:
    """Return whether the fields of an object have no managers.

    The OpenAPI document of Kubernetes declares some byte strings as lists. If such a string is not
    empty, the field managers are lost.
    """
    is_registration = resource.key == ("apiregistration.k8s.io", "APIService")
    return is_registration and bool((item.get("spec") or {}).get("caBundle"))


def own_new(state: ApiState, call: Call, item: Json) -> None:
    """Set the managers of the fields of a new object; then drop empty lists."""
    resource, metadata = call.resource, item["metadata"]
    if resource.definition is not None:
        own(state, call, blank(call), item)
        return
    is_plain = resource.key != SIGNING_REQUEST and not metadata.get("managedFields")
    if not is_plain or _is_untracked(resource, item):
        own(state, call, _empty(resource.struct), item)
        return
    metadata.pop("managedFields", None)
    unnamed = {key: each for key, each in metadata.items() if key != "name"}
    fields: Json = {}
    with suppress(ApplyError):  # an object with an item without its key has no managers
        fields = _creator_fields(call, {**item, "metadata": unnamed})
    if fields:
        key = ManagerKey(call.manager, "Update", resource.kind.api_version, call.route.subresource)
        entry = ManagerEntry(key, fields, state.now)
        metadata["managedFields"] = [encoded_entry(entry)]
    settle(call, item)


def _creator_fields(call: Call, item: Json) -> Json:
    """Return the fields that the creator of an object owns; those of one template are kept."""
    resource = call.resource
    reset: Json = {"f:status": {}} if resource.has_status else {}
    text = seen_text(item, len(call.request.body))
    if not text:
        return fields_of_new(_empty(resource.struct), item, resource.struct, reset)
    found: Json = msgspec.json.decode(_fields_of_text(text, resource.struct, bool(reset)))
    return found


@recent
def _fields_of_text(text: bytes, kind: StructType, resets_status: bool) -> bytes:
    """Return the fields that the creator of an object owns, as JSON.

    Args:
        text: the object without its name, as JSON; objects of one template have the same text.
        kind: the struct of the object.
        resets_status: whether a new object has no status.
    """
    reset: Json = {"f:status": {}} if resets_status else {}
    found = fields_of_new(_empty(kind), msgspec.json.decode(text), kind, reset)
    return msgspec.json.encode(found)


def own_status(state: ApiState, resource: ServedResource, old: Json, item: Json) -> None:
    """Set the managers after the server itself has written a status."""
    key = ManagerKey("kube-apiserver", "Update", resource.kind.api_version, "status")
    frame = WriteFrame(resource.struct, key, state.now, {"f:spec": {}, "f:metadata": {}})
    managers = managed_update(old, item, managers_of(old), frame)
    if managers:
        item["metadata"] = {**item["metadata"], "managedFields": encode_managers(managers)}


def owned_elsewhere(state: ApiState, call: Call, kind: Kind, item: Json) -> list[Json]:
    """Return the managers of a response whose kind differs from that of the resource."""
    frame_struct = struct(f"{kind.group.partition('.')[0]}/{kind.version}.{kind.kind}")
    key = ManagerKey(call.manager, "Update", kind.api_version, call.route.subresource)
    frame = WriteFrame(frame_struct, key, state.now, {"f:status": {}})
    empty = decode({}, frame_struct, Decoding())
    return encode_managers(managed_update(empty, {**empty, **item}, {}, frame))


def reset_fields(call: Call) -> dict[str, Any]:
    """Return the sub-trees that a write does not change."""
    if call.resource.key == SIGNING_REQUEST:
        return _REQUEST_RESETS[call.route.subresource]
    if call.route.subresource == "status":
        if call.resource.key in STATUS_ONLY:
            return {"f:spec": {}, "f:metadata": {}}
        return _STATUS_RESETS.get(call.resource.key, {"f:spec": {}})
    if call.resource.has_status:
        return {"f:status": {}}
    return {}


def blank(call: Call) -> Json:
    """Return the empty object with which a new one is compared."""
    if call.resource.definition is not None:
        return {"metadata": {}}
    return decode({}, call.resource.struct, Decoding())


@cache
def _empty(kind: StructType) -> Json:
    """Return the same as ``blank``, but read-only."""
    return decode({}, kind, Decoding())
