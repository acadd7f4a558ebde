"""Responses with OpenAPI documents, which are encoded once until the resources change."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.web.api.discovery.groups import groups
from stretto.web.api.discovery.health import no_page
from stretto.web.api.discovery.openapi.addresses import address_names
from stretto.web.api.discovery.openapi.documents import v2_document, v3_document
from stretto.web.api.discovery.openapi.gnostic import v2, v3
from stretto.web.api.encoding import JSON
from stretto.web.api.message import NO_CACHE, ApiRequest, ApiResponse
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_TEXT: Final = "text/plain; charset=utf-8"


def openapi(state: ApiState, request: ApiRequest, parts: list[str]) -> ApiResponse:
    """Return a document, or the index of the documents of v3.

    Raises:
        PlainError: the page does not exist.
    """
    accepted = request.header("accept")
    served = (JSON, v2.ACCEPTED, v2.MEDIA, v3.ACCEPTED, v3.MEDIA)
    has_slash = request.path.endswith("/")
    if parts[:1] != ["v3"] and (parts != ["v2"] or has_slash):
        raise no_page()
    if has_slash:
        return ApiResponse(404, b"", "", NO_CACHE)
    if parts != ["v3"] and not _accepts(accepted, served):
        return ApiResponse(406, b"", "", {**NO_CACHE, "Vary": _vary(request)})
    if parts == ["v2"]:
        if any(each in accepted for each in (v2.ACCEPTED, v2.MEDIA)):
            return _answer(request, _made(state, "message", _message), v2.MEDIA)
        return _answer(request, _made(state, "v2", v2_document))
    if parts == ["v3"]:
        return ApiResponse(200, _made(state, "v3", _index).body, _TEXT, NO_CACHE)
    name = "/".join(parts[1:])
    if name in _names(state):
        made, stated = _third(state, name), request.parameter("hash")
        if stated and stated != made.tag:
            return _moved(request, name, made)
        if any(each in accepted for each in (v3.ACCEPTED, v3.MEDIA)):
            return _answer(request, _third_message(state, name), v3.MEDIA)
        return _answer(request, made)
    return ApiResponse(404, b"", "", NO_CACHE)


def _accepts(header: str, served: Iterable[str]) -> bool:
    """Return whether a header names a served media type; parameters and qualities do not matter."""
    named = {part.partition(";")[0].strip() for part in (header or "*/*").split(",")}
    kinds = {f"{each.partition('/')[0]}/*" for each in served}
    return not named.isdisjoint(("*/*", *kinds, *served))


@dataclass(frozen=True)
class _Made:
    """An encoded document."""

    #: Its text.
    body: bytes
    #: Its hash.
    tag: str


def _made(state: ApiState, key: str, make: Callable[[ApiState], Json | bytes]) -> _Made:
    """Return a document, encoded once until the resources change."""

    def encode() -> _Made:
        found = make(state)
        body = found if isinstance(found, bytes) else msgspec.json.encode(found)
        return _Made(body, hashlib.sha512(body).hexdigest().upper())

    made = state.resources.derived(f"openapi/{key}", encode)
    assert isinstance(made, _Made)
    return made


def _third(state: ApiState, name: str) -> _Made:
    return _made(state, f"v3/{name}", lambda state: v3_document(state, name))


def _third_message(state: ApiState, name: str) -> _Made:
    """Return a document of version 3 as a message, with the hash of the document."""
    made = _third(state, name)

    def encode() -> _Made:
        return _Made(v3.document(made.body), made.tag)

    found = state.resources.derived(f"openapi/message/{name}", encode)
    assert isinstance(found, _Made)
    return found


def _index(state: ApiState) -> Json:
    """Return the index of v3."""
    links = {name: f"/openapi/v3/{name}?hash={_third(state, name).tag}" for name in _names(state)}
    return {"paths": {name: {"serverRelativeURL": link} for name, link in links.items()}}


def _message(state: ApiState) -> bytes:
    return v2.document(v2_document(state))


def _names(state: ApiState) -> list[str]:
    found = ["api/v1", *address_names(state.resources)]
    for group, versions in groups(state.resources).items():
        found += [f"apis/{group}/{version}" for version in versions]
    return sorted(found)


def _moved(request: ApiRequest, name: str, made: _Made) -> ApiResponse:
    """Return the response to a link with the hash of an older document."""
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
