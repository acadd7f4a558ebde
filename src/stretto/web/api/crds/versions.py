"""The resources that a definition serves, one for each version."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from stretto.api.kinds.table import TABLE
from stretto.api.schema.kubernetes import ResourceFacts, SubresourceFacts
from stretto.api.schema.structural import EMBEDDED, RULES, defaults_of, mentions, struct_of_schema
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
    facts = _SharedFacts(definition, names)
    for version in spec.get("versions") or ():
        if version.get("served"):
            yield replace(_resource(definition, version, facts), conversion=conversion)


class _SharedFacts:
    """What the versions of a definition have in common, computed once."""

    def __init__(self, definition: Json, names: Json) -> None:
        versions = definition["spec"]["versions"]
        #: Accepted names.
        self.names = names
        #: Kind under which the store keeps the objects.
        self.stored = stored_kind(definition)
        #: Schemas by version.
        self.schemas = _schemas(definition["spec"])
        #: Defaults by version, if there are any.
        self.defaults = (
            {name: defaults_of(each) for name, each in self.schemas.items()}
            if mentions(self.schemas, '"default"')
            else {}
        )
        #: Name of the version that is stored; empty for none.
        self.storage = next((each["name"] for each in versions if each.get("storage")), "")
        #: Name of the first version that is served and not deprecated; empty for none.
        self.better = next(
            (
                each["name"]
                for each in versions
                if each.get("served") and not each.get("deprecated")
            ),
            "",
        )


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


def _resource(definition: Json, version: Json, shared: _SharedFacts) -> ServedResource:
    spec, names = definition["spec"], shared.names
    kind = _kind(spec, version["name"], names)
    schema = shared.schemas[kind.version]
    subresources = version.get("subresources") or {}
    facts = ResourceFacts(
        _VERBS,
        names.get("singular", ""),
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        kind.namespaced,
        _subresources(kind, subresources),
    )
    return ServedResource(
        kind,
        shared.stored,
        facts,
        struct_of_schema(schema),
        definition,
        {
            "schema": schema,
            "has_embedded": mentions(schema, EMBEDDED),
            "has_rules": mentions(schema, RULES),
            "defaults": shared.defaults,
            "schemas": shared.schemas,
            "list_kind": names.get("listKind") or f"{kind.kind}List",
            "scale": subresources.get("scale"),
            "selectable": tuple(
                each.get("jsonPath", "").lstrip(".")
                for each in version.get("selectableFields") or ()
            ),
            "storage": shared.storage or kind.version,
            "table": table_format(version.get("additionalPrinterColumns") or ()),
            "deprecation": _deprecation(spec, version, shared),
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


def _deprecation(spec: Json, version: Json, shared: _SharedFacts) -> str:
    """Return the warning of a deprecated version; empty for other versions."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind = spec["group"], shared.names["kind"]
    text = f"{group}/{version['name']} {kind} is deprecated"
    return f"{text}; use {group}/{shared.better} {kind}" if shared.better else text
