"""An update keeps values that a changed schema refuses, unless it changes them."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

Json = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOXES = "/apis/example.org/v1/boxes"
HEAD: Json = {"apiVersion": "example.org/v1", "kind": "Box"}
STORED: Json = {
    "plain": ["foo", "bar"],
    "set": ["foo", "bar"],
    "keyed": [{"key": "a", "word": "foo"}, {"key": "b", "word": "bar"}],
    "map": {"a": "foo"},
    "word": "foo",
}


def schema(word: Json) -> Json:
    item = {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}}
    item["properties"]["word"] = word
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]}
    spec = {
        "plain": {"type": "array", "items": word},
        "set": {"type": "array", "items": word, "x-kubernetes-list-type": "set"},
        "keyed": {"type": "array", "items": item, **keyed},
        "map": {"type": "object", "additionalProperties": word},
        "word": word,
    }
    spec["other"] = {"type": "string"}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}


def define(server: ApiServer, word: Json) -> None:
    """Create the definition, or change its schema."""
    versions = [{"name": "v1", "served": True, "storage": True}]
    versions[0]["schema"] = {"openAPIV3Schema": schema(word)}
    names = {"plural": "boxes", "kind": "Box"}
    spec = {"group": "example.org", "scope": "Cluster", "names": names, "versions": versions}
    body = {"metadata": {"name": "boxes.example.org"}, "spec": spec}
    if send(server, "POST", DEFINITIONS, body).get("code") == 409:
        send(server, "PATCH", f"{DEFINITIONS}/boxes.example.org", {"spec": spec})
    server.tick()


def send(server: ApiServer, method: str, target: str, body: Json) -> Json:
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    request = ApiRequest(method, target, {"content-type": media}, json.dumps(body).encode())
    answer = server.handle(request)
    assert isinstance(answer, ApiResponse)
    return dict(json.loads(answer.body))


@pytest.fixture
def server() -> ApiServer:
    """A server with an object whose words a changed schema refuses."""
    clock = ManualClock(1_790_000_000.0)
    server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    define(server, {"type": "string"})
    box = {**HEAD, "metadata": {"name": "b"}}
    assert "uid" in send(server, "POST", BOXES, {**box, "spec": STORED})["metadata"]
    define(server, {"type": "string", "enum": ["new"]})
    return server


def refused(server: ApiServer, **spec: Any) -> list[str]:
    """The fields for which a change of the object is refused."""
    found = send(server, "PATCH", f"{BOXES}/b", {"spec": spec})
    return [each["field"] for each in (found.get("details") or {}).get("causes") or ()]


@pytest.mark.parametrize(
    "spec",
    [
        {"other": "x"},
        {"word": "new"},
        {"keyed": list(reversed(STORED["keyed"]))},
        {"keyed": [*STORED["keyed"], {"key": "c", "word": "new"}]},
        {"map": {"b": "new"}},
    ],
)
def test_unchanged_values_stay(server: ApiServer, spec: Json) -> None:
    assert refused(server, **spec) == []


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"word": "bar"}, ["spec.word"]),
        ({"plain": ["foo", "new"]}, ["spec.plain[0]"]),
        ({"set": ["foo", "new"]}, ["spec.set[0]"]),
        ({"map": {"b": "bar"}}, ["spec.map.b"]),
        ({"keyed": [{"key": "c", "word": "foo"}]}, ["spec.keyed[0].word"]),
    ],
)
def test_changed_and_uncorrelated_values_are_refused(
    server: ApiServer, spec: Json, fields: list[str]
) -> None:
    assert refused(server, **spec) == fields


RULE = {"x-kubernetes-validations": [{"rule": "self == 'new'"}]}


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"other": "x"}, ["spec.plain[0]", "spec.plain[1]", "spec.set[0]", "spec.set[1]"]),
        ({"plain": None, "set": None, "other": "x"}, []),
        ({"plain": None, "set": None, "word": "bar"}, ["spec.word"]),
    ],
)
def test_rules_hold_for_changed_values(server: ApiServer, spec: Json, fields: list[str]) -> None:
    define(server, {"type": "string", **RULE})
    assert refused(server, **spec) == fields


@pytest.mark.parametrize("number", [1, 1.0])
def test_a_number_is_not_the_former_boolean(server: ApiServer, number: float) -> None:
    define(server, {"type": "boolean"})
    send(server, "POST", BOXES, {**HEAD, "metadata": {"name": "a"}, "spec": {"word": True}})
    answer = send(server, "PATCH", f"{BOXES}/a", {"spec": {"word": number}})
    assert "must be of type boolean" in answer["message"]


def test_a_boolean_of_any_type_becomes_a_number(server: ApiServer) -> None:
    define(server, {"x-kubernetes-preserve-unknown-fields": True})
    send(server, "POST", BOXES, {**HEAD, "metadata": {"name": "a"}, "spec": {"word": True}})
    answer = send(server, "PATCH", f"{BOXES}/a", {"spec": {"word": 1}})
    assert (answer["spec"], answer["metadata"]["generation"]) == ({"word": 1}, 2)
