"""Schemas of the types of Kubernetes, in the dialects of OpenAPI v2 and v3.

Version 2 has no defaults and no alternatives. In version 3, only ``allOf`` allows keywords next to
a reference.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from stretto.api.schema.kubernetes import kind_versions, struct
from stretto.api.schema.types import RAW, FieldType, Form, Merge, ValueType
from stretto.web.api.discovery.openapi.dialects import SchemaDialect
from stretto.web.api.discovery.openapi.words import with_words

Json = dict[str, Any]

GVK: Final = "x-kubernetes-group-version-kind"
"""Member that contains the kinds of a schema or of an operation."""


_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_DEFINITIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis."
_PREFIXES: Final = {
    "meta/": f"{_MACHINERY}apis.",
    "version/": _MACHINERY,
    "apiextensions/": _DEFINITIONS,
    "apiregistration/": "io.k8s.kube-aggregator.pkg.apis.",
    "metrics/": "io.k8s.metrics.pkg.apis.",
}
_PATCH: Final = f"{_MACHINERY}apis.meta.v1.Patch"
PATCH: Final = _PATCH
"""Schema of the bodies of patches."""
_FIELDS: Final = f"{_MACHINERY}apis.meta.v1.FieldsV1"
_RAW: Final = f"{_MACHINERY}runtime.RawExtension"
_JSON: Final = f"{_DEFINITIONS}apiextensions.v1.JSON"
_SCALARS: Final[dict[Form, Json]] = {
    Form.STRING: {"type": "string"},
    Form.BYTES: {"type": "string", "format": "byte"},
    Form.BOOL: {"type": "boolean"},
    Form.INT32: {"type": "integer", "format": "int32"},
    Form.INT64: {"type": "integer", "format": "int64"},
    Form.DOUBLE: {"type": "number", "format": "double"},
}
_ZERO: Final[dict[Form, Any]] = {
    Form.STRUCT: {},
    Form.STRING: "",
    Form.BOOL: False,
    Form.INT32: 0,
    Form.INT64: 0,
    Form.DOUBLE: 0,
}
"""Default of a required value in version 3."""
_TIME: Final = {"type": "string", "format": "date-time"}
_NAMED: Final = {
    Form.TIME: f"{_MACHINERY}apis.meta.v1.Time",
    Form.MICRO_TIME: f"{_MACHINERY}apis.meta.v1.MicroTime",
    Form.DURATION: f"{_MACHINERY}apis.meta.v1.Duration",
    Form.QUANTITY: f"{_MACHINERY}api.resource.Quantity",
    Form.INT_OR_STRING: f"{_MACHINERY}util.intstr.IntOrString",
}
_FIXED: Final[dict[str, tuple[Json, Json]]] = {
    _NAMED[Form.TIME]: (_TIME, _TIME),
    _NAMED[Form.MICRO_TIME]: (_TIME, _TIME),
    _NAMED[Form.DURATION]: ({"type": "string"}, {"type": "string"}),
    _NAMED[Form.QUANTITY]: (
        {"type": "string"},
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    _NAMED[Form.INT_OR_STRING]: (
        {"type": "string", "format": "int-or-string"},
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    _PATCH: ({"type": "object"}, {"type": "object"}),
    _FIELDS: ({"type": "object"}, {"type": "object"}),
    _RAW: ({"type": "object"}, {"type": "object"}),
    _JSON: ({}, {}),
    f"{_JSON}SchemaPropsOrArray": ({}, {}),
    f"{_JSON}SchemaPropsOrBool": ({}, {}),
    f"{_JSON}SchemaPropsOrStringArray": ({}, {}),
}
"""Schemas without fields, in versions 2 and 3."""
_UNIONS: Final = {
    "additionalItems": f"{_JSON}SchemaPropsOrBool",
    "additionalProperties": f"{_JSON}SchemaPropsOrBool",
    "dependencies": f"{_JSON}SchemaPropsOrStringArray",
    "items": f"{_JSON}SchemaPropsOrArray",
    "fieldsV1": _FIELDS,
}
"""Names of schemas by the field whose values they describe."""


def schema_name(name: str) -> str:
    """Return the name of a type in the documents: ``io.k8s.api.core.v1.Pod``."""
    prefix = next(
        (each for start, each in _PREFIXES.items() if name.startswith(start)), "io.k8s.api."
    )
    return prefix + name.replace("/", ".")


def add_schemas(found: Json, types: Iterable[str], dialect: SchemaDialect) -> None:
    """Add the schemas of types and of all types that they contain.

    Args:
        found: schemas by name; existing ones do not change.
        types: names of types, such as ``core/v1.Pod``.
        dialect: the version of OpenAPI.
    """
    done: set[str] = set()
    waiting = list(types)
    while waiting:
        name = waiting.pop()
        if name not in done:
            done.add(name)
            found.setdefault(schema_name(name), type_schema(name, dialect))
            waiting += _inner(name)


def add_fixed(found: Json, names: Iterable[str], dialect: SchemaDialect) -> None:
    """Add the schemas without fields with these names."""
    for name in names:
        if name in _FIXED and name not in found:
            found[name] = with_words(_FIXED[name][dialect is SchemaDialect.V3], name, dialect)


@cache
def _inner(name: str) -> tuple[str, ...]:
    """Return the types of the fields of a type."""
    return tuple(inner for each in struct(name).fields.values() for inner in _structs(each.type))


def _structs(kind: ValueType) -> Iterator[str]:
    if kind.form is Form.STRUCT and kind.struct.name:
        yield kind.struct.name
    elif kind.item is not None:
        yield from _structs(kind.item)


@cache
def type_schema(name: str, dialect: SchemaDialect) -> Json:
    """Return the schema of a type; callers must not change it."""
    kind = struct(name)
    fields = {each.name: _field_schema(each, dialect) for each in kind.fields.values()}
    schema: Json = {"type": "object"}
    if fields:
        schema["properties"] = fields
    if kind.is_atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    required = [each.name for each in kind.fields.values() if each.is_required]
    if required:
        schema["required"] = required
    key = _kinds().get(name)
    if key is not None:
        schema[GVK] = [dict(zip(("group", "version", "kind"), key, strict=True))]
    return with_words(schema, schema_name(name), dialect)


@cache
def _kinds() -> dict[str, tuple[str, str, str]]:
    """Map each type name to group, version and kind of its objects."""
    return {name: key for key, name in kind_versions().items()}


def _field_schema(field: FieldType, dialect: SchemaDialect) -> Json:
    schema = dict(_value_schema(field.type, field.name, dialect))
    if dialect is SchemaDialect.V3:
        if "$ref" in schema:
            schema = {"allOf": [schema]}
        default = _default(field)
        if default is not None:
            schema["default"] = default
    if field.enum:
        schema["enum"] = list(field.enum)
    if field.merge_key:
        schema["x-kubernetes-patch-merge-key"] = field.merge_key
    if field.strategy:
        schema["x-kubernetes-patch-strategy"] = ",".join(field.strategy)
    return {**schema, **_merging(field.type)}


def _merging(kind: ValueType) -> Json:
    """Return the extension for the merge of a field's values by server-side apply."""
    if kind.form is Form.LIST:
        keys = {"x-kubernetes-list-map-keys": list(kind.keys)} if kind.keys else {}
        return {"x-kubernetes-list-type": kind.merge.value, **keys}
    if kind.form is Form.MAP and kind.merge is Merge.ATOMIC:
        return {"x-kubernetes-map-type": "atomic"}
    return {}


