"""Owners of a scale, which are the owners of its workload's replicas."""

from typing import Any, Final

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.managers import (
    ManagerKey,
    Managers,
    WriteFrame,
    encode_managers,
    managed_update,
    managers_of,
)
from stretto.api.edit.apply.scales import ReplicasField, scale_managers, workload_managers
from stretto.web.api.call import Call
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.scale.replicas import (
    SCALE,
    parts_of,
    replica_paths,
    scale_of,
    scale_struct,
)

Json = dict[str, Any]

_STATED: Final = ("uid", "resourceVersion")
"""Metadata of a scale that a change may contain."""


def owned_scale(call: Call, item: Json) -> Json:
    """Return the scale of an object with the owners of its replicas."""
    found = scale_of(call, item)
    owners = scale_managers(managers_of(item), _replicas_field(call))
    if owners:
        found["metadata"]["managedFields"] = encode_managers(owners)
    return found


def scale_frame(state: ApiState, call: Call, operation: str) -> WriteFrame:
    """Return the write frame of a scale for ``Update`` or ``Apply``."""
    key = ManagerKey(call.manager, operation, SCALE.api_version, "scale")
    return WriteFrame(scale_struct(), key, state.now, {})


def own_scale(state: ApiState, call: Call, old: Json, wanted: Json) -> Managers:
    """Return the owners of a scale after an update; none if its replicas have none."""
    managers = managers_of(old)
    if not managers:
        return {}
    return managed_update(old, wanted, managers, scale_frame(state, call, "Update"))


def _replicas_field(call: Call) -> ReplicasField:
    """Return a function from version to the workload's field of desired replicas."""
    definition = call.resource.definition
    if definition is None:
        field = _field_at(replica_paths(call)[0])
        return lambda _: field
    group = call.resource.group
    paths = {
        f"{group}/{each['name']}": _field_at(_replicas_path(each))
        for each in definition["spec"]["versions"]
    }
    return paths.get


def _replicas_path(version: Json) -> str:
    """Return the path of the desired replicas in a custom kind's version; empty for none."""
    scale = (version.get("subresources") or {}).get("scale") or {}
    return str(scale.get("specReplicasPath") or "")


def _field_at(path: str) -> FieldSet:
    """Return the field at a path; empty for an empty path."""
    found: FieldSet = {}
    for part in reversed(parts_of(path) if path else []):
        found = {fieldset.field(part): found}
    return found


def rescaled_metadata(call: Call, item: Json, wanted: Json, owners: Managers) -> Json:
    """Return the metadata of an object after a change of its scale."""
    metadata = {key: each for key, each in item["metadata"].items() if key not in _STATED}
    stated = wanted.get("metadata") or {}
    metadata |= {name: stated[name] for name in _STATED if stated.get(name)}
    metadata.pop("managedFields", None)
    version = call.resource.kind.api_version
    managers = workload_managers(managers_of(item), owners, _replicas_field(call), version)
    if managers:
        metadata["managedFields"] = encode_managers(managers)
    return metadata
