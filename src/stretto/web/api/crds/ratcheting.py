"""Ratcheting: an update keeps values that its schema refuses if it does not change them.

A value is compared with the former value of the same member. Items correspond by the keys of their
list; an item of another list has no former value, so it is checked even if it is unchanged.
"""

import re
from typing import Any, Final

Json = dict[str, Any]

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def is_unchanged(path: str, item: Json, old: Json, schema: Json) -> bool:
    """Return whether the value at a path, or a value that contains it, has not changed."""
    value, before, node = item, old, schema
    for index, name in _STEP.findall(path):
        if index:
            value, before, node = _item(value, before, node, int(index))
        else:
            value, before, node = _member(value, before, node, name)
        if before is None:
            return False
        if value == before:
            return True
    return False


def partner(schema: Json, item: Any, old: Any) -> Any:
    """The former item of a keyed list; ``None`` for other lists and new items."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys or not isinstance(old, list) or not isinstance(item, dict):
        return None
    wanted = [item.get(key) for key in keys]
    return next(
        (each for each in old if isinstance(each, dict) and [each.get(k) for k in keys] == wanted),
        None,
    )


def _member(value: Any, old: Any, schema: Json, name: str) -> tuple[Any, Any, Json]:
    if not isinstance(value, dict) or not isinstance(old, dict):
        return None, None, {}
    extra = schema.get("additionalProperties")
    inner = (schema.get("properties") or {}).get(name) or (extra if isinstance(extra, dict) else {})
    return value.get(name), old.get(name), inner


def _item(value: Any, old: Any, schema: Json, index: int) -> tuple[Any, Any, Json]:
    if not isinstance(value, list) or index >= len(value):
        return None, None, {}
    return value[index], partner(schema, value[index], old), schema.get("items") or {}
