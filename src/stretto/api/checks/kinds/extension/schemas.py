"""Rules of the schemas in CustomResourceDefinitions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import structs

from stretto.api.checks.custom.values import check_value
from stretto.api.checks.fields.errors import (
    MOST_ERRORS,
    Errors,
    FieldError,
    forbidden,
    invalid,
    unsupported,
)
from stretto.api.checks.kinds.extension.expressions import check_expressions
from stretto.api.checks.kinds.extension.internals import internal_schema
from stretto.api.checks.kinds.extension.lists import check_collections
from stretto.api.checks.kinds.extension.structure import check_structure, conversion_problem
from stretto.api.checks.kinds.values import Json
from stretto.api.schema.structural import EMBEDDED, PRESERVE, prune

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_OWN: Final = ("metadata", "kind", "apiVersion")
_UNSUPPORTED: Final = (
    "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref",
)  # fmt: skip
"""Members that schemas do not have."""
_REFUSED: Final = frozenset(_UNSUPPORTED)
_AT_ROOT: Final = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
    "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems",
    "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
    "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
"""Members at the root of a schema with a status, with their names in Go."""
_POINTERS: Final = ("default", "additionalItems", "additionalProperties", "items", "not")
"""Members whose empty values are set."""
_JUNCTORS: Final = ("allOf", "oneOf", "anyOf")
_PARTS: Final = frozenset(
    {"additionalProperties", "definitions", "items", "not", "properties", *_JUNCTORS}
)
"""Members that contain schemas."""


@dataclass(frozen=True)
class _SchemaPlace:
    """Place of a schema."""

    #: True for the schema of the object.
    is_root: bool = False
    #: True within the fields of every Kubernetes object.
    in_metadata: bool = False
    #: Place where defaults are forbidden; empty where they are allowed.
    no_defaults: str = ""


def check_schema(schema: Json, path: str, *, has_status: bool = False) -> Errors:
    """Check the schema of a version.

    Args:
        schema: the schema.
        path: its path.
        has_status: True if the objects have the subresource of their status.
    """
    found = _root(schema, path) if has_status else []
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    problem = conversion_problem(schema)
    if not problem:
        found += check_structure(schema, path) or _defaults(schema, path, is_resource=True)
    found += _node(schema, path, _SchemaPlace(is_root=True))
    return found or ([invalid(path, "", problem)] if problem else [])


def _root(schema: Json, path: str) -> Errors:
    """Check the members at the root, so that the schema of the status can be separated."""
    kind = schema.get("type", "")
    if kind and kind != "object":
        detail = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        return [invalid(f"{path}.type", kind, detail)]
    names = {name.lower() for name in _AT_ROOT}
    others = [name for name, each in schema.items() if _is_set(name, each)]
    others = [name for name in others if _go_name(name) not in names]
    if not others:
        return []
    listed = " ".join(_AT_ROOT)
    detail = (
        f"only [{listed}] fields are allowed at the root of the schema if the status subresource "
        "is enabled"
    )
    return [invalid(path, internal_schema(schema), detail)]


def _is_set(name: str, value: Any) -> bool:
    """Return whether a member of a schema is not the empty one of Go."""
    if value is None or name in _POINTERS:
        return value is not None
    return value is not False and value not in ("", [], {})


def _go_name(name: str) -> str:
    return name.replace("x-kubernetes-", "x").replace("-", "").lower()


def has_default(schema: Json | None) -> bool:
    """Return whether a schema or one below it has a default."""
    if schema is None:
        return False
    if schema.get("default") is not None:
        return True
    return any(has_default(inner) for inner, *_ in _below(schema, "", _SchemaPlace()))


def _defaults(schema: Json, path: str, *, is_resource: bool = False) -> Errors:
    """Check that the defaults are valid; there are none in the values of maps."""
    found = _default(schema, f"{path}.default") if "default" in schema else []
    items = schema.get("items")
    if isinstance(items, dict):
        found += _defaults(items, f"{path}.items")
    for name, inner in sorted((schema.get("properties") or {}).items()):
        if not is_resource or name not in _OWN:
            found += _defaults(inner, f"{path}.properties[{name}]")
    return found


def _default(schema: Json, path: str) -> Errors:
    default = schema["default"]
    _, unknown = prune(default, schema, top=bool(schema.get(EMBEDDED)))
    found = [invalid(path, default, "must not have unknown fields")] if unknown else []
    return found + [
        structs.replace(each, field=_field_of(each.field, path))
        for each in check_value(default, schema)
    ]


def _field_of(part: str, path: str) -> str:
    """Return the path of a part of a default, or of the default itself."""
    if part in ("", "<nil>"):
        return path
    return f"{path}{part}" if part.startswith("[") else f"{path}.{part}"


def _node(schema: Json, path: str, frame: _SchemaPlace) -> Errors:
    """Check one schema and its sub-schemas."""
    found = list(_members(schema, path, frame))
    for inner, where, place in _below(schema, path, frame):
        if len(found) > MOST_ERRORS:
            return found
        found += _node(inner, where, place)
    return found + _extensions(schema, path)


def _extensions(schema: Json, path: str) -> Errors:
    found: Errors = []
    if schema.get(PRESERVE) is False:
        found.append(invalid(f"{path}.{PRESERVE}", False, "must be true or undefined"))
    return found + check_collections(schema, path) + check_expressions(schema, path)


def compiled_schemas(schema: Json, path: str) -> frozenset[str]:
    """Return the paths of the schemas whose rules kube-apiserver compiles.

    These are schemas without an error in themselves and in their parts. If the whole schema is not
    structural or has invalid defaults, no rule is compiled.
    """
    if conversion_problem(schema) or check_structure(schema, path):
        return frozenset()
    if _defaults(schema, path, is_resource=True):
        return frozenset()
    found: set[str] = set()
    _add_sound(schema, path, _SchemaPlace(is_root=True), found)
    return frozenset(found)


def _add_sound(schema: Json, path: str, frame: _SchemaPlace, found: set[str]) -> bool:
    """Add the paths of schemas without errors; return whether this schema is one of them."""
    is_sound = not any(_members(schema, path, frame)) and not _extensions(schema, path)
    for inner, where, place in _below(schema, path, frame):
        is_sound = _add_sound(inner, where, place, found) and is_sound
    if is_sound:
        found.add(path)
    return is_sound


def _members(schema: Json, path: str, frame: _SchemaPlace) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if "default" in schema and frame.no_defaults:
        yield forbidden(f"{path}.default", f"must not be set {frame.no_defaults}")
    for name in () if _REFUSED.isdisjoint(schema) else _UNSUPPORTED:
        value = schema.get(name)
        if value or (value is not None and name in ("additionalItems", "dependencies", "$ref")):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(f"{path}.type", detail)
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if frame.in_metadata and schema.get(EMBEDDED):
        yield forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)
    extra = schema.get("additionalProperties")
    if schema.get("properties") and (extra is False or isinstance(extra, dict)):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", detail)


def _below(
    schema: Json, path: str, frame: _SchemaPlace
) -> Iterator[tuple[Json, str, _SchemaPlace]]:
    """Yield the sub-schemas of a schema with their paths and places."""
    if _PARTS.isdisjoint(schema):
        return
    inner = _inside(frame)
    extra, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(extra, dict):
        place = "inside additionalProperties applying to object metadata"
        closed = replace(inner, no_defaults=place) if frame.in_metadata else inner
        yield extra, f"{path}.additionalProperties", closed
    for name, each in sorted((schema.get("properties") or {}).items()):
        yield each, f"{path}.properties[{name}]", _of_property(schema, name, frame)
    if schema.get("not") is not None:
        yield schema["not"], f"{path}.not", inner
    for word in _JUNCTORS:
        for index, each in enumerate(schema.get(word) or ()):
            yield each, f"{path}.{word}[{index}]", inner
    for name, each in sorted((schema.get("definitions") or {}).items()):
        yield each, f"{path}.definitions[{name}]", inner
    if isinstance(items, dict):
        yield items, f"{path}.items", inner
    for index, each in enumerate(items if isinstance(items, list) else ()):
        yield each, f"{path}.items[{index}]", inner


def _inside(frame: _SchemaPlace) -> _SchemaPlace:
    """Return the place of a schema within another one."""
    return replace(frame, is_root=False) if frame.is_root else frame


def _of_property(schema: Json, name: str, frame: _SchemaPlace) -> _SchemaPlace:
    inner = _inside(frame)
    if name not in _OWN or not (frame.is_root or schema.get(EMBEDDED)):
        return inner
    if frame.is_root:
        inner = replace(inner, no_defaults=f"in top-level {name}")
    return replace(inner, in_metadata=True)
