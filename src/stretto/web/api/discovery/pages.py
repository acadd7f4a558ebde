"""Paths outside resources: discovery, health, version, OpenAPI."""

from typing import Any, Final

import msgspec

from stretto.web.api import failures
from stretto.web.api.authn.accounts import ISSUER
from stretto.web.api.discovery.aggregated import aggregated
from stretto.web.api.discovery.groups import (
    api_versions,
    group_document,
    group_list,
    groups,
    resource_list,
)
from stretto.web.api.discovery.health import CHECKS, VERSION, health, no_page
from stretto.web.api.discovery.messages import discovery_answer
from stretto.web.api.discovery.openapi.serving import openapi
from stretto.web.api.discovery.operation import OPERATION, VERBOSITY
from stretto.web.api.encoding import JSON, SERVED
from stretto.web.api.message import NO_CACHE, ApiRequest, ApiResponse
from stretto.web.api.negotiation import (
    Accepted,
    check_routed,
    negotiate,
    not_acceptable,
)
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_ADDRESS: Final = "127.0.0.1:443"
"""Address of a server without HTTP."""


def page(state: ApiState, request: ApiRequest) -> ApiResponse | None:
    """Return the response of a path outside resources; ``None`` for a path of a resource.

    Raises:
        ApiError: the method or the media type is not served.
        PlainError: the page does not exist.
    """
    path = request.path
    parts = [each for each in path.split("/") if each]
    if not parts or parts == ["index.html"]:
        return _indented({"paths": _paths(state)})
    word = parts[0]
    if word in CHECKS:
        found = None if path.endswith("/") else health(request)
        if found is None:
            raise no_page()
        return found
    if word == "version" and len(parts) == 1:
        if request.method != "GET":
            raise failures.no_method()
        check_routed(request.header("accept"), (JSON,))
        return _indented(VERSION)
    if path in OPERATION:
        return OPERATION[path](state)
    if path in _ISSUER:
        if request.method != "GET":
            raise failures.no_method()
        check_routed(request.header("accept"), (_KEY_SET if path == _KEYS else JSON,))
        return _issuer(state, path)
    if word == "openapi":
        return openapi(state, request, parts[1:])
    if (word == "api" and len(parts) <= 2) or (word == "apis" and len(parts) <= 3):
        return _discovery(state, request, parts)
    if word in ("api", "apis"):
        return None
    raise no_page()


def _indented(value: Any) -> ApiResponse:
    """Return JSON with line breaks, as kube-apiserver writes for pages without negotiation."""
    body = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return ApiResponse(200, body, JSON, NO_CACHE)


_KEYS: Final = "/openid/v1/jwks"
_KEY_SET: Final = "application/jwk-set+json"
_ISSUER: Final = ("/.well-known/openid-configuration", _KEYS)
"""Paths about the issuer of tokens of ServiceAccounts."""


def _issuer(state: ApiState, path: str) -> ApiResponse:
    """Return the discovery document for verifiers of ServiceAccount tokens (OpenID Connect)."""
    headers = {"Cache-Control": "public, max-age=3600"}
    if path == _KEYS:
        body = msgspec.json.encode(state.accounts.key_set())
        return ApiResponse(200, body, _KEY_SET, headers)
    found = {
        "issuer": ISSUER,
        "jwks_uri": f"{ISSUER}{_KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    return ApiResponse(200, msgspec.json.encode(found), JSON, headers)


def _discovery(state: ApiState, request: ApiRequest, parts: list[str]) -> ApiResponse:
    resources = state.resources
    if "//" in request.path:
        raise no_page()
    if len(parts) == 1 and request.path != "/apis/":
        found = aggregated(request, resources, core=parts[0] == "api")
        if found is not None:
            return found
    document = _document(state, request, parts)
    custom = {each.group for each in resources.custom()}
    if document is None:
        known = parts[0] == "api" or (parts[1] in groups(resources) and parts[1] not in custom)
        raise failures.no_route() if known and len(parts) > 1 else no_page()
    is_built_in = parts[0] == "api" or (len(parts) == 3 and parts[1] not in custom)
    if is_built_in and request.method != "GET":
        raise failures.no_method()
    return discovery_answer(document, _accepted(request, is_built_in=is_built_in))


def _accepted(request: ApiRequest, *, is_built_in: bool) -> Accepted:
    """Return the form of a document.

    Raises:
        ApiError: the client accepts no served media type.
    """
    header = request.header("accept")
    if is_built_in:
        check_routed(header, SERVED)
    found = negotiate(header)
    if found is None:
        raise not_acceptable()
    return found


def _document(state: ApiState, request: ApiRequest, parts: list[str]) -> Json | None:
    resources = state.resources
    if parts[0] == "api":
        if len(parts) == 1:
            return api_versions(request.header("host") or _ADDRESS)
        return resource_list(resources, "", parts[1])
    if len(parts) == 1:
        return group_list(resources)
    if len(parts) == 2:
        return group_document(resources, parts[1])
    return resource_list(resources, parts[1], parts[2])


def _paths(state: ApiState) -> list[str]:
    found = ["/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/"]
    found += ["/version", *_ISSUER, *(each for each in OPERATION if each != VERBOSITY)]
    for endpoint, checks in CHECKS.items():
        found += [f"/{endpoint}", *(f"/{endpoint}/{check}" for check in checks)]
    for group, versions in groups(state.resources).items():
        found += [f"/apis/{group}", *(f"/apis/{group}/{each}" for each in versions)]
    return sorted(found)
