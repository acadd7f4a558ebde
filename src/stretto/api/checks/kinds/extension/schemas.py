"""Rules of the structural schemas in CustomResourceDefinitions."""

import re
from dataclasses import replace
from typing import Final

from stretto.api.checks.custom.values import check_value
from stretto.api.checks.fields.errors import (
    Errors,
    forbidden,
    invalid,
    required,
    unsupported,
)
from stretto.api.checks.fields.shapes import moved
from stretto.api.checks.kinds.values import Json
from stretto.api.schema.structural import EMBEDDED, INT_OR_STRING, PRESERVE

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("atomic", "granular")
_LOGICAL: Final = ("allOf", "anyOf", "oneOf")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_RULES: Final = "x-kubernetes-validations"
_FORBIDDEN: Final = {"id": "id is not supported", "$ref": "$ref is not supported"}
_REASONS: Final = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired",
)  # fmt: skip


def check_schema(schema: Json, path: str) -> Errors:
    """Check the schema of a version; its root is an object."""
    found: Errors = []
    if schema.get("type") != "object":
        kind = schema.get("type", "")
        if not kind:
            found.append(required(f"{path}.type", "must not be empty at the root"))
        else:
            found.append(invalid(f"{path}.type", kind, "must be object at the root"))
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    found += _node(schema, path)
    metadata = (schema.get("properties") or {}).get("metadata") or {}
    others = set(metadata.get("properties") or ()) - {"name", "generateName"}
    if others:
        detail = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        found.append(forbidden(f"{path}.properties[metadata]", detail))
    return found


def _node(schema: Json, path: str) -> Errors:
    """Check one schema and its sub-schemas."""
    found = [
        forbidden(f"{path}.{name}", detail)
        for name, detail in _FORBIDDEN.items()
        if schema.get(name)
    ]
    if found:
        return found
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(forbidden(f"{path}.uniqueItems", detail))
    found += _own(schema, path)
    if schema.get("additionalProperties") is not None:
        found += _additional(schema, path)
    for name, inner in sorted((schema.get("properties") or {}).items()):
        where = f"{path}.properties[{name}]"
        found += _needs_type(inner, where, "object fields") + _node(inner, where)
    found += _list(schema, path)
    for word in _LOGICAL:
        for index, inner in enumerate(schema.get(word) or ()):
            if not (schema.get(INT_OR_STRING) and set(inner) == {"type"}):
                found += _logical(inner, f"{path}.{word}[{index}]")
    return found + _rules(schema.get(_RULES) or [], f"{path}.{_RULES}")


def _own(schema: Json, path: str) -> Errors:
    kind, found = schema.get("type", ""), []
    if kind and kind not in _TYPES:
        found.append(unsupported(f"{path}.type", kind, _TYPES))
    pattern = schema.get("pattern")
    if pattern:
        problem = regex_problem(pattern)
        if problem:
            detail = f"must be a valid regular expression, but isn't: {problem}"
            found.append(invalid(f"{path}.pattern", pattern, detail))
    if schema.get(PRESERVE) is False:
        found.append(invalid(f"{path}.{PRESERVE}", False, "must be true or undefined"))
    if schema.get(EMBEDDED) and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        found.append(invalid(f"{path}.type", kind, detail))
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in _MAP_TYPES:
        found.append(unsupported(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES))
    if "default" in schema and kind in _TYPES:
        found += _default(schema, f"{path}.default")
    return found


def _default(schema: Json, path: str) -> Errors:
    """Check that a default is valid by its own schema."""
    errors = check_value(schema["default"], schema)
    return [
        replace(each, field=path) if each.field == "<nil>" else moved(each, path) for each in errors
    ]


def _additional(schema: Json, path: str) -> Errors:
    extra = schema["additionalProperties"]
    where = f"{path}.additionalProperties"
    if schema.get("properties"):
        detail = "additionalProperties and properties are mutual exclusive"
        return [forbidden(where, detail)]
    if extra is False:
        return [forbidden(where, "additionalProperties cannot be set to false")]
    if isinstance(extra, dict):
        return _needs_type(extra, where, "object fields") + _node(extra, where)
    return []


def _needs_type(schema: Json, path: str, word: str) -> Errors:
    if (
        schema.get("type")
        or schema.get(INT_OR_STRING)
        or schema.get(PRESERVE)
        or schema.get("$ref")
    ):
        return []
    return [required(f"{path}.type", f"must not be empty for specified {word}")]


