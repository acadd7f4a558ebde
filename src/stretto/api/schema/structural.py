"""Structural schemas of custom resources: their types, pruning and defaults."""

import sys
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.schema.decoding import DecodeError
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.types import ANY, STRING, FieldType, Form, Merge, StructType, ValueType
from stretto.api.wire.limits import MAX_VALUES
from stretto.api.wire.values import NESTED, copied, is_flat

Json = dict[str, Any]

_FORMS: Final = {
    "string": Form.STRING,
    "integer": Form.INT64,
    "number": Form.DOUBLE,
    "boolean": Form.BOOL,
}
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
"""Extension that keeps unknown fields of an object."""
EMBEDDED: Final = "x-kubernetes-embedded-resource"
"""Extension that marks a value as an object with its own kind."""
RULES: Final = "x-kubernetes-validations"
"""Extension with rules in CEL."""
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
"""Extension that marks a value as a number or a string."""
_MERGES: Final = {each.value: each for each in Merge}
_TYPE_FIELDS: Final = ("apiVersion", "kind")


def struct_of_schema(schema: Mapping[str, Any]) -> StructType:
    """Return the struct of the objects of a schema, with the metadata of Kubernetes."""
    return _struct_of(msgspec.json.encode(schema))


@lru_cache(maxsize=256)
def _struct_of(text: bytes) -> StructType:
    schema = msgspec.json.decode(text)
    inner = _object(schema, named=True)
    fields = {**inner.fields, **_own_fields()}
    return StructType("", fields, inner.others, inner.is_open)


def mentions(schema: Json, word: str) -> bool:
    """Return whether a schema may contain a word: objects of others need no walk for it."""
    return word.encode() in msgspec.json.encode(schema)


def _own_fields() -> dict[str, FieldType]:
    """Return the fields of every Kubernetes object."""
    meta = ValueType(Form.STRUCT, find=lambda: struct("meta/v1.ObjectMeta"), merge=Merge.GRANULAR)
    fields = {name: FieldType(name, STRING) for name in _TYPE_FIELDS}
    return {**fields, "metadata": FieldType("metadata", meta)}


def _object(schema: Json, *, keeps: bool = False, named: bool = False) -> StructType:
    """Return the struct of a schema, as in the OpenAPI document of the kind.

    Args:
        schema: the schema of an object.
        keeps: True if an enclosing schema preserves unknown fields.
        named: True for the root, which has the fields of every Kubernetes object.
    """
    keeps = keeps or bool(schema.get(PRESERVE))
    fields = {
        name: FieldType(name, value_type(each, keeps=keeps))
        for name, each in (schema.get("properties") or {}).items()
    }
    if schema.get(EMBEDDED):
        fields |= _own_fields()
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return StructType("", fields, value_type(extra, keeps=keeps))
    is_free = extra is None and (keeps or not (fields or named))
    return StructType("", fields, None, is_free or extra is True)


def value_type(schema: Json, *, keeps: bool = False) -> ValueType:
    """Return the type of the values of a schema.

    Args:
        schema: the schema.
        keeps: True if an enclosing schema preserves unknown fields.
    """
    if schema.get(INT_OR_STRING):
        return ValueType(Form.INT_OR_STRING)
    word = schema.get("type")
    if word == "array":
        return _array(schema, keeps)
    if word == "object" or "properties" in schema:
        atomic = schema.get("x-kubernetes-map-type") == "atomic"
        merge = Merge.ATOMIC if atomic else Merge.GRANULAR
        found = _object(schema, keeps=keeps)
        if found.others is not None and not found.fields:
            return ValueType(Form.MAP, found.others, merge=merge)
        return ValueType(Form.STRUCT, find=lambda: found, merge=merge)
    form = _FORMS.get(str(word))
    return ANY if form is None else ValueType(form)


def _array(schema: Json, keeps: bool) -> ValueType:
    merge = _MERGES.get(str(schema.get("x-kubernetes-list-type")), Merge.ATOMIC)
    items = schema.get("items") or {}
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    properties = items.get("properties") or {}
    defaults = {
        key: properties[key]["default"] for key in keys if "default" in (properties.get(key) or {})
    }
    return ValueType(Form.LIST, value_type(items, keeps=keeps), None, merge, keys, defaults)


# ---------------------------------------------------------------- pruning and defaults


def prune(value: Any, schema: Json, path: str = "", *, top: bool = False) -> tuple[Any, list[str]]:
    """Return a value without members that its schema does not contain, and the paths of those.

    The result shares with the value only what the schema does not describe: a change of described
    members, such as their defaults, does not change the value.
    """
    found: list[str] = []
    return _pruned(value, schema, path, found, top=top), found


