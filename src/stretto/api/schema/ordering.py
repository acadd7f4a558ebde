"""Order of members in JSON that Go writes: that of the fields of structs, sorted keys in maps."""

from typing import Any

from stretto.api.schema.types import ANY, Form, StructType, ValueType


def in_order(value: Any, struct: StructType | None) -> Any:
    """Return an object with its members in Go's order.

    Args:
        value: the object.
        struct: its type; ``None`` for a custom resource, whose keys are all sorted.
    """
    return _ordered(value, ANY if struct is None else ValueType(Form.STRUCT, find=lambda: struct))


def _ordered(value: Any, kind: ValueType) -> Any:
    if isinstance(value, list):
        inner = kind.item or ANY
        return [_ordered(each, inner) for each in value]
    if not isinstance(value, dict):
        return value
    members = kind.struct.fields if kind.form is Form.STRUCT else {}
    known = [name for name in members if name in value]
    found: dict[str, Any] = {}
    for name in [*known, *sorted(set(value) - set(known))]:
        inner = members[name].type if name in members else kind.item or ANY
        found[name] = _ordered(value[name], inner)
    return found
