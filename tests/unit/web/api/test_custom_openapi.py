"""Custom kinds in OpenAPI documents: what kubectl explains and validates."""

from typing import Any

import pytest

from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Send

Json = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NESTED: Json = {
    "type": "object",
    "required": ["free", "size"],
    "properties": {
        "size": {"anyOf": [{"minimum": 3}, {"maximum": 1}], "type": "integer"},
        "free": {"type": "string", "nullable": True},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "nullable": True, "items": {"type": "string"}},
        "inner": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"data": {"type": "string"}},
        },
    },
}


def published(server: ApiServer, send: Send, schema: Json, **more: Any) -> tuple[Json, Json]:
    """The definitions of version 2 and of version 3."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version |= more
    spec = {
        "group": "x.example",
        "scope": "Namespaced",
        "names": {"plural": "carts", "singular": "cart", "kind": "Cart"},
        "versions": [version],
    }
    made = send("POST", DEFINITIONS, {"metadata": {"name": "carts.x.example"}, "spec": spec})
    assert made.status == 201, made.message
    server.tick()
    second = send("GET", "/openapi/v2").item["definitions"]
    third = send("GET", "/openapi/v3/apis/x.example/v1").item["components"]["schemas"]
    return second, third


@pytest.fixture
def documents(server: ApiServer, send: Send) -> tuple[Json, Json]:
    schema = {"type": "object", "description": "A cart.", "properties": {"spec": NESTED}}
    return published(server, send, schema)


def test_every_kind_states_version_kind_and_metadata_with_a_description(
    documents: tuple[Json, Json],
) -> None:
    for document in documents:
        cart = document["example.x.v1.Cart"]
        assert cart["description"] == "A cart."
        for name in ("apiVersion", "kind", "metadata"):
            assert cart["properties"][name]["description"]


def test_lists_have_a_schema_of_their_own(documents: tuple[Json, Json]) -> None:
    for document in documents:
        carts = document["example.x.v1.CartList"]
        assert carts["required"] == ["items"]
        assert carts["properties"]["items"]["items"]["$ref"].endswith("example.x.v1.Cart")


def test_version_2_omits_what_it_cannot_contain(documents: tuple[Json, Json]) -> None:
    spec = documents[0]["example.x.v1.Cart"]["properties"]["spec"]
    assert spec["required"] == ["size"]
    assert spec["properties"]["size"] == {"type": "integer"}
    assert spec["properties"]["free"] == {}
    assert spec["properties"]["list"] == {}
    assert spec["properties"]["any"] == {"x-kubernetes-preserve-unknown-fields": True}


def test_version_3_contains_all_of_it(documents: tuple[Json, Json]) -> None:
    spec = documents[1]["example.x.v1.Cart"]["properties"]["spec"]
    assert spec["required"] == NESTED["required"]
    assert spec["properties"]["list"] == NESTED["properties"]["list"]


def test_embedded_objects_require_version_and_kind(documents: tuple[Json, Json]) -> None:
    for document in documents:
        inner = document["example.x.v1.Cart"]["properties"]["spec"]["properties"]["inner"]
        assert inner["required"] == ["kind", "apiVersion"]
        assert set(inner["properties"]) == {"apiVersion", "data", "kind", "metadata"}


def test_a_kind_with_unknown_fields_states_no_field_in_version_2(
    server: ApiServer, send: Send
) -> None:
    second, third = published(
        server, send, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    )
    assert "properties" not in second["example.x.v1.Cart"]
    assert "metadata" in third["example.x.v1.Cart"]["properties"]


def test_objects_and_lists_state_the_fields_of_field_selectors(
    server: ApiServer, send: Send
) -> None:
    schema = {"type": "object", "properties": {"color": {"type": "string"}}}
    fields = [{"jsonPath": ".color"}]
    for document in published(server, send, schema, selectableFields=fields):
        for name in ("Cart", "CartList"):
            stated = document[f"example.x.v1.{name}"]["x-kubernetes-selectable-fields"]
            assert stated == [{"fieldPath": "color"}]