def _list(schema: Json, path: str) -> Errors:
    items, kind = schema.get("items"), schema.get(_LIST_TYPE)
    found: Errors = []
    if kind is not None:
        where = f"{path}.{_LIST_TYPE}"
        if schema.get("type") != "array":
            detail = f"must be array if {_LIST_TYPE} is specified"
            found.append(invalid(f"{path}.type", schema.get("type", ""), detail))
        if kind not in _LIST_TYPES:
            found.append(unsupported(where, kind, _LIST_TYPES))
    if schema.get("type") == "array":
        if items is None:
            return [*found, required(f"{path}.items", "must be specified")]
        if isinstance(items, list):
            detail = "items must be a schema object and not an array"
            return [*found, forbidden(f"{path}.items", detail)]
    if isinstance(items, dict):
        where = f"{path}.items"
        found += _needs_type(items, where, "array items") + _node(items, where)
        if kind == "map":
            found += _keys(schema, items, path)
        if kind == "set" and items.get("type") in ("object", "array"):
            word = "x-kubernetes-map-type" if items["type"] == "object" else _LIST_TYPE
            if items.get(word) != "atomic":
                detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
                found.append(invalid(f"{where}.{word}", items.get(word), detail))
    return found


def _keys(schema: Json, items: Json, path: str) -> Errors:
    keys = schema.get(_LIST_KEYS) or []
    where = f"{path}.{_LIST_KEYS}"
    if not keys:
        return [required(where, f"must not be empty if {_LIST_TYPE} is map")]
    found: Errors = []
    properties = items.get("properties") or {}
    if any(key not in properties for key in keys):
        detail = "entries must all be names of item properties"
        found.append(invalid(where, keys, detail))
    for key in keys:
        inner = properties.get(key)
        if inner is None:
            continue
        here = f"{path}.items.properties[{key}]"
        if inner.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            found.append(invalid(f"{here}.type", inner["type"], detail))
        if key not in (items.get("required") or ()) and "default" not in inner:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property"
            )
            found.append(required(f"{here}.default", detail))
        if inner.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            found.append(forbidden(f"{here}.nullable", detail))
    return found


def _logical(schema: Json, path: str) -> Errors:
    """Check that a schema within a junctor has only value validations."""
    found: Errors = []
    if schema.get("type") and not schema.get(INT_OR_STRING):
        detail = "must be empty to be structural"
        found.append(forbidden(f"{path}.type", detail))
    found += [
        forbidden(f"{path}.{name}", "must be empty to be structural")
        for name in ("default", "description", "additionalProperties", "nullable", "title")
        if schema.get(name)
    ]
    for name, inner in sorted((schema.get("properties") or {}).items()):
        found += _logical(inner, f"{path}.properties[{name}]")
    return found


def _rules(rules: list[Json], path: str) -> Errors:
    """Check CEL rules, except their compilation."""
    found: Errors = []
    for index, rule in enumerate(rules):
        where = f"{path}[{index}]"
        text, message = rule.get("rule", "").strip(), rule.get("message", "")
        if not text:
            found.append(required(f"{where}.rule", "rule is not specified"))
        if "message" in rule and message and not message.strip():
            detail = "message must be non-empty if specified"
            found.append(invalid(f"{where}.message", message, detail))
        elif "\n" in message.strip():
            found.append(invalid(f"{where}.message", message, "must not contain line breaks"))
        elif "\n" in text and not message:
            detail = "message must be specified if rule contains line breaks"
            found.append(required(f"{where}.message", detail))
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(unsupported(f"{where}.reason", reason, _REASONS))
    return found


def regex_problem(pattern: str) -> str:
    """Return the error of Go's parser for a regular expression; empty if it is valid."""
    try:
        re.compile(pattern)
    except re.error as error:
        return f"error parsing regexp: {_go_text(error, pattern)}"
    return ""


def _go_text(error: re.error, pattern: str) -> str:
    rest = pattern[error.pos or 0 :]
    words = (
        ("unterminated character set", f"missing closing ]: `{rest}`"),
        ("missing )", f"missing closing ): `{pattern}`"),
        ("unbalanced parenthesis", f"unexpected ): `{pattern}`"),
        ("nothing to repeat", f"missing argument to repetition operator: `{rest[:1]}`"),
        ("multiple repeat", f"invalid nested repetition operator: `{rest}`"),
        ("bad escape (end of pattern)", "trailing backslash at end of expression: ``"),
        ("bad escape", f"invalid escape sequence: `{rest[:2]}`"),
        ("bad character range", f"invalid character class range: `{rest}`"),
    )
    return next((text for start, text in words if error.msg.startswith(start)), error.msg)


def field_schema(schema: Json, json_path: str) -> Json | None:
    """Return the schema at a simple JSON path; ``None`` if there is none."""
    current: Json | None = schema
    for part in json_path.strip(".").split("."):
        current = (current.get("properties") or {}).get(part) if current else None
    return current
