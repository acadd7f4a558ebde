"""Patched objects as quoted in messages: in the order in which kube-apiserver's library writes.

That library decodes only the maps in a patch, and writes them with sorted keys. Everything else
keeps the text of the object, whose members have the order of Go's types.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from stretto.api.schema.types import ANY, Form, StructType, ValueType

Json = dict[str, Any]
Opened = Mapping[str, Any]
"""The maps in a patch, by their keys."""

_CLOSED: Final[Opened] = {}


def opened_by_operations(operations: Iterable[Any]) -> Opened:
    """Return the maps in the operations of a JSON patch."""
    found: Json = {}
    for each in operations:
        for member in ("path", "from"):
            place = found
            for part in str(each.get(member, "")).split("/")[1:-1]:
                place = place.setdefault(part.replace("~1", "/").replace("~0", "~"), {})
    return found


def opened_by_merge(change: Any) -> Opened:
    """Return the maps in a merge patch."""
    return {key: opened_by_merge(each) for key, each in change.items() if isinstance(each, dict)}


def quoted_object(item: Json, struct: StructType | None, opened: Opened) -> str:
    """Return an object as JSON.

    Args:
        item: the object.
        struct: its type; ``None`` for a custom resource, whose text is completely sorted.
        opened: the maps in the patch.
    """
    kind = ANY if struct is None else ValueType(Form.STRUCT, find=lambda: struct)
    return msgspec.json.encode(_ordered(item, kind, opened, is_open=True)).decode()


def _ordered(value: Any, kind: ValueType, opened: Opened, *, is_open: bool) -> Any:
    if isinstance(value, list):
        inner = kind.item or ANY
        return [_ordered(each, inner, _CLOSED, is_open=False) for each in value]
    if not isinstance(value, dict):
        return value
    members = kind.struct.fields if kind.form is Form.STRUCT else {}
    known = [] if is_open else [name for name in members if name in value]
    found: Json = {}
    for name in [*known, *sorted(set(value) - set(known))]:
        if kind.form is Form.STRUCT and name not in members and name not in opened:
            found[name] = value[name]  # as written in the patch
            continue
        inner = members[name].type if name in members else kind.item or ANY
        below = opened.get(name, _CLOSED)
        found[name] = _ordered(value[name], inner, below, is_open=name in opened)
    return found
