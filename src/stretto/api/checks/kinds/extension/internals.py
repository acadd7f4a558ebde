"""Definitions and their schemas as the internal structs of Go that messages quote."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

Json = dict[str, Any]


def internal_schema(schema: Json) -> Json:
    """Return a schema as ``JSONSchemaProps`` of Go: all fields in their order."""
    return {name: _field(schema.get(member), kind) for name, member, kind in _FIELDS}


def internal_items(items: Any) -> Json:
    """Return the items of a list as ``JSONSchemaPropsOrArray`` of Go."""
    if isinstance(items, list):
        return {"Schema": None, "JSONSchemas": [internal_schema(each) for each in items]}
    return {"Schema": internal_schema(items), "JSONSchemas": None}


def internal_rule(rule: Mapping[str, Any]) -> Json:
    """Return a rule as ``ValidationRule`` of Go."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def internal_version(version: Json, own: Collection[str]) -> Json:
    """Return a version as ``CustomResourceDefinitionVersion`` of Go.

    Args:
        version: the version.
        own: its parts that not all versions share; the others belong to the definition.
    """
    parts = {name: version.get(name) if name in own else None for name in _PARTS}
    return {
        "Name": version.get("name", ""),
        "Served": version.get("served", False),
        "Storage": version.get("storage", False),
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        **{_PARTS[name][0]: _optional(_PARTS[name][1], each) for name, each in parts.items()},
    }


def _optional(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _validation(value: Json) -> Json:
    return {"OpenAPIV3Schema": _optional(internal_schema, value.get("openAPIV3Schema"))}


def _subresources(value: Json) -> Json:
    scale = value.get("scale")
    return {
        "Status": _optional(lambda _: {}, value.get("status")),
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _columns(columns: list[Json]) -> list[Json]:
    return [
        {
            "Name": each.get("name", ""),
            "Type": each.get("type", ""),
            "Format": each.get("format", ""),
            "Description": each.get("description", ""),
            "Priority": each.get("priority", 0),
            "JSONPath": each.get("jsonPath", ""),
        }
        for each in columns
    ]


def _selectable(fields: list[Json]) -> list[Json]:
    return [{"JSONPath": each.get("jsonPath", "")} for each in fields]


_PARTS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "schema": ("Schema", _validation),
    "subresources": ("Subresources", _subresources),
    "additionalPrinterColumns": ("AdditionalPrinterColumns", _columns),
    "selectableFields": ("SelectableFields", _selectable),
}
"""Parts of a version: their names in Go, and their conversion."""


def _same(value: Any) -> Any:
    """Return a value; a whole number has no fraction."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _schemas(values: list[Json]) -> list[Json]:
    return [internal_schema(each) for each in values]


def _named(values: Json) -> Json:
    return {name: internal_schema(values[name]) for name in sorted(values)}


def _or_bool(value: Any) -> Json:
    if isinstance(value, bool):
        return {"Allows": value, "Schema": None}
    return {"Allows": True, "Schema": internal_schema(value)}


def _dependencies(values: Json) -> Json:
    return {
        name: {"Schema": None, "Property": each}
        if isinstance(each, list)
        else {"Schema": internal_schema(each), "Property": None}
        for name, each in sorted(values.items())
    }


def _docs(value: Json) -> Json:
    return {"Description": value.get("description", ""), "URL": value.get("url", "")}


def _rules(values: list[Json]) -> list[Json]:
    return [internal_rule(each) for each in values]


_Kind = Callable[[Any], Any] | str | bool
"""Conversion of a present value, or the value of an absent one that is not null."""


def _field(value: Any, kind: _Kind) -> Any:
    if callable(kind):
        return None if value is None else kind(value)
    return kind if value is None else value


_FIELDS: Final[tuple[tuple[str, str, _Kind], ...]] = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", _same),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", _same),
    ("Maximum", "maximum", _same),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", _same),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", _same),
    ("MinLength", "minLength", _same),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", _same),
    ("MinItems", "minItems", _same),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", _same),
    ("Enum", "enum", _same),
    ("MaxProperties", "maxProperties", _same),
    ("MinProperties", "minProperties", _same),
    ("Required", "required", _same),
    ("Items", "items", internal_items),
    ("AllOf", "allOf", _schemas),
    ("OneOf", "oneOf", _schemas),
    ("AnyOf", "anyOf", _schemas),
    ("Not", "not", internal_schema),
    ("Properties", "properties", _named),
    ("AdditionalProperties", "additionalProperties", _or_bool),
    ("PatternProperties", "patternProperties", _named),
    ("Dependencies", "dependencies", _dependencies),
    ("AdditionalItems", "additionalItems", _or_bool),
    ("Definitions", "definitions", _named),
    ("ExternalDocs", "externalDocs", _docs),
    ("Example", "example", _same),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _same),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _same),
    ("XListType", "x-kubernetes-list-type", _same),
    ("XMapType", "x-kubernetes-map-type", _same),
    ("XValidations", "x-kubernetes-validations", _rules),
)
"""Fields of a schema: their names in Go and in JSON, and how they are shown."""
