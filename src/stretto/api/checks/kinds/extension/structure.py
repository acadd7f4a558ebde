"""Rules of structural schemas: the fields of an object are declared outside of its validations."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from stretto.api.checks.fields.errors import (
    Errors,
    FieldError,
    first_errors,
    forbidden,
    invalid,
    required,
)
from stretto.api.checks.fields.patterns import regex_problem
from stretto.api.checks.kinds.values import Json
from stretto.api.schema.structural import EMBEDDED, INT_OR_STRING, PRESERVE

_ROOT: Final = "at the root"
_ITEMS: Final = "for specified array items"
_FIELDS: Final = "for specified object fields"
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
"""Junctor that a value that is a number or a text may have."""
_UNSUPPORTED: Final = (
    ("id", "id"), ("$schema", "schema"), ("$ref", "$ref"),
    ("patternProperties", "patternProperties"), ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"), ("definitions", "definitions"),
)  # fmt: skip
"""Members that no structural schema has, with their names in messages."""
_VALIDATIONS: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "pattern"})
"""Members of schemas that contain junctors or a regular expression."""
_EMPTY: Final = "must be empty to be structural"
_FALSE: Final = "must be false to be structural"
_UNDEFINED: Final = "must be undefined to be structural"
_NESTED: Final = (
    ("title", _EMPTY), ("description", _EMPTY), ("nullable", _FALSE), (PRESERVE, _FALSE),
    (EMBEDDED, _FALSE), (INT_OR_STRING, _FALSE), ("x-kubernetes-list-map-keys", _EMPTY),
    ("x-kubernetes-list-type", _UNDEFINED), ("x-kubernetes-map-type", _UNDEFINED),
    ("x-kubernetes-validations", _EMPTY), ("type", _EMPTY),
)  # fmt: skip
"""Members that validations within a junctor do not have."""
_SCHEMAS: Final = frozenset(
    {"properties", "items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"}
)
"""Members of a schema that contain schemas."""
_CONVERTED: Final = _SCHEMAS | {PRESERVE, *(name for name, _ in _UNSUPPORTED)}
"""Members that a conversion may refuse, or that contain schemas."""
_TYPED: Final = frozenset(
    {"items", "properties", "additionalProperties", PRESERVE, EMBEDDED, INT_OR_STRING}
    | _VALIDATIONS
)
"""Members with rules of structural schemas; a typed field without them has no errors."""
_METADATA_TEXT: Final = (
    "must not specify anything other than name and generateName, but metadata is implicitly "
    "specified"
)
_NEEDS_PROPERTIES: Final = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"


class _StructuralNode(NamedTuple):
    """A schema outside of junctors."""

    #: The schema.
    schema: Json
    #: Its path.
    path: str
    #: Its place in the schema that contains it.
    place: str


def conversion_problem(schema: Json) -> str:
    """Return why a schema has no structural form; empty if it has one."""
    if _CONVERTED.isdisjoint(schema):
        return ""
    for name, shown in _UNSUPPORTED:
        if schema.get(name) or (name == "additionalItems" and schema.get(name) is not None):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get(PRESERVE) is False:
        return f"internal error: '{PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, map(conversion_problem, _inner(schema))), "")


def _inner(schema: Json) -> Iterator[Json]:
    yield from (schema.get("properties") or {}).values()
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            yield schema[name]
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()


def schemas_of(schema: Json) -> Iterator[Json]:
    """Yield a schema and all schemas in it, each before those in it."""
    rest = [schema]
    while rest:
        each = rest.pop()
        yield each
        if not _SCHEMAS.isdisjoint(each):
            rest += reversed([*_inner(each)])


def check_structure(schema: Json, path: str) -> Errors:
    """Check the schema of an object, whose conversion has no problem."""
    invariants = _invariants(_StructuralNode(schema, path, _ROOT))
    found = first_errors(chain(invariants, _completeness(schema, schema, path, path)))
    return sorted(found, key=lambda each: f"{each.field}: {each.message}")


def _invariants(node: _StructuralNode) -> Iterator[FieldError]:
    schema, path = node.schema, node.path
    is_typed = schema.get("type") not in (None, "", "array")
    if is_typed and node.place != _ROOT and _TYPED.isdisjoint(schema):
        return
    items, extra = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _invariants(_StructuralNode(items, f"{path}.items", _ITEMS))
    for name, inner in _properties(schema):
        yield from _invariants(_StructuralNode(inner, f"{path}.properties[{name}]", _FIELDS))
    if extra is not None and node.place == _ROOT:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(extra, dict):
        yield from _invariants(_StructuralNode(extra, f"{path}.additionalProperties", _FIELDS))
    if schema.get(INT_OR_STRING):
        detail = f"must be false if {INT_OR_STRING} is true"
        for name in (PRESERVE, EMBEDDED):
            if schema.get(name):
                yield invalid(f"{path}.{name}", True, detail)
    yield from _validations(schema, path)
    yield from _type(node)
    yield from _resource(node)


def _properties(schema: Json) -> list[tuple[str, Json]]:
    properties = schema.get("properties")
    return sorted(properties.items()) if properties else []


def _type(node: _StructuralNode) -> Iterator[FieldError]:
    """Check that a schema states its type."""
    schema, where, kind = node.schema, f"{node.path}.type", node.schema.get("type", "")
    if schema.get(EMBEDDED) and kind != "object":
        detail = f"must be object if {EMBEDDED} is true"
        yield invalid(where, kind, detail) if kind else required(where, detail)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(where, f"must not be empty {node.place}")
    if schema.get(EMBEDDED) and schema.get("additionalProperties") is not None:
        detail = f"must not be used if {EMBEDDED} is set"
        yield forbidden(f"{node.path}.additionalProperties", detail)
    if node.place == _ROOT and kind and kind != "object":
        yield invalid(where, kind, "must be object at the root")


def _resource(node: _StructuralNode) -> Iterator[FieldError]:
    """Check the fields of Kubernetes' objects at the root and in embedded objects."""
    schema, known = node.schema, node.schema.get("properties") or {}
    is_root, is_embedded = node.place == _ROOT, bool(schema.get(EMBEDDED))
    for name in ("kind", "apiVersion") if is_root or is_embedded else ():
        kind = known[name].get("type", "") if name in known else "string"
        if kind != "string":
            yield invalid(f"{node.path}.properties[{name}].type", kind, "must be string")
    metadata, where = known.get("metadata"), f"{node.path}.properties[metadata]"
    if metadata is not None:
        kind = metadata.get("type", "")
        if (is_root or is_embedded) and kind != "object":
            yield invalid(f"{where}.type", kind, "must be object")
        if is_root and _has_more(metadata):
            yield forbidden(where, _METADATA_TEXT)
    if is_embedded and not schema.get(PRESERVE) and not known:
        yield required(f"{node.path}.properties", _NEEDS_PROPERTIES)


