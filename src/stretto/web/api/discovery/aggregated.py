"""Discovery of all groups in two documents: ``APIGroupDiscoveryList``."""

import hashlib
from typing import Any, Final

import msgspec

from stretto.web.api.discovery.groups import groups
from stretto.web.api.discovery.messages import discovery_answer
from stretto.web.api.encoding import JSON, PROTOBUF, YAML
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.negotiation import Accepted, ServedForm, negotiate
from stretto.web.api.resources import ResourceTable, ServedResource

Json = dict[str, Any]

_GROUP: Final = "apidiscovery.k8s.io"
_KIND: Final = "APIGroupDiscoveryList"
_VERSION: Final = "v2"
_FORMS: Final = frozenset({ServedForm(_GROUP, _VERSION, _KIND)})


def aggregated(request: ApiRequest, resources: ResourceTable, *, core: bool) -> ApiResponse | None:
    """Return the aggregated document if the client prefers it; otherwise ``None``."""
    found = negotiate(request.header("accept"), (), _FORMS)
    if found is None or not found.form:
        return None
    return _answer(request, resources, found.media, core=core)


def _answer(
    request: ApiRequest, resources: ResourceTable, media: str, *, core: bool
) -> ApiResponse:
    document = {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/{_VERSION}",
        "metadata": {},
        "items": [_core(resources)] if core else _named(resources),
    }
    tag = hashlib.sha512(msgspec.json.encode(document)).hexdigest().upper()
    headers = {"Cache-Control": "public", "Etag": f'"{tag}"', "Vary": "Accept"}
    if request.header("if-none-match") == f'"{tag}"':
        return ApiResponse(304, b"", "", headers)
    chosen = next((each for each in (YAML, PROTOBUF) if media.startswith(each)), JSON)
    body = discovery_answer(document, Accepted(chosen)).body
    content = f"{chosen};g={_GROUP};v={_VERSION};as={_KIND}"
    return ApiResponse(200, body, content, headers)


def _core(resources: ResourceTable) -> Json:
    return {"metadata": {}, "versions": [_version(resources, "", "v1")]}


def _named(resources: ResourceTable) -> list[Json]:
    return [
        {
            "metadata": {"name": group},
            "versions": [_version(resources, group, version) for version in versions],
        }
        for group, versions in groups(resources).items()
    ]


def _version(resources: ResourceTable, group: str, version: str) -> Json:
    found = [
        _resource(each)
        for each in resources.all()
        if (each.group, each.kind.version) == (group, version)
    ]
    return {"version": version, "resources": found, "freshness": "Current"}


def _resource(each: ServedResource) -> Json:
    facts, kind = each.facts, each.kind
    named = each.definition is not None
    own = {"group": kind.group, "version": kind.version} if named else {"group": "", "version": ""}
    entry: Json = {
        "resource": each.resource,
        "responseKind": {**own, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": facts.singular,
        "verbs": list(facts.verbs),
    }
    if facts.short:
        entry["shortNames"] = list(facts.short)
    if facts.categories:
        entry["categories"] = list(facts.categories)
    subresources = []
    for name, sub in facts.subresources.items():
        group, version, word = sub.kind
        response = {"group": group, "version": version, "kind": word}
        if named and name == "status":
            response = {**own, "kind": kind.kind}
        subresources.append(
            {"subresource": name, "responseKind": response, "verbs": list(sub.verbs)}
        )
    if subresources:
        entry["subresources"] = subresources
    return entry
