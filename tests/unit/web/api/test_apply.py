"""Server-side apply over the API: ownership, conflicts, removal of fields."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

PATH = "/api/v1/namespaces/default/configmaps/a"


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    return ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))


def apply(server: ApiServer, manager: str, data: dict[str, str], query: str = "") -> Any:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    headers = {"content-type": "application/apply-patch+yaml"}
    target = f"{PATH}?fieldManager={manager}{query}"
    answer = server.handle(ApiRequest("PATCH", target, headers, json.dumps(config).encode()))
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body)


def test_an_apply_creates_an_object_whose_fields_the_manager_owns(server: ApiServer) -> None:
    status, item = apply(server, "one", {"x": "1"})
    entry = item["metadata"]["managedFields"][0]
    assert status == 201
    assert entry["operation"] == "Apply"
    assert entry["fieldsV1"] == {"f:data": {"f:x": {}}}


def test_applied_fields_are_in_the_order_of_go(server: ApiServer) -> None:
    _, item = apply(server, "one", {"z": "1", "a": "2"})
    assert list(item["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]) == ["f:a", "f:z"]


@pytest.mark.parametrize("media", ["merge-patch+json", "apply-patch+yaml"])
def test_an_object_of_a_store_whose_managers_are_malformed_can_be_changed(media: str) -> None:
    clock = ManualClock(1_790_000_000.0)
    store = MemoryStore(clock, Rng(1))
    config: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    malformed = {"name": "a", "namespace": "default", "managedFields": [{"manager": "m"}]}
    store.create(CONFIG_MAP, [json.dumps({**config, "metadata": malformed}).encode()])
    headers = {"content-type": f"application/{media}"}
    request = ApiRequest("PATCH", f"{PATH}?fieldManager=m", headers, json.dumps(config).encode())
    answer = ApiServer(store, ApiSettings(clock, Rng(2))).handle(request)
    assert isinstance(answer, ApiResponse)
    assert answer.status == 200


def test_a_field_of_another_manager_conflicts(server: ApiServer) -> None:
    apply(server, "one", {"x": "1"})
    status, answer = apply(server, "two", {"x": "2"})
    assert status == 409
    assert answer["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.x'


def test_force_takes_a_field_from_its_manager(server: ApiServer) -> None:
    apply(server, "one", {"x": "1"})
    status, item = apply(server, "two", {"x": "2"}, "&force=true")
    managers = [each["manager"] for each in item["metadata"]["managedFields"]]
    assert (status, item["data"], managers) == (200, {"x": "2"}, ["two"])


@pytest.mark.parametrize(
    ("force", "status"), [("true", 200), ("", 200), ("yes", 200), ("False", 409), ("0", 409)]
)
def test_every_value_but_false_forces(server: ApiServer, force: str, status: int) -> None:
    apply(server, "one", {"x": "1"})
    assert apply(server, "two", {"x": "2"}, f"&force={force}")[0] == status


def test_equal_values_are_owned_by_both_managers(server: ApiServer) -> None:
    apply(server, "one", {"x": "1"})
    _, item = apply(server, "two", {"x": "1"})
    assert {each["manager"] for each in item["metadata"]["managedFields"]} == {"one", "two"}


def test_an_apply_that_changes_no_value_has_no_time(server: ApiServer) -> None:
    apply(server, "one", {"x": "1"})
    _, item = apply(server, "two", {"x": "1"})
    times = {each["manager"]: "time" in each for each in item["metadata"]["managedFields"]}
    assert times == {"one": True, "two": False}


def test_a_field_that_is_applied_no_more_is_removed(server: ApiServer) -> None:
    apply(server, "one", {"x": "1", "y": "2"})
    _, item = apply(server, "one", {"y": "2"})
    assert item["data"] == {"y": "2"}


def edited(server: ApiServer, fields: Any) -> Any:
    """The owners of an applied object after an edit of ``managedFields``."""
    apply(server, "one", {"x": "1"})
    entry = {"manager": "z", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    body = json.dumps({"metadata": {"managedFields": [{**entry, "fieldsV1": fields}]}}).encode()
    headers = {"content-type": "application/merge-patch+json"}
    answer = server.handle(ApiRequest("PATCH", PATH, headers, body))
    assert isinstance(answer, ApiResponse)
    metadata = json.loads(answer.body)["metadata"]
    return [each["manager"] for each in metadata.get("managedFields", ())]


@pytest.mark.parametrize(
    "fields",
    [{"x": {}}, {"f:data": 1}, *({"f:data": {each: {}}} for each in ("k:x", "k:[]", "i:x", "v:x"))],
)
def test_malformed_fields_of_an_edit_do_not_replace_the_owners(
    server: ApiServer, fields: Any
) -> None:
    assert edited(server, fields) == ["one"]


def test_path_elements_of_unknown_types_are_ignored(server: ApiServer) -> None:
    assert edited(server, {"q:x": {}}) == []
