"""Objects over the API: creation, reading, changes, conflicts, deletion."""

import json
from pathlib import Path
from typing import Any

import pytest

from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    return ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))


def send(server: ApiServer, method: str, target: str, body: Any = None, media: str = "") -> Any:
    headers = {"content-type": media or "application/json", "user-agent": "test/1"}
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, headers, data))
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body)


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def test_a_created_object_has_identity_version_and_owners_of_fields(server: ApiServer) -> None:
    status, item = send(server, "POST", MAPS, config_map(x="1"))
    metadata = item["metadata"]
    assert status == 201
    assert metadata["uid"]
    assert metadata["resourceVersion"]
    assert metadata["managedFields"][0]["fieldsV1"] == {"f:data": {".": {}, "f:x": {}}}


def test_the_creator_of_a_signing_request_owns_its_labels_alone(server: ApiServer) -> None:
    exchanges = Path(__file__).with_name("exchanges.jsonl").read_text().splitlines()
    known = next(each for each in map(json.loads, exchanges) if each["name"] == "a request")
    _, path, _, body = known["request"]
    _, item = send(server, "POST", path, {**body, "metadata": {"name": "b", "labels": {"x": "1"}}})
    owned = item["metadata"]["managedFields"][0]["fieldsV1"]
    assert owned == {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}}


def test_a_second_object_of_the_same_name_is_refused(server: ApiServer) -> None:
    send(server, "POST", MAPS, config_map())
    status, answer = send(server, "POST", MAPS, config_map())
    assert (status, answer["message"]) == (409, 'configmaps "a" already exists')


def test_an_update_of_an_old_version_conflicts(server: ApiServer) -> None:
    _, item = send(server, "POST", MAPS, config_map(x="1"))
    send(server, "PUT", f"{MAPS}/a", {**item, "data": {"x": "2"}})
    status, _ = send(server, "PUT", f"{MAPS}/a", {**item, "data": {"x": "3"}})
    assert status == 409


def test_an_update_without_a_change_keeps_the_version(server: ApiServer) -> None:
    _, item = send(server, "POST", MAPS, config_map(x="1"))
    _, again = send(server, "PUT", f"{MAPS}/a", item)
    assert again["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]


def test_a_dry_run_stores_nothing(server: ApiServer) -> None:
    status, _ = send(server, "POST", f"{MAPS}?dryRun=All", config_map())
    assert status == 201
    assert send(server, "GET", f"{MAPS}/a")[0] == 404


def test_an_object_with_finalizers_is_marked_until_they_are_removed(server: ApiServer) -> None:
    item = config_map()
    item["metadata"]["finalizers"] = ["example.com/keep"]
    send(server, "POST", MAPS, item)
    _, marked = send(server, "DELETE", f"{MAPS}/a")
    assert marked["metadata"]["deletionTimestamp"]
    patch = {"metadata": {"finalizers": None}}
    send(server, "PATCH", f"{MAPS}/a", patch, "application/merge-patch+json")
    assert send(server, "GET", f"{MAPS}/a")[0] == 404


def test_an_unknown_field_is_a_warning_or_an_error(server: ApiServer) -> None:
    item = {**config_map(), "extra": 1}
    status, answer = send(server, "POST", f"{MAPS}?fieldValidation=Strict", item)
    assert status == 400
    assert 'unknown field "extra"' in answer["message"]
    assert send(server, "POST", MAPS, item)[0] == 201


def test_a_pod_gets_the_defaults_of_kubernetes(server: ApiServer) -> None:
    spec = {"containers": [{"name": "c", "image": "nginx"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    _, item = send(server, "POST", PODS, pod)
    assert item["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert item["spec"]["priority"] == 0
    assert item["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_pages_of_a_list_show_one_state(server: ApiServer) -> None:
    for name in "abc":
        send(server, "POST", MAPS, {**config_map(), "metadata": {"name": name}})
    _, first = send(server, "GET", f"{MAPS}?limit=2")
    send(server, "DELETE", f"{MAPS}/c")
    _, second = send(server, "GET", f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    assert [each["metadata"]["name"] for each in second["items"]] == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_strict_decoding_names_repeated_and_unknown_members_in_their_order(
    server: ApiServer,
) -> None:
    body = (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","x":1},"data":{},"data":{}}'
    )
    target = "/api/v1/namespaces/default/configmaps?fieldValidation=Strict"
    answer = server.handle(ApiRequest("POST", target, {"content-type": "application/json"}, body))
    assert isinstance(answer, ApiResponse)
    problems = json.loads(answer.body)["message"].partition("strict decoding error: ")[2]
    assert problems == 'unknown field "metadata.x", duplicate field "data"'


@pytest.mark.parametrize(
    ("plural", "group", "fields"),
    [
        ("storageclasses", "storage.k8s.io", {"provisioner": "x.example"}),
        ("ingressclasses", "networking.k8s.io", {"spec": {"controller": "x.example/y"}}),
    ],
)
def test_a_default_class_is_marked_in_tables(
    server: ApiServer, plural: str, group: str, fields: dict[str, Any]
) -> None:
    target = f"/apis/{group}/v1/{plural}"
    notes = {f"{plural.removesuffix('es')}.kubernetes.io/is-default-class": "true"}
    item = {"metadata": {"name": "fast", "annotations": notes}, **fields}
    headers = {"content-type": "application/json"}
    accepted = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    server.handle(ApiRequest("POST", target, headers, json.dumps(item).encode()))
    table = server.handle(ApiRequest("GET", target, accepted))
    assert isinstance(table, ApiResponse)
    assert json.loads(table.body)["rows"][0]["cells"][0] == "fast (default)"


def test_an_event_ends_an_hour_after_its_last_change() -> None:
    clock = ManualClock(1_790_000_000.0)
    server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    events = "/api/v1/namespaces/default/events"
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    for name, last in (("old", 1_790_000_000.0), ("repeated", 1_790_003_000.0)):
        item = {"metadata": {"name": name}, "involvedObject": about}
        send(server, "POST", events, {**item, "lastTimestamp": timestamp(int(last))})
    clock.advance(3700.0)
    server.tick()
    names = [each["metadata"]["name"] for each in send(server, "GET", events)[1]["items"]]
    assert names == ["repeated"]


def test_the_creator_of_an_empty_list_that_go_encodes_owns_it(server: ApiServer) -> None:
    role = {"metadata": {"name": "none"}, "rules": []}
    _, item = send(server, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    assert item["rules"] is None
    assert item["metadata"]["managedFields"][0]["fieldsV1"] == {"f:rules": {}}


def test_the_selector_of_a_job_has_its_uid_if_a_quota_counts_jobs(server: ApiServer) -> None:
    space, hard = "namespaces/default", {"count/jobs.batch": "5"}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard}}
    send(server, "POST", f"/api/v1/{space}/resourcequotas", quota)
    status = {**quota, "status": {"hard": hard, "used": {"count/jobs.batch": "0"}}}
    send(server, "PUT", f"/api/v1/{space}/resourcequotas/q/status", status)
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    body = {"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}}
    _, item = send(server, "POST", f"/apis/batch/v1/{space}/jobs", body)
    selected = item["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"]
    assert selected == item["metadata"]["uid"]
