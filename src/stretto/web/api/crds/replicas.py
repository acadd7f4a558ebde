"""Checks of the fields of a custom object that its scale consists of."""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, invalid
from stretto.api.schema.golang import go_value, reflected_type

Json = dict[str, Any]

_MOST: Final = 2**31 - 1
"""The largest number of replicas."""


def check_scale(scale: Json, item: Json, part: str) -> Errors:
    """Return the refused fields of the scale of an object.

    Args:
        scale: the paths of the scale in the definition.
        item: the object.
        part: ``status`` for a write of the status, which checks only its fields.
    """
    names = ("statusReplicasPath",) if part == "status" else _REPLICAS
    found: Errors = []
    for name in names:
        found += _count(item, str(scale.get(name) or ""))
    path = str(scale.get("labelSelectorPath") or "")
    if path:
        problem = _accessor_error(_at(item, path), path, "string", str)
        found += [invalid(path, "", problem)] if problem else []
    return found


_REPLICAS: Final = ("specReplicasPath", "statusReplicasPath")


def _at(item: Any, path: str) -> Any:
    """Return the value at a path; ``None`` if it is absent."""
    for name in path.removeprefix(".").split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item


def _count(item: Json, path: str) -> Errors:
    value = _at(item, path)
    problem = _accessor_error(value, path, "int64", int)
    if problem:
        return [invalid(path, 0, problem)]
    if value is not None and value < 0:
        return [invalid(path, value, "should be a non-negative integer")]
    if value is not None and value > _MOST:
        return [invalid(path, value, f"should be less than or equal to {_MOST}")]
    return []


def _accessor_error(value: Any, path: str, wanted: str, kind: type) -> str:
    """Return the error of Go about a value of another type; empty for none."""
    if value is None or type(value) is kind:
        return ""
    shown = f"{go_value(value)} is of the type {reflected_type(value)}, expected {wanted}"
    return f".{path.removeprefix('.')} accessor error: {shown}"