def _has_more(metadata: Json) -> bool:
    """Return whether a schema of metadata has more than the properties of names."""
    properties = metadata.get("properties") or {}
    others = {key for key, each in metadata.items() if not _is_absent(each)}
    return bool((others - {"type", "default", "properties"}) or not _are_names(properties))


def _is_absent(value: Any) -> bool:
    """Return whether a member of a schema is the empty one of Go; zero and {} are values."""
    return value is None or value is False or value in ("", [])


def _are_names(properties: Json) -> bool:
    return set(properties) <= {"name", "generateName"}


def _validations(schema: Json, path: str, *, skips_any: bool = False) -> Iterator[FieldError]:
    """Check the junctors of a schema.

    Args:
        schema: the schema.
        path: its path.
        skips_any: True if its ``anyOf`` is the one of a number or a text.
    """
    if _VALIDATIONS.isdisjoint(schema):
        return
    junctors = schema.get("allOf") or []
    if not skips_any and schema.get("anyOf") != _EITHER:
        for index, each in enumerate(schema.get("anyOf") or ()):
            yield from _nested(each, f"{path}.anyOf[{index}]")
    for index, each in enumerate(junctors):
        skips = index == 0 and each.get("anyOf") == _EITHER
        yield from _nested(each, f"{path}.allOf[{index}]", skips_any=skips)
    for index, each in enumerate(schema.get("oneOf") or ()):
        yield from _nested(each, f"{path}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    problem = regex_problem(pattern) if pattern else ""
    if problem:
        detail = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", pattern, detail)


def _nested(schema: Json, path: str, *, skips_any: bool = False) -> Iterator[FieldError]:
    """Check that a schema within a junctor only validates values."""
    yield from _nested_junctors(schema, path, skips_any=skips_any)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for name, inner in _properties(schema):
        yield from _nested(inner, f"{path}.properties[{name}]")
    if schema.get("additionalProperties") not in (None, False):
        yield forbidden(f"{path}.additionalProperties", _UNDEFINED)
    if schema.get("default") is not None:
        yield forbidden(f"{path}.default", _UNDEFINED)
    for name, detail in _NESTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", detail)
    if "metadata" in (schema.get("properties") or {}):
        where = f"{path}.properties[metadata]"
        yield forbidden(where, "must not be specified in a nested context")


def _nested_junctors(schema: Json, path: str, *, skips_any: bool) -> Iterator[FieldError]:
    """Check the junctors within a junctor, where a number or a text has no exception."""
    for word in ("anyOf", "allOf", "oneOf"):
        for index, each in enumerate(
            () if word == "anyOf" and skips_any else schema.get(word) or ()
        ):
            yield from _nested(each, f"{path}.{word}[{index}]")
    plain = {key: each for key, each in schema.items() if key in ("not", "pattern")}
    yield from _validations(plain, path)


def _completeness(inner: Json, outer: Json | None, at: str, path: str) -> Iterator[FieldError]:
    """Check that what a junctor validates is declared outside of junctors.

    Args:
        inner: the schema with the junctors.
        outer: the schema outside of them; ``None`` without.
        at: the path of ``outer``.
        path: the path of ``inner``.
    """
    nested = [(inner["not"], f"{path}.not")] if inner.get("not") is not None else []
    for word in ("allOf", "anyOf", "oneOf"):
        nested += [
            (each, f"{path}.{word}[{index}]") for index, each in enumerate(inner.get(word) or ())
        ]
    for each, where in nested:
        yield from _declared(each, outer, at, where)


def _declared(inner: Json, outer: Any, at: str, path: str) -> Iterator[FieldError]:
    """Check that the fields of a schema within a junctor are declared."""
    if not isinstance(outer, dict):
        yield required(at, f"because it is defined in {path}")
        return
    yield from _completeness(inner, outer, at, path)
    if isinstance(inner.get("items"), dict):
        yield from _declared(inner["items"], outer.get("items"), f"{at}.items", f"{path}.items")
    known = outer.get("properties") or {}
    for name, each in _properties(inner):
        part = f".properties[{name}]"
        yield from _declared(each, known.get(name), f"{at}{part}", f"{path}{part}")
