"""The resources that a definition serves, one for each version."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from stretto.api.kinds.table import TABLE
from stretto.api.schema.kubernetes import ResourceFacts, SubresourceFacts
from stretto.api.schema.structural import EMBEDDED, RULES, mentions, struct_of_schema
from stretto.api.wire.kinds import Kind
from stretto.web.api.crds.printing import table_format
from stretto.web.api.resources import ServedResource, VersionConversion

Json = dict[str, Any]

_VERBS: Final = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
_STATUS_VERBS: Final = ("get", "patch", "update")


def served_versions(
    definition: Json, conversion: VersionConversion | None
) -> Iterator[ServedResource]:
    """Yield a resource for each served version.

    Args:
        definition: the definition.
        conversion: converts its objects; ``None``: versions differ only in their schemas.
    """
    spec, status = definition["spec"], definition.get("status") or {}
    names = status.get("acceptedNames") or {}
    if not names.get("plural"):
        return
    stored = stored_kind(definition)
    for version in spec.get("versions") or ():
        if version.get("served"):
            yield replace(_resource(definition, version, names, stored), conversion=conversion)


def stored_kind(definition: Json) -> Kind:
    """Return the kind under which the store keeps the objects; it never changes."""
    spec = definition["spec"]
    names = spec["names"]
    for version in spec.get("versions") or ():
        kind = _kind(spec, version["name"], names)
        if kind in TABLE:
            return kind
    first = (definition.get("status") or {}).get("storedVersions") or ["v1"]
    return _kind(spec, first[0], names)


def _kind(spec: Json, version: str, names: Json) -> Kind:
    """Return the kind of one version; ``names`` may differ from the spec until accepted."""
    is_namespaced = spec["scope"] == "Namespaced"
    return Kind(spec["group"], version, names["kind"], names["plural"], namespaced=is_namespaced)


def _resource(definition: Json, version: Json, names: Json, stored: Kind) -> ServedResource:
    spec = definition["spec"]
    kind = _kind(spec, version["name"], names)
    schemas = _schemas(spec)
    schema = schemas[kind.version]
    subresources = version.get("subresources") or {}
    facts = ResourceFacts(
        _VERBS,
        names.get("singular", ""),
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        kind.namespaced,
        _subresources(kind, subresources),
    )
    storage = next((each["name"] for each in spec["versions"] if each.get("storage")), kind.version)
    return ServedResource(
        kind,
        stored,
        facts,
        struct_of_schema(schema),
        definition,
        {
            "schema": schema,
            "has_embedded": mentions(schema, EMBEDDED),
            "has_rules": mentions(schema, RULES),
            "has_defaults": mentions(schemas, '"default"'),
            "schemas": schemas,
            "list_kind": names.get("listKind") or f"{kind.kind}List",
            "scale": subresources.get("scale"),
            "selectable": tuple(
                each.get("jsonPath", "").lstrip(".")
                for each in version.get("selectableFields") or ()
            ),
            "storage": storage,
            "table": table_format(version.get("additionalPrinterColumns") or ()),
            "deprecation": _deprecation(spec, version, names),
        },
    )


def _schemas(spec: Json) -> dict[str, Json]:
    """Return the schemas of all versions."""
    found = {}
    for version in spec["versions"]:
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        if spec.get("preserveUnknownFields"):
            schema = {**schema, "x-kubernetes-preserve-unknown-fields": True}
        found[version["name"]] = schema
    return found


def _subresources(kind: Kind, declared: Json) -> dict[str, SubresourceFacts]:
    found = {}
    own = (kind.group, kind.version, kind.kind)
    if declared.get("status") is not None:
        found["status"] = SubresourceFacts(own, _STATUS_VERBS)
    if declared.get("scale") is not None:
        found["scale"] = SubresourceFacts(("autoscaling", "v1", "Scale"), _STATUS_VERBS)
    return found


def _deprecation(spec: Json, version: Json, names: Json) -> str:
    """Return the warning of a deprecated version; empty for other versions."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind = spec["group"], names["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    better = [
        each["name"]
        for each in spec["versions"]
        if each.get("served") and not each.get("deprecated")
    ]
    return f"{text}; use {group}/{better[0]} {kind}" if better else text
