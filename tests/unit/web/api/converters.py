"""A server whose definition has a converter: a function that renames fields, or answers badly."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from stretto.stores.webhooks import WebhookAnswer, WebhookCall
from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer
from stretto.web.api.webhooks.reviews import PendingReviews, PendingReviewsError
from tests.unit.web.api.conftest import Reply

Json = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WORD = {"type": "string"}
_NUMBER = {"type": "integer"}
_VOLATILE = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r'"resourceVersion": ?"\d+"', '"resourceVersion": "RV"'),
)

Spoil = Callable[[Json, list[Json]], None]
"""Changes the response of a converter and its objects."""


def converted(item: Json, api_version: str) -> Json:
    """An object in another version: with ``hostPort``, or with ``host`` and ``port``."""
    spec, status = dict(item.get("spec") or {}), dict(item.get("status") or {})
    if api_version.endswith("/v1"):
        host, colon, port = str(spec.pop("hostPort", "")).partition(":")
        spec |= {"host": host} if host else {}
        spec |= {"port": port} if colon else {}
        _rename(spec, "size", "replicas")
        _rename(status, "text", "message")
    else:
        host, port = spec.pop("host", ""), spec.pop("port", "")
        spec |= {"hostPort": f"{host}:{port}" if port else host} if host or port else {}
        _rename(spec, "replicas", "size")
        _rename(status, "message", "text")
    parts = {"spec": spec, "status": status}
    kept = {key: part for key, part in parts.items() if part or key in item}
    return {**item, "apiVersion": api_version, **kept}


def _rename(values: Json, old: str, new: str) -> None:
    if old in values:
        values[new] = values.pop(old)


def answered(call: WebhookCall, spoil: Spoil) -> WebhookAnswer:
    """The answer of the converter to a review."""
    review = json.loads(call.body)
    request = review["request"]
    found = [converted(each, request["desiredAPIVersion"]) for each in request["objects"]]
    response: Json = {"uid": request["uid"], "convertedObjects": found}
    response["result"] = {"status": "Success"}
    kept = {key: review[key] for key in ("kind", "apiVersion")}
    answer = {**kept, "response": response}
    spoil(answer, found)
    return WebhookAnswer(json.dumps(answer).encode())


class Converting:
    """A server with one kind in two versions, and the reviews that its converter gets."""

    def __init__(self, server: ApiServer, group: str, *, defaults: bool = False) -> None:
        self.server = server
        self.new, self.old = (
            f"/apis/{group}/{version}/namespaces/default/gates" for version in ("v1", "v1beta1")
        )
        self.group = group
        self.reviews: list[Json] = []
        self.spoil: Spoil = lambda _answer, _items: None
        body = {"metadata": {"name": f"gates.{group}"}, "spec": definition(group, defaults)}
        assert self.send("POST", DEFINITIONS, body).status == 201
        server.tick()

    def send(self, method: str, path: str, body: Any = None, media: str = "json") -> Reply:
        """Send a request; the converter answers where it is needed."""
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": f"application/{media}"}
        request = ApiRequest(method, path, headers, data)
        answer = self.server.attempt(request)
        while isinstance(answer, PendingReviews):
            request.memory.take(answer.calls, [self.review(each.call) for each in answer.calls])
            answer = self.server.attempt(request)
        assert isinstance(answer, ApiResponse)
        return Reply(answer.status, json.loads(answer.body), [])

    def watch(self, path: str) -> Iterator[Json | None]:
        """The events of a watch; ``None`` where there is none yet."""
        request = ApiRequest("GET", f"{path}{'&' if '?' in path else '?'}watch=1")
        stream = self.server.attempt(request)
        assert isinstance(stream, ApiStream)
        return self._events(stream, request)

    def _events(self, stream: ApiStream, request: ApiRequest) -> Iterator[Json | None]:
        while True:
            try:
                chunks = stream.poll()
            except PendingReviewsError as pending:
                answers = [self.review(each.call) for each in pending.calls]
                request.memory.take(pending.calls, answers)
                continue
            if chunks is None:
                return
            yield from [json.loads(each) for each in chunks] or [None]

    def review(self, call: WebhookCall) -> WebhookAnswer:
        """Convert the objects of a review."""
        self.reviews.append(json.loads(call.body)["request"])
        return answered(call, self.spoil)

    def gate(self, version: str, name: str = "a", **spec: Any) -> Json:
        """An object."""
        head = {"apiVersion": f"{self.group}/{version}", "kind": "Gate"}
        return {**head, "metadata": {"name": name}, "spec": spec}


def definition(group: str, defaults: bool) -> Json:
    """The ``spec`` of the definition, with or without fields that only one version knows."""
    new = {"host": _WORD, "port": _WORD, "color": _WORD, "replicas": _NUMBER}
    old = {"hostPort": _WORD, "color": _WORD, "size": _NUMBER}
    if defaults:
        new["kind2"] = {**_WORD, "default": "new"}
        old["oldish"] = {**_WORD, "default": "old"}
    hook = {
        "clientConfig": {"url": "https://hooks.test/convert"},
        "conversionReviewVersions": ["v1"],
    }
    return {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "gates", "kind": "Gate"},
        "versions": [
            _version("v1", new, {"message": _WORD, "replicas": _NUMBER}, "replicas", "host"),
            _version("v1beta1", old, {"text": _WORD, "replicas": _NUMBER}, "size", "hostPort"),
        ],
        "conversion": {"strategy": "Webhook", "webhook": hook},
    }


def _version(name: str, spec: Json, status: Json, *fields: str) -> Json:
    replicas, selectable = fields
    paths = {"specReplicasPath": f".spec.{replicas}", "statusReplicasPath": ".status.replicas"}
    parts = {
        key: {"type": "object", "properties": each}
        for key, each in (("spec", spec), ("status", status))
    }
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": parts}},
        "subresources": {"status": {}, "scale": paths},
        "selectableFields": [{"jsonPath": f".spec.{each}"} for each in (selectable, "color")],
    }


def normal(value: Any) -> Any:
    """A value without what differs between runs: identities, times and versions."""
    text = json.dumps(value, sort_keys=True)
    for pattern, word in _VOLATILE:
        text = re.sub(pattern, word, text)
    return _ordered(json.loads(text))


def _ordered(value: Any) -> Any:
    """A value whose managers are in the order of their text: equal times have no other order."""
    if isinstance(value, list):
        return [_ordered(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _ordered(each) for key, each in value.items()}
    if "managedFields" in found:
        found["managedFields"] = sorted(found["managedFields"], key=json.dumps)
    return found
