"""OpenAPI v2 and v3 documents of the served kinds, from their types."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from stretto.api.schema.kubernetes import struct_of_kind
from stretto.web.api.discovery.openapi.addresses import (
    address_names,
    address_path,
    address_type,
    version_path,
)
from stretto.web.api.discovery.openapi.custom import list_schema as custom_list_schema
from stretto.web.api.discovery.openapi.custom import object_schema
from stretto.web.api.discovery.openapi.dialects import SchemaDialect
from stretto.web.api.discovery.openapi.parameters import CONNECT
from stretto.web.api.discovery.openapi.resources import (
    kind_of,
    list_kind,
    list_name,
    object_name,
    resource_paths,
)
from stretto.web.api.discovery.openapi.schemas import (
    GVK,
    PATCH,
    add_fixed,
    add_schemas,
    list_schema,
    schema_name,
)
from stretto.web.api.discovery.openapi.versions import ALL_VERSIONS, MERGED_VERSIONS
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SECURITY: Final = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}
_EVERYWHERE: Final = (
    "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Status",
    "WatchEvent",
)  # fmt: skip
"""Types of the API machinery that are kinds."""
_FIRST: Final = ("", "v1")
_OF_ALL_VERSIONS: Final = frozenset({"DeleteOptions", "WatchEvent"})
"""Machinery types that are kinds of every version."""


def v3_document(state: ApiState, name: str) -> Json:
    """Return the document of one group and version, or of a path that lists them."""
    dialect = SchemaDialect.V3
    if name in address_names(state.resources):
        kind = address_type(name)
        return _v3(address_path(name, dialect), _schemas([], [kind] if kind else [], dialect))
    group, version = ("", "v1") if name == "api/v1" else tuple(name.split("/")[1:])
    found = [
        each
        for each in state.resources.all()
        if (each.group, each.kind.version) == (group, version)
    ]
    if found[0].definition is not None:
        return _custom_document(found, name)
    paths = _paths(found, f"/{name}", dialect) | version_path(group, version, dialect)
    return _v3(paths, _schemas(found, ["meta/v1.APIResourceList"], dialect))


def _v3(paths: Json, schemas: Json) -> Json:
    components = {"schemas": schemas} if schemas else {}
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {**components, "securitySchemes": _SECURITY},
    }


def _custom_document(found: list[ServedResource], name: str) -> Json:
    """Return the document of a version of custom resources."""
    return {
        "openapi": "3.0.0",
        "info": _CUSTOM_INFO,
        "paths": _paths(found, f"/{name}", SchemaDialect.V3),
        "components": {"schemas": _schemas(found, [], SchemaDialect.V3)},
    }


def v2_document(state: ApiState) -> Json:
    """Return the document of all groups."""
    dialect = SchemaDialect.V2
    paths: Json = {}
    types = []
    for name in address_names(state.resources):
        paths |= address_path(name, dialect)
        types += [address_type(name)] if address_type(name) else []
    found = state.resources.all()
    for each in found:
        base = f"/apis/{each.kind.api_version}" if each.group else "/api/v1"
        paths |= _paths([each], base, dialect)
    versions = {(each.group, each.kind.version) for each in state.resources.built_in()}
    for group, version in sorted(versions):
        paths |= version_path(group, version, dialect)
    types.append("meta/v1.APIResourceList")
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": paths,
        "definitions": _schemas(found, types, dialect),
        "securityDefinitions": _SECURITY,
        "security": [{"BearerToken": []}],
    }


def _paths(found: list[ServedResource], base: str, dialect: SchemaDialect) -> Json:
    return {path: item for each in found for path, item in resource_paths(each, base, dialect)}


def _schemas(found: list[ServedResource], types: list[str], dialect: SchemaDialect) -> Json:
    """Return the schemas of resources and types, and of all types that they contain."""
    schemas: Json = {}
    waiting = list(types)
    for each in found:
        gvk = {"group": each.group, "version": each.kind.version}
        if each.definition is not None:
            schemas |= _custom(each, dialect)
            waiting += ["meta/v1.ObjectMeta", "meta/v1.ListMeta"]
        else:
            waiting += _types(each)
        if "list" in each.facts.verbs and each.definition is None:
            listed = {**gvk, "kind": list_kind(each)}
            schemas[list_name(each)] = list_schema(object_name(each), listed, dialect)
            waiting.append("meta/v1.ListMeta")
        waiting += ["meta/v1.DeleteOptions"] if "delete" in each.facts.verbs else []
        waiting += ["meta/v1.Status"] if "delete" in each.facts.verbs else []
        is_watched = "watch" in each.facts.verbs and each.definition is None
        waiting += ["meta/v1.WatchEvent"] if is_watched else []
    add_schemas(schemas, waiting, dialect)
    _state_kinds(schemas, found)
    add_fixed(schemas, list(_references(schemas)), dialect)
    if any("patch" in each.facts.verbs for each in found):
        add_fixed(schemas, [PATCH], dialect)
    return schemas


def _types(each: ServedResource) -> Iterator[str]:
    """Yield the types of the objects of a resource and of its subresources."""
    subresources = each.facts.subresources.items()
    others = (kind_of(each, facts) for word, facts in subresources if word not in CONNECT)
    for key in ((each.group, each.kind.version, each.kind.kind), *others):
        known = struct_of_kind(*key)
        if known is not None:
            yield known.name


def _state_kinds(schemas: Json, found: list[ServedResource]) -> None:
    """Add the kinds to machinery types; each version contains some of these kinds."""
    versions = {(each.group, each.kind.version) for each in found}
    known: Iterable[tuple[str, str]] = sorted(versions | {_FIRST})
    if len(versions) > 1:
        known = MERGED_VERSIONS
    elif any(each.definition for each in found):
        known = ALL_VERSIONS
    for word in _EVERYWHERE:
        name = schema_name(f"meta/v1.{word}")
        if name in schemas:
            places = known if word in _OF_ALL_VERSIONS else [_FIRST]
            gvks = [{"group": group, "kind": word, "version": each} for group, each in places]
            schemas[name] = {**schemas[name], GVK: gvks}


def _references(value: Any) -> Iterator[str]:
    """Yield the names of the schemas that a value references."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "$ref" and isinstance(each, str):
                yield each.rpartition("/")[2]
            else:
                yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _custom(each: ServedResource, dialect: SchemaDialect) -> Json:
    """Return the schemas of a custom kind and of its lists, by name."""
    meta = dialect.member(schema_name("meta/v1.ObjectMeta"))
    list_meta = dialect.member(schema_name("meta/v1.ListMeta"))
    name, is_v2 = object_name(each), dialect is SchemaDialect.V2
    return {
        name: object_schema(each, meta, is_v2=is_v2),
        list_name(each): custom_list_schema(each, dialect.reference(name), list_meta),
    }
