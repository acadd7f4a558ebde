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
        _, problem = _typed(item, path, "string", str)
        found += [invalid(path, "", problem)] if problem else []
    return found


_REPLICAS: Final = ("specReplicasPath", "statusReplicasPath")


def _count(item: Json, path: str) -> Errors:
    value, problem = _typed(item, path, "int64", int)
    if problem:
        return [invalid(path, 0, problem)]
    if value is not None and value < 0:
        return [invalid(path, value, "should be a non-negative integer")]
    if value is not None and value > _MOST:
        return [invalid(path, value, f"should be less than or equal to {_MOST}")]
    return []


def _typed(item: Any, path: str, wanted: str, kind: type) -> tuple[Any, str]:
    """Return the value at a path and the error of Go about its type.

    The value is ``None`` if it is absent; the error is empty if there is none.
    """
    seen = ""
    for name in path.removeprefix(".").split("."):
        seen = f"{seen}.{name}"
        if item is not None and not isinstance(item, dict):
            return None, _accessor_error(item, seen, "map[string]interface{}")
        item = (item or {}).get(name)
    is_typed = item is None or type(item) is kind
    return item, "" if is_typed else _accessor_error(item, seen, wanted)


def _accessor_error(value: Any, path: str, wanted: str) -> str:
    shown = f"{go_value(value)} is of the type {reflected_type(value)}, expected {wanted}"
    return f"{path} accessor error: {shown}"
