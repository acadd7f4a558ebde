"""Documents of paths that list groups and describe the server."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.web.api.discovery.openapi.dialects import SchemaDialect
from stretto.web.api.discovery.openapi.resources import version_name, version_tag
from stretto.web.api.discovery.openapi.schemas import schema_name
from stretto.web.api.resources import ResourceTable

Json = dict[str, Any]

_FIXED: Final = {
    "api": ("getCoreAPIVersions", "core", "meta/v1.APIVersions"),
    "apis": ("getAPIVersions", "apis", "meta/v1.APIGroupList"),
    "version": ("getCodeVersion", "version", "version/Info"),
    ".well-known/openid-configuration": (
        "getServiceAccountIssuerOpenIDConfiguration",
        "WellKnown",
        "",
    ),
    "openid/v1/jwks": ("getServiceAccountIssuerOpenIDKeyset", "openid", ""),
}
"""Operation name, tag and response type, by path."""
_OBJECTS: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_KEYS: Final = "openid/v1/jwks"


def address_names(resources: ResourceTable) -> Iterator[str]:
    """Yield the names of the documents: those of the server, and one per group of Kubernetes."""
    yield from _FIXED
    yield from sorted({f"apis/{each.group}" for each in resources.built_in() if each.group})


def address_type(name: str) -> str:
    """The type of the response; empty for text."""
    return _FIXED[name][2] if name in _FIXED else "meta/v1.APIGroup"


def address_path(name: str, dialect: SchemaDialect) -> Json:
    """The only path of a document."""
    group = name.removeprefix("apis/")
    tag = version_tag(group, "").rstrip("_")
    operation, tag, kind = _FIXED.get(name) or (
        f"get{version_name(group, '')}APIGroup", tag, address_type(name),
    )  # fmt: skip
    media = _OBJECTS if kind.startswith("meta/") else _OBJECTS[:1]
    if name == _KEYS:
        media = ("application/jwk-set+json",)
    return {f"/{name}/": _read(operation, tag, (kind, media), dialect)}


def version_path(group: str, version: str, dialect: SchemaDialect) -> Json:
    """The path that lists the resources of a version."""
    name = f"apis/{group}/{version}" if group else f"api/{version}"
    operation = f"get{version_name(group, version)}APIResources"
    answer = ("meta/v1.APIResourceList", _OBJECTS)
    return {f"/{name}/": _read(operation, version_tag(group, version), answer, dialect)}


def _read(
    operation: str, tag: str, answer: tuple[str, tuple[str, ...]], dialect: SchemaDialect
) -> Json:
    """Return a GET without parameters, with the type and media types of its response."""
    kind, media = answer
    schema = dialect.reference(schema_name(kind)) if kind else {"type": "string"}
    found: Json = {"tags": [tag], "operationId": operation}
    refused, good = {"description": "Unauthorized"}, {"description": "OK"}
    if dialect is SchemaDialect.V2:
        found |= {"consumes": list(media)} if kind else {}
        found |= {"produces": list(media), "schemes": ["https"]}
        return {"get": {**found, "responses": {"200": {**good, "schema": schema}, "401": refused}}}
    content = {each: {"schema": schema} for each in media}
    return {"get": {**found, "responses": {"200": {**good, "content": content}, "401": refused}}}