def _default(field: FieldType) -> Any:
    """Return the default in version 3."""
    if field.default is not None:
        return field.default
    is_always_there = field.type.form is Form.STRUCT or not field.omits_empty
    return None if field.is_pointer or not is_always_there else _ZERO.get(field.type.form)


def _value_schema(kind: ValueType, name: str, dialect: SchemaDialect) -> Json:
    """Return the schema of the values of a field."""
    if kind.item is not None:
        item = _item_schema(kind.item, name, dialect)
        if kind.form is Form.LIST:
            return {"type": "array", "items": item}
        return {"type": "object", "additionalProperties": item}
    if kind.form is Form.STRUCT:
        return dialect.reference(schema_name(kind.struct.name))
    if kind.form is Form.ANY:
        other = _RAW if kind.go_type == RAW else _JSON
        return dialect.reference(_UNIONS.get(name, other))
    named = _NAMED.get(kind.form)
    return _SCALARS[kind.form] if named is None else dialect.reference(named)


def _item_schema(kind: ValueType, name: str, dialect: SchemaDialect) -> Json:
    """Return the schema of the items of a list or of the values of a map."""
    found = _value_schema(kind, name, dialect)
    if dialect is SchemaDialect.V2 or kind.form not in _ZERO:
        return found
    inner = {"allOf": [found]} if "$ref" in found else found
    return {**inner, "default": _ZERO[kind.form]}


def list_schema(item: str, gvk: Json, dialect: SchemaDialect) -> Json:
    """Return the schema of a list.

    Args:
        item: name of the schema of its items.
        gvk: group, version and kind of the list.
        dialect: the version of OpenAPI.
    """
    entry, meta = dialect.member(item), dialect.member(schema_name("meta/v1.ListMeta"))
    if dialect is SchemaDialect.V3:
        entry, meta = {**entry, "default": {}}, {**meta, "default": {}}
    text = {"type": "string"}
    fields = {"apiVersion": text, "items": {"type": "array", "items": entry}, "kind": text}
    schema = {"type": "object", "required": ["items"], "properties": {**fields, "metadata": meta}}
    return {**schema, GVK: [gvk]}
