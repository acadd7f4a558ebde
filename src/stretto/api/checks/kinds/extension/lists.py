"""Rules of lists and maps in schemas: ``x-kubernetes-list-type``, ``x-kubernetes-map-type``."""

from collections.abc import Iterator
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    forbidden,
    invalid,
    required,
    too_many,
    unsupported,
)
from stretto.api.checks.kinds.extension.internals import internal_items
from stretto.api.checks.kinds.values import Json

_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("atomic", "granular")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_WORDS: Final = frozenset({_LIST_TYPE, _MAP_TYPE, _LIST_KEYS})
"""Members of schemas of lists and maps."""
_MOST_KEYS: Final = 16
"""Maximum keys of a list: each error of a key quotes all of them."""
_KEY: Final = "this property is in x-kubernetes-list-map-keys, so it"


def check_collections(schema: Json, path: str) -> Errors:
    """Check the types of the list or the map of a schema."""
    if _WORDS.isdisjoint(schema):
        return []
    kind, keys = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS)
    found = _of_type(schema, path, _MAP_TYPE, "object")
    if schema.get(_MAP_TYPE) not in (None, *_MAP_TYPES):
        found.append(unsupported(f"{path}.{_MAP_TYPE}", schema[_MAP_TYPE], _MAP_TYPES))
    found += _of_type(schema, path, _LIST_TYPE, "array") or [*_atomic(schema, path)]
    if kind not in (None, *_LIST_TYPES):
        found.append(unsupported(f"{path}.{_LIST_TYPE}", kind, _LIST_TYPES))
    if keys and kind != "map":
        where, detail = f"{path}.{_LIST_TYPE}", f"must be map if {_LIST_KEYS} is non-empty"
        found.append(required(where, detail) if kind is None else invalid(where, kind, detail))
    if keys and len(keys) > _MOST_KEYS:
        return [*found, too_many(f"{path}.{_LIST_KEYS}", len(keys), _MOST_KEYS)]
    if kind == "map":
        found += [*_keyed(schema, path)]
    return [*found, *_never_null(schema, path)]


def _of_type(schema: Json, path: str, name: str, wanted: str) -> Errors:
    kind = schema.get("type", "")
    if schema.get(name) is None or kind == wanted:
        return []
    detail = f"must be {wanted} if {name} is specified"
    where = f"{path}.type"
    return [invalid(where, kind, detail) if kind else required(where, detail)]


def _atomic(schema: Json, path: str) -> Iterator[FieldError]:
    """Check that the items of a set are atomic."""
    items = schema.get("items")
    if schema.get(_LIST_TYPE) != "set" or not isinstance(items, dict):
        return
    kind, detail = items.get("type"), f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if kind == "array" and items.get(_LIST_TYPE) not in (None, "atomic"):
        yield invalid(f"{path}.items.{_LIST_TYPE}", items.get(_LIST_TYPE), detail)
    if kind == "object" and items.get(_MAP_TYPE) != "atomic":
        yield invalid(f"{path}.items.{_MAP_TYPE}", items.get(_LIST_TYPE), detail)


def _keyed(schema: Json, path: str) -> Iterator[FieldError]:
    """Check the items and the keys of a keyed list."""
    items, keys = schema.get("items"), schema.get(_LIST_KEYS) or []
    where = f"{path}.{_LIST_KEYS}"
    if not keys:
        yield required(where, f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
    elif not isinstance(items, dict):
        detail = f"must only have a single schema if {_LIST_TYPE} is map"
        yield invalid(f"{path}.items", internal_items(items), detail)
    elif items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), detail)
    else:
        known = items.get("properties") or {}
        for index, key in enumerate(keys):
            if key not in known:
                yield invalid(where, keys, "entries must all be names of item properties")
            elif known[key].get("type") in ("array", "object"):
                detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
                yield invalid(f"{path}.items.properties[{key}].type", "object", detail)
            if key in keys[:index]:
                yield invalid(where, keys, "must not contain duplicate entries")


def _never_null(schema: Json, path: str) -> Iterator[FieldError]:
    """Check that the items of a set or keyed list and their keys are never null or absent."""
    items, kind = schema.get("items"), schema.get(_LIST_TYPE)
    if not isinstance(items, dict) or kind not in ("set", "map"):
        return
    if items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {kind}"
        yield forbidden(f"{path}.items.nullable", detail)
    for key in (schema.get(_LIST_KEYS) or ()) if kind == "map" else ():
        inner = (items.get("properties") or {}).get(key)
        if inner is None:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and "default" not in inner:
            detail = f"{_KEY} must have a default or be a required property"
            yield required(f"{where}.default", detail)
        if inner.get("nullable"):
            yield forbidden(f"{where}.nullable", f"{_KEY} cannot be nullable")
