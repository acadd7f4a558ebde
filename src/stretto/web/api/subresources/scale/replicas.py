"""The replicas of a workload as an object of autoscaling/v1, and their paths in the workload."""

from typing import Any, Final

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.types import StructType
from stretto.api.wire.kinds import Kind
from stretto.api.wire.selectors import selector_text
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, no_kind, unconvertible

Json = dict[str, Any]

SCALE: Final = Kind("autoscaling", "v1", "Scale", "scales")
"""The kind of a scale."""
_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_struct() -> StructType:
    """The struct of a scale."""
    return struct("autoscaling/v1.Scale")


def decoded_scale(value: Json) -> tuple[Json, list[str]]:
    """Decode a scale; return it with messages about unknown members.

    Raises:
        DecodeError: the value has members of the wrong type.
    """
    found = Decoding()
    item = decode(value, scale_struct(), found)
    unknown = [path for path in found.unknown if path not in ("kind", "apiVersion")]
    return item, [f'unknown field "{path}"' for path in unknown]


def typed_scale(value: Json) -> tuple[Json, list[str]]:
    """Decode a scale; a JSON patch and a merge patch may have changed its kind.

    Raises:
        DecodeError: the value is no scale, or has members of the wrong type.
    """
    kind, version = value.get("kind", SCALE.kind), value.get("apiVersion", SCALE.api_version)
    if (kind, version) != (SCALE.kind, SCALE.api_version):
        raise DecodeError(no_kind(kind, version))
    return decoded_scale(value)


def check_applied(item: Json) -> None:
    """Refuse an applied scale that does not fit its type.

    Raises:
        ApiError: a member has the wrong type.
    """
    try:
        decoded_scale(item)
    except DecodeError as error:
        raise unconvertible(SCALE, item, scale_struct(), error) from error


def scale_of(call: Call, item: Json) -> Json:
    """The scale of an object."""
    spec_path, status_path, selector_path = replica_paths(call)
    metadata = {name: item["metadata"][name] for name in _KEPT if name in item["metadata"]}
    spec: Json = {}
    replicas = _at(item, spec_path) or 0
    if replicas:
        spec["replicas"] = replicas
    found: Json = {"replicas": _at(item, status_path) or 0}
    selector = _selector(call, item, selector_path)
    if selector:
        found["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": found,
    }


def check_replicas(call: Call, item: Json) -> None:
    """Refuse the scale of a custom object without replicas.

    Raises:
        ApiError: the object has no replicas.
    """
    path = replica_paths(call)[0]
    if call.resource.definition is not None and _at(item, path) is None:
        text = f'the spec replicas field "{path}" does not exist'
        raise ApiError(
            500,
            "InternalError",
            f"Internal error occurred: {text}",
            {"causes": [{"message": text}]},
        )


def replica_paths(call: Call) -> tuple[str, str, str]:
    """Return the paths of the desired replicas, of the current replicas and of the selector."""
    custom = call.resource.version.get("scale")
    if custom:
        return (
            custom.get("specReplicasPath", ""),
            custom.get("statusReplicasPath", ""),
            custom.get("labelSelectorPath", ""),
        )
    return ".spec.replicas", ".status.replicas", ".spec.selector"


def _selector(call: Call, item: Json, path: str) -> str:
    found = _at(item, path) if path else None
    if call.resource.key == ("", "ReplicationController"):
        return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items()))
    if isinstance(found, str):
        return found
    return selector_text(found) if isinstance(found, dict) else ""


def _at(item: Json, path: str) -> Any:
    value: Any = item
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def with_value(item: Json, path: list[str], value: Any) -> Json:
    """Return a copy of an object with another value at a path."""
    if not path:
        raise ApiError(500, "InternalError", "the definition has no path of replicas")
    inner = item.get(path[0])
    if len(path) == 1:
        return {**item, path[0]: value}
    below = inner if isinstance(inner, dict) else {}
    return {**item, path[0]: with_value(below, path[1:], value)}


def parts_of(path: str) -> list[str]:
    """Split the path of a value into members."""
    return path.strip(".").split(".")
