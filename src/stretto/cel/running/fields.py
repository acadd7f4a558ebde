"""Access to the fields of objects, to the values of maps and to the items of lists."""

from collections.abc import Mapping
from typing import Any

from stretto.cel.running.values import (
    CelOptional,
    EvaluationError,
    has_key,
    is_number,
    kind_of,
    type_name,
)


def field_of(owner: Any, name: str) -> Any:
    """Return a field of an object; the field of an optional value is optional.

    Raises:
        EvaluationError: the field is absent, or the value has none.
    """
    if isinstance(owner, Mapping):
        try:
            return owner[name]
        except KeyError as error:
            raise EvaluationError(f"no such key: {name}") from error
    if isinstance(owner, CelOptional):
        if not owner.content:
            return owner
        return optional_item(owner.content[0], name)
    raise EvaluationError(_no_field(owner, name))


def has_field(owner: Any, name: str) -> bool:
    """True if an object has a field.

    Raises:
        EvaluationError: the value has no fields.
    """
    if isinstance(owner, CelOptional):
        return bool(owner.content) and has_field(owner.content[0], name)
    if isinstance(owner, Mapping):
        return name in owner
    raise EvaluationError(_no_field(owner, name))


def _no_field(owner: Any, name: str) -> str:
    if isinstance(owner, list | tuple):
        return "unsupported index type 'string' in list"
    return f"no such key: {name}"


def item_of(items: Any, key: Any) -> Any:
    """Return an item of a list or a value of a map.

    Raises:
        EvaluationError: it is absent, or the value has no items.
    """
    if isinstance(items, CelOptional):
        return optional_item(items.content[0], key) if items.content else items
    if isinstance(items, Mapping):
        if not has_key(items, key):
            raise EvaluationError(f"no such key: {_shown(key)}")
        return items[key]
    if isinstance(items, list | tuple):
        return items[_index(items, key)]
    raise EvaluationError("no such overload")


def optional_item(items: Any, key: Any) -> CelOptional:
    """Return an item of a list or a value of a map, if it exists."""
    if isinstance(items, CelOptional):
        return optional_item(items.content[0], key) if items.content else items
    if isinstance(items, Mapping):
        return CelOptional((items[key],)) if has_key(items, key) else CelOptional()
    if isinstance(items, list | tuple):
        is_index = is_number(key) and int(key) == key and 0 <= key < len(items)
        return CelOptional((items[int(key)],)) if is_index else CelOptional()
    raise EvaluationError("no such overload")


def _index(items: Any, key: Any) -> int:
    if not is_number(key) or int(key) != key:
        name = type_name(kind_of(key))
        raise EvaluationError(f"unsupported index type '{name}' in list")
    if not 0 <= key < len(items):
        raise EvaluationError(f"index out of bounds: {int(key)}")
    return int(key)


def _shown(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
