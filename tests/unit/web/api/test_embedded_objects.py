"""Objects embedded in custom objects have the metadata of Kubernetes."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

Json = dict[str, Any]

FRAMES = "/apis/example.org/v1/frames"
TEMPLATE = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "properties": {"spec": {"type": "object"}},
}


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    many = {"type": "object", "additionalProperties": TEMPLATE}
    properties = {"template": TEMPLATE, "many": many, "list": {"type": "array", "items": TEMPLATE}}
    spec = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    schema = {"openAPIV3Schema": spec}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "frames", "kind": "Frame"}
    body = {"group": "example.org", "scope": "Cluster", "names": names, "versions": [version]}
    target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    send(server, target, {"metadata": {"name": "frames.example.org"}, "spec": body})
    server.tick()
    return server


def send(server: ApiServer, target: str, body: Json) -> Json:
    headers = {"content-type": "application/json"}
    answer = server.handle(ApiRequest("POST", target, headers, json.dumps(body).encode()))
    assert isinstance(answer, ApiResponse)
    return dict(json.loads(answer.body))


def frame(**spec: Any) -> Json:
    head = {"apiVersion": "example.org/v1", "kind": "Frame", "metadata": {"name": "f"}}
    return {**head, "spec": spec}


def sub(kind: str = "Sub", **metadata: Any) -> Json:
    return {"apiVersion": "foo/v1", "kind": kind, "metadata": metadata}


def test_unknown_metadata_of_an_embedded_object_are_dropped(server: ApiServer) -> None:
    made = send(server, FRAMES, frame(template=sub(name="x", namespace="n", extra=1)))
    assert made["spec"]["template"]["metadata"] == {"name": "x", "namespace": "n"}


def test_strict_validation_names_unknown_metadata_of_embedded_objects(server: ApiServer) -> None:
    item = frame(template=sub(b=1), list=[sub(a=1)], many={"k": sub(c=1)})
    refused = send(server, f"{FRAMES}?fieldValidation=Strict", item)
    for path in ("spec.template.metadata.b", "spec.list[0].metadata.a", "spec.many[k].metadata.c"):
        assert f'unknown field "{path}"' in refused["message"]


def test_metadata_of_the_wrong_type_are_refused(server: ApiServer) -> None:
    refused = send(server, FRAMES, frame(template=sub(labels=7)))
    assert refused["code"] == 400
    assert "spec.template.metadata: Invalid value: " in refused["message"]


@pytest.mark.parametrize(
    ("item", "field", "text"),
    [
        ({"kind": "Sub"}, "apiVersion", "Required value"),
        ({"apiVersion": "a/b/c", "kind": "Sub"}, "apiVersion", "unexpected GroupVersion string"),
        ({"apiVersion": "", "kind": "Sub"}, "apiVersion", "must not be empty"),
        (sub("no kind"), "kind", "may have mixed case, but should otherwise match: "),
        (sub(name="a/b"), "metadata.name", "may not contain '/'"),
        (sub(labels={"a": "-"}), "metadata.labels", "a valid label must be an empty string"),
    ],
)
def test_invalid_embedded_objects_are_refused(
    server: ApiServer, item: Json, field: str, text: str
) -> None:
    (cause,) = send(server, FRAMES, frame(template=item))["details"]["causes"]
    assert cause["field"] == f"spec.template.{field}"
    assert text in cause["message"]
