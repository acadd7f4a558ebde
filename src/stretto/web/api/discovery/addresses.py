"""OpenAPI documents of the paths that list groups and describe the server."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.web.api.resources import ResourceTable

Json = dict[str, Any]

_FIXED: Final = {
    "api": ("getCoreAPIVersions", "get available API versions"),
    "apis": ("getAPIVersions", "get available API versions"),
    "version": ("getCodeVersion", "get the version information for this server"),
    ".well-known/openid-configuration": (
        "getServiceAccountIssuerOpenIDConfiguration",
        "get service account issuer OpenID configuration",
    ),
    "openid/v1/jwks": (
        "getServiceAccountIssuerOpenIDKeyset",
        "get service account issuer OpenID JSON Web Key Set",
    ),
}
"""Name and description of the operation by path."""


def address_names(resources: ResourceTable) -> Iterator[str]:
    """The names of the documents: those of the server, and one for each group of Kubernetes."""
    yield from _FIXED
    yield from sorted({f"apis/{each.group}" for each in resources.built_in() if each.group})


def address_document(name: str) -> Json:
    """The paths of a document; it has no schemas."""
    operation, description = _FIXED.get(name) or _of_group(name)
    answers = {"200": {"description": "OK"}, "401": {"description": "Unauthorized"}}
    read = {"description": description, "operationId": operation, "responses": answers}
    tag = name.rpartition("/")[2] if name.startswith("api") else name.partition("/")[0]
    return {f"/{name}/": {"get": {"tags": [tag.strip(".")], **read}}}


def _of_group(name: str) -> tuple[str, str]:
    words = name.removeprefix("apis/").removesuffix(".k8s.io").replace(".", " ").title()
    return f"get{words.replace(' ', '')}APIGroup", "get information of a group"
