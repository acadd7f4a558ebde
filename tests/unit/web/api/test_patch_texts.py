"""Patched objects in messages: the text of the library of patches, and findings in its order."""

import json
from typing import Any

import pytest

from stretto.api.schema.kubernetes import struct
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.patching.quoting import json_of, written_merge, written_operations
from stretto.web.api.server import ApiServer, ApiSettings

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE, JSON = "application/merge-patch+json", "application/json-patch+json"
MAP = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"b": "1", "a": "2"}}


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    found = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    send(found, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, "application/json")
    return found


def send(server: ApiServer, method: str, target: str, body: Any, media: str) -> Any:
    headers = {"content-type": media, "user-agent": "test/1"}
    answer = server.handle(ApiRequest(method, target, headers, json.dumps(body).encode()))
    assert isinstance(answer, ApiResponse)
    return json.loads(answer.body), answer.headers


def message(server: ApiServer, body: Any, media: str, query: str = "") -> str:
    text: str = send(server, "PATCH", f"{MAPS}/a?{query}", body, media)[0]["message"]
    return text


def test_a_new_value_of_a_merge_patch_is_sorted_and_has_no_nulls() -> None:
    change = {"new": [{"z": 1, "b": None, "a": "<"}]}
    found = json_of(written_merge(MAP, change, struct("core/v1.ConfigMap")))
    assert found.endswith('"kind":"ConfigMap","new":[{"a":"\\u003c","z":1}]}')


def test_a_list_in_place_of_a_map_keeps_its_text() -> None:
    change = {"data": [{"z": 1, "b": None}]}
    found = json_of(written_merge(MAP, change, struct("core/v1.ConfigMap")))
    assert '"data":[{"z":1,"b":null}]' in found


def test_an_operation_sorts_only_the_maps_on_its_path() -> None:
    steps = [{"op": "add", "path": "/metadata/labels", "value": {"z": 1, "a": 2}}]
    item = {**MAP, "metadata": {"uid": "u", "name": "n"}}
    found = json_of(written_operations(item, steps, struct("core/v1.ConfigMap")))
    assert found.endswith('"metadata":{"labels":{"z":1,"a":2},"name":"n","uid":"u"}}')


def test_a_tested_value_is_sorted() -> None:
    steps = [
        {"op": "add", "path": "/x", "value": [{"z": 1, "a": 2}]},
        {"op": "test", "path": "/x/-1", "value": {"a": 2, "z": 1}},
    ]
    assert json_of(written_operations({}, steps, None)) == '{"x":[{"a":2,"z":1}]}'


def test_a_copy_has_the_text_of_its_source_and_its_own_parts() -> None:
    value = {"z": {"y": {"b": 1, "a": 2}}, "c": 3}
    steps = [
        {"op": "add", "path": "/p", "value": value},
        {"op": "add", "path": "/p/z/y/new", "value": 4},
        {"op": "copy", "from": "/p", "path": "/q"},
        {"op": "add", "path": "/q/z/y/only", "value": 5},
    ]
    found = json_of(written_operations({}, steps, None))
    parts = '"c":3,"z":{"y":{"a":2,"b":1,"new":4'
    assert found == '{"p":{' + parts + '}}},"q":{' + parts + ',"only":5}}}}'


def test_unknown_members_are_found_in_the_order_of_the_text(server: ApiServer) -> None:
    found = message(server, {"z": 1, "a": 2}, MERGE, "fieldValidation=Strict")
    assert found.endswith('strict decoding error: unknown field "a", unknown field "z"')


def test_an_object_without_its_version_has_no_known_members(server: ApiServer) -> None:
    steps = [{"op": "remove", "path": "/apiVersion"}]
    found = message(server, steps, JSON, "fieldValidation=Strict")
    assert found.endswith('strict decoding error: unknown field "data", unknown field "metadata"')
    assert message(server, steps, JSON).endswith("was undeterminable: name must be provided")


def test_an_operation_with_a_number_as_path_is_refused_by_strict_decoding(
    server: ApiServer,
) -> None:
    found = message(server, [{"op": "add", "path": 7}], JSON)
    assert found.endswith("number into Go struct field jsonPatchOp.path of type string")


@pytest.mark.parametrize(
    ("body", "query", "end"),
    [
        (None, "", "Invalid JSON Patch"),
        ("x", "fieldValidation=Ignore", "Invalid JSON Patch"),
        ("x", "", "error decoding patch: json: cannot unmarshal string into Go value of type map["),
        ([{"a": None}], "fieldValidation=Ignore", ' "" is invalid: patch: Invalid value: "[{}]": '),
    ],
)
def test_a_merge_patch_of_another_type_is_refused(
    server: ApiServer, body: Any, query: str, end: str
) -> None:
    assert message(server, body, MERGE, query).startswith(end)
