"""Owners of fields through writes: ``metadata.managedFields`` of updates."""

from typing import Any

from stretto.api.edit.apply.managers import (
    ManagerKey,
    WriteFrame,
    decode_managers,
    encode_managers,
    managed_update,
)
from stretto.api.edit.apply.walking import ApplyError
from stretto.api.schema.decoding import Decoding, decode
from stretto.web.api.call import Call
from stretto.web.api.state import ApiState

Json = dict[str, Any]


def own(state: ApiState, call: Call, old: Json, item: Json) -> None:
    """Set the managers of an object's fields after an update."""
    metadata = item["metadata"]
    try:
        managers = decode_managers(metadata.get("managedFields"))
    except ApplyError:
        managers = {}
    if not managers:
        managers = decode_managers(old["metadata"].get("managedFields"))
    metadata.pop("managedFields", None)
    if not managers and old["metadata"].get("uid"):
        return
    subresource = call.route.subresource
    key = ManagerKey(call.manager, "Update", call.resource.kind.api_version, subresource)
    frame = WriteFrame(call.resource.struct, key, state.now, reset_fields(call))
    managers = managed_update(old, item, managers, frame)
    if managers:
        metadata["managedFields"] = encode_managers(managers)


def reset_fields(call: Call) -> dict[str, Any]:
    """The sub-trees that a write does not change."""
    if call.route.subresource == "status":
        return (
            {"f:spec": {}, "f:metadata": {}} if call.resource.definition is None else {"f:spec": {}}
        )
    if call.resource.has_status and call.resource.key != ("", "Node"):
        return {"f:status": {}}
    return {}


def blank(call: Call) -> Json:
    """The empty object with which a new one is compared."""
    if call.resource.definition is not None:
        return {"metadata": {}}
    return decode({}, call.resource.struct, Decoding())