def _pruned(value: Any, schema: Json, path: str, found: list[str], *, top: bool = False) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, dict):
            if schema.get(PRESERVE):
                return value
            items = {}
        known = {} if items.get(EMBEDDED) else items.get("properties") or {}
        return [
            each
            if type(each) not in NESTED
            else each.copy()
            if is_flat(each) and each.keys() <= known.keys()
            else _pruned(each, items, f"{path}[{index}]", found)
            for index, each in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    keeps = bool(schema.get(PRESERVE)) or extra is True
    own = (*_TYPE_FIELDS, "metadata") if top or schema.get(EMBEDDED) else ()
    kept: Json = {}
    for name, each in value.items():
        if name in own:
            kept[name] = copied(each)
            continue
        inner = properties.get(name, extra)
        if not isinstance(inner, dict):
            if keeps:
                kept[name] = each
            else:
                found.append(f"{path}.{name}" if path else name)
        elif type(each) in NESTED:
            kept[name] = _pruned(each, inner, f"{path}.{name}" if path else name, found)
        else:
            kept[name] = each
    return kept


class SchemaDefaults(NamedTuple):
    """The defaults of a schema and of the schemas below it; parts without any are left out."""

    #: Defaults of members by name, and whether null is a value of the member.
    members: Mapping[str, tuple[Any, bool]]
    #: Defaults within members, by name.
    below: Mapping[str, "SchemaDefaults"]
    #: Defaults within members that are not declared; ``None`` without any.
    extra: "SchemaDefaults | None"
    #: Names of the declared members.
    declared: Collection[str]
    #: Defaults within the items of a list; ``None`` without any.
    items: "SchemaDefaults | None"


def defaults_of(schema: Any) -> SchemaDefaults | None:
    """Return the defaults of a schema; ``None`` if neither it nor one below it has any."""
    if not isinstance(schema, dict):
        return None
    properties: Json = schema.get("properties") or {}
    members = {
        name: (each["default"], bool(each.get("nullable")))
        for name, each in properties.items()
        if "default" in each
    }
    below = {name: defaults_of(each) for name, each in properties.items()}
    known = {name: each for name, each in below.items() if each is not None}
    extra, items = defaults_of(schema.get("additionalProperties")), defaults_of(schema.get("items"))
    if not (members or known or extra or items):
        return None
    return SchemaDefaults(members, known, extra, properties.keys(), items)


MOST_DEFAULTS: Final = MAX_VALUES
"""Maximum number of defaults of an object in a request: as many as it may have values."""


class TooManyDefaultsError(DecodeError):
    """A value gets more defaults than its limit."""


def set_schema_defaults(
    value: Any, defaults: SchemaDefaults | None, left: int = sys.maxsize
) -> int:
    """Set the defaults of a schema in place; null members with a default count as absent.

    Args:
        value: the value.
        defaults: the defaults of its schema.
        left: maximum number of defaults that are set.

    Returns:
        how many of this number are left.

    Raises:
        TooManyDefaultsError: the value needs more.
    """
    if defaults is None:
        return left
    if isinstance(value, dict):
        for name, (default, is_nullable) in defaults.members.items():
            if name not in value or (value[name] is None and not is_nullable):
                value[name] = copied(default)
                left -= 1
        if left < 0:
            raise TooManyDefaultsError("its schema has too many defaults for all of its items")
        if defaults.below or defaults.extra is not None:
            for name, each in value.items():
                if type(each) in NESTED:
                    other = None if name in defaults.declared else defaults.extra
                    left = set_schema_defaults(each, defaults.below.get(name, other), left)
    elif isinstance(value, list) and defaults.items is not None:
        for each in value:
            if type(each) in NESTED:
                left = set_schema_defaults(each, defaults.items, left)
    return left


def drop_nulls(value: Any, schema: Json) -> Any:
    """Return a value without nulls that its schema does not allow and that have no default."""
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        extra = schema.get("additionalProperties")
        kept = {}
        for name, each in value.items():
            inner = properties.get(name, extra)
            if each is None and isinstance(inner, dict) and not inner.get("nullable"):
                continue
            known = inner if isinstance(inner, dict) else {}
            kept[name] = drop_nulls(each, known) if type(each) in NESTED else each
        return kept
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [drop_nulls(each, items) if type(each) in NESTED else each for each in value]
    return value
