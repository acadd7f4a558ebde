"""OpenAPI v2 and v3 documents of the served kinds, from their types."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from stretto.api.schema.kubernetes import struct
from stretto.api.schema.types import FieldType, Form, Merge, StructType, ValueType
from stretto.web.api.discovery import gnostic
from stretto.web.api.discovery.addresses import address_document, address_names
from stretto.web.api.discovery.custom import list_kind, list_schema, object_schema
from stretto.web.api.discovery.groups import groups
from stretto.web.api.message import NO_CACHE, ApiRequest, ApiResponse
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_TEXT: Final = "text/plain; charset=utf-8"
_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_V3: Final = "#/components/schemas/"
_V2: Final = "#/definitions/"
_PREFIXES: Final = {
    "meta/": "io.k8s.apimachinery.pkg.apis.",
    "apiextensions/": "io.k8s.apiextensions-apiserver.pkg.apis.",
    "apiregistration/": "io.k8s.kube-aggregator.pkg.apis.",
    "metrics/": "io.k8s.metrics.pkg.apis.",
}
_SCALARS: Final[dict[Form, Json]] = {
    Form.STRING: {"type": "string"},
    Form.BYTES: {"type": "string", "format": "byte"},
    Form.BOOL: {"type": "boolean"},
    Form.INT32: {"type": "integer", "format": "int32"},
    Form.INT64: {"type": "integer", "format": "int64"},
    Form.DOUBLE: {"type": "number", "format": "double"},
    Form.DURATION: {"type": "string"},
    Form.ANY: {"type": "object"},
}
_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_NAMED: Final[dict[Form, tuple[str, Json]]] = {
    Form.TIME: (f"{_MACHINERY}apis.meta.v1.Time", {"type": "string", "format": "date-time"}),
    Form.MICRO_TIME: (
        f"{_MACHINERY}apis.meta.v1.MicroTime",
        {"type": "string", "format": "date-time"},
    ),
    Form.QUANTITY: (f"{_MACHINERY}api.resource.Quantity", {"type": "string"}),
    Form.INT_OR_STRING: (
        f"{_MACHINERY}util.intstr.IntOrString",
        {"type": "string", "format": "int-or-string"},
    ),
}
"""Scalars that the documents define by name."""
_QUERY: Final = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
_ACTIONS: Final = {
    "get": "get", "list": "list", "create": "post", "update": "put", "patch": "patch",
    "delete": "delete", "deletecollection": "deletecollection", "watch": "watch",
}  # fmt: skip


def openapi(state: ApiState, request: ApiRequest, parts: list[str]) -> ApiResponse:
    """A document, or the index of the documents of v3."""
    accepted = request.header("accept")
    if accepted.partition(";")[0].strip() == "application/yaml" and parts != ["v3"]:
        return ApiResponse(406, b"", "", {**NO_CACHE, "Vary": _vary(request)})
    if parts == ["v2"]:
        if any(each in accepted for each in (gnostic.ACCEPTED, gnostic.MEDIA)):
            return _answer(request, _made(state, "gnostic", _message), gnostic.MEDIA)
        return _answer(request, _made(state, "v2", v2_document))
    if parts == ["v3"]:
        return ApiResponse(200, _made(state, "v3", _index).body, _TEXT, NO_CACHE)
    if parts and parts[0] == "v3":
        name = "/".join(parts[1:])
        if name in _names(state):
            made, stated = _third(state, name), request.parameter("hash")
            if stated and stated != made.tag:
                return _moved(request, name, made)
            return _answer(request, made)
    return ApiResponse(404, b"", "", NO_CACHE)


@dataclass(frozen=True)
class _Made:
    """An encoded document."""

    #: Its text.
    body: bytes
    #: Its hash.
    tag: str


def _made(state: ApiState, key: str, make: Callable[[ApiState], Json | bytes]) -> _Made:
    """A document, encoded once until the resources change."""

    def encode() -> _Made:
        found = make(state)
        body = found if isinstance(found, bytes) else msgspec.json.encode(found)
        return _Made(body, hashlib.sha512(body).hexdigest().upper())

    made = state.resources.derived(f"openapi/{key}", encode)
    assert isinstance(made, _Made)
    return made


def _third(state: ApiState, name: str) -> _Made:
    return _made(state, f"v3/{name}", lambda state: v3_document(state, name))


def _index(state: ApiState) -> Json:
    """The index of v3."""
    links = {name: f"/openapi/v3/{name}?hash={_third(state, name).tag}" for name in _names(state)}
    return {"paths": {name: {"serverRelativeURL": link} for name, link in links.items()}}


def _message(state: ApiState) -> bytes:
    return gnostic.document(v2_document(state))


def _names(state: ApiState) -> list[str]:
    found = ["api/v1", *address_names(state.resources)]
    for group, versions in groups(state.resources).items():
        found += [f"apis/{group}/{version}" for version in versions]
    return sorted(found)


def _moved(request: ApiRequest, name: str, made: _Made) -> ApiResponse:
    """The answer to a link with the hash of an older document."""
    place = f"/openapi/v3/{name}?hash={made.tag}"
    headers = {**NO_CACHE, "Etag": f'"{made.tag}"', "Location": place, "Vary": _vary(request)}
    return ApiResponse(301, b"", "application/json", headers)


def _vary(request: ApiRequest) -> str:
    return "Accept" if request.path.startswith("/openapi/v3") else "Accept-Encoding, Accept"


def _answer(request: ApiRequest, made: _Made, media: str = "application/json") -> ApiResponse:
    headers = {**NO_CACHE, "Etag": f'"{made.tag}"', "Vary": _vary(request)}
    if request.header("if-none-match") == f'"{made.tag}"':
        return ApiResponse(304, b"", "", headers)
    return ApiResponse(200, made.body, media, headers)


def v3_document(state: ApiState, name: str) -> Json:
    """The document of one group and version, or of a path that lists them."""
    if name in address_names(state.resources):
        paths = address_document(name)
        return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {}}
    group, version = ("", "v1") if name == "api/v1" else tuple(name.split("/")[1:])
    found = _resources(state, group, version)
    schemas = _schemas(found, _V3)
    paths = {}
    for each in found:
        paths |= _paths(each, f"/{name}", _V3)
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {"schemas": schemas},
    }


def v2_document(state: ApiState) -> Json:
    """The document of all groups."""
    paths: Json = {}
    found = state.resources.all()
    for each in found:
        base = f"/apis/{each.kind.api_version}" if each.group else "/api/v1"
        paths |= _paths(each, base, _V2)
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": paths,
        "definitions": _schemas(found, _V2),
    }


def _resources(state: ApiState, group: str, version: str) -> list[ServedResource]:
    return [
        each
        for each in state.resources.all()
        if (each.group, each.kind.version) == (group, version)
    ]


def _schemas(found: list[ServedResource], ref: str) -> Json:
    """The schemas of some resources and of all that they contain."""
    schemas: Json = dict(_NAMED.values())
    waiting: list[str] = []
    for each in found:
        if each.definition is not None:
            schemas |= _custom(each, ref)
            waiting += ["meta/v1.ObjectMeta", "meta/v1.ListMeta"]
            continue
        waiting.append(each.struct.name)
        schemas.setdefault(schema_name(each.struct.name), {})
        schemas[schema_name(each.struct.name)] = {
            **_schema(each.struct.name, ref),
            "x-kubernetes-group-version-kind": [_gvk(each)],
        }
    waiting.append("meta/v1.DeleteOptions")
    done: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        schemas.setdefault(schema_name(name), _schema(name, ref))
        waiting += [inner for field in struct(name).fields.values() for inner in _inner(field.type)]
    return schemas


def _inner(kind: ValueType) -> list[str]:
    if kind.form is Form.STRUCT:
        return [kind.struct.name] if kind.struct.name else []
    return _inner(kind.item) if kind.item is not None else []


def _gvk(each: ServedResource) -> Json:
    kind = each.kind
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def schema_name(name: str) -> str:
    """The name of a type in the documents: ``io.k8s.api.core.v1.Pod``."""
    prefix = next(
        (each for start, each in _PREFIXES.items() if name.startswith(start)), "io.k8s.api."
    )
    return prefix + name.replace("/", ".")


def custom_name(each: ServedResource) -> str:
    """The name of a custom kind in the documents: its group reversed, version and kind."""
    group = ".".join(reversed(each.group.split(".")))
    return f"{group}.{each.kind.version}.{each.kind.kind}"


def _reference(name: str, ref: str) -> Json:
    """A reference to a schema; beside one, version 3 allows nothing else."""
    found: Json = {"$ref": ref + name}
    return {"allOf": [found]} if ref == _V3 else found


def _custom(each: ServedResource, ref: str) -> Json:
    """The schemas of a custom kind and of its lists, by name."""
    name, meta = custom_name(each), _reference(schema_name("meta/v1.ObjectMeta"), ref)
    list_name = custom_name(each).removesuffix(each.kind.kind) + list_kind(each)
    list_meta = _reference(schema_name("meta/v1.ListMeta"), ref)
    return {
        name: object_schema(each, meta, is_v2=ref == _V2),
        list_name: list_schema(each, {"$ref": ref + name}, list_meta),
    }


@cache
def _schema(name: str, ref: str) -> Json:
    return _struct_schema(struct(name), ref)


def _struct_schema(kind: StructType, ref: str) -> Json:
    properties = {field.name: _field_schema(field, ref) for field in kind.fields.values()}
    schema: Json = {"type": "object", "properties": properties}
    required = [field.name for field in kind.fields.values() if field.is_required]
    return {**schema, "required": required} if required else schema


def _field_schema(field: FieldType, ref: str) -> Json:
    schema = dict(_type_schema(field.type, ref))
    if ref == _V3 and "$ref" in schema:
        schema = {"allOf": [schema]}
    if field.default is not None:
        schema["default"] = field.default
    if field.enum:
        schema["enum"] = list(field.enum)
    if field.merge_key:
        schema["x-kubernetes-patch-merge-key"] = field.merge_key
    if field.strategy:
        schema["x-kubernetes-patch-strategy"] = ",".join(field.strategy)
    if field.type.form is Form.LIST:
        schema["x-kubernetes-list-type"] = field.type.merge.value
        if field.type.keys:
            schema["x-kubernetes-list-map-keys"] = list(field.type.keys)
    elif field.type.form is Form.MAP and field.type.merge is Merge.ATOMIC:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _type_schema(kind: ValueType, ref: str) -> Json:
    if kind.form is Form.STRUCT:
        return {"$ref": ref + schema_name(kind.struct.name)}
    if kind.form is Form.LIST and kind.item is not None:
        return {"type": "array", "items": _type_schema(kind.item, ref)}
    if kind.form is Form.MAP and kind.item is not None:
        return {"type": "object", "additionalProperties": _type_schema(kind.item, ref)}
    named = _NAMED.get(kind.form)
    return _SCALARS[kind.form] if named is None else {"$ref": ref + named[0]}


def _paths(each: ServedResource, base: str, ref: str) -> Json:
    """The operations on a resource, with what clients look up in them."""
    space = "/namespaces/{namespace}" if each.kind.namespaced else ""
    collection = f"{base}{space}/{each.resource}"
    verbs = each.facts.verbs
    found: Json = {
        collection: _operations(
            each, [verb for verb in ("list", "create", "deletecollection") if verb in verbs], ref
        ),
        f"{collection}/{{name}}": _operations(
            each, [verb for verb in ("get", "update", "patch", "delete") if verb in verbs], ref
        ),
    }
    if each.kind.namespaced and "list" in verbs:
        found[f"{base}/{each.resource}"] = _operations(each, ["list"], ref)
    return {path: operations for path, operations in found.items() if operations}


def _operations(each: ServedResource, verbs: list[str], ref: str) -> Json:
    methods = {
        "list": "get",
        "get": "get",
        "create": "post",
        "update": "put",
        "patch": "patch",
        "delete": "delete",
        "deletecollection": "delete",
    }
    found: Json = {}
    for verb in verbs:
        operation: Json = {
            "operationId": f"{verb}{each.group}{each.kind.version}{each.kind.kind}",
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": _ACTIONS[verb],
            "x-kubernetes-group-version-kind": _gvk(each),
        }
        if verb in ("create", "update", "patch"):
            operation["parameters"] = [_parameter(name, ref) for name in _QUERY]
        found[methods[verb]] = operation
    return found


def _parameter(name: str, ref: str) -> Json:
    kind = "boolean" if name == "force" else "string"
    schema = {"schema": {"type": kind}} if ref == _V3 else {"type": kind}
    return {"name": name, "in": "query", **schema}
