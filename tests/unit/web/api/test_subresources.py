"""Subresources: what a write of one may change, and who owns what it names."""

import base64
import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
POD = {
    "metadata": {"name": "a", "labels": {"app": "web"}},
    "spec": {
        "nodeName": "n",
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}
        ],
    },
}


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    found = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    send(found, "POST", PODS, POD)
    return found


def send(server: ApiServer, method: str, target: str, body: Any = None, media: str = "") -> Any:
    headers = {"content-type": media or "application/json", "user-agent": "t/1"}
    return answered(server, ApiRequest(method, target, headers, encoded(body)))


def as_table(server: ApiServer, method: str, target: str, body: Any = None) -> Any:
    headers = {"content-type": "application/json", "accept": TABLE}
    return answered(server, ApiRequest(method, target, headers, encoded(body)))


def encoded(body: Any) -> bytes:
    return b"" if body is None else json.dumps(body).encode()


def answered(server: ApiServer, request: ApiRequest) -> Any:
    answer = server.handle(request)
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body) if answer.body else None


def signing_request(server: ApiServer) -> Any:
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n"
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": "example.org/s",
        "usages": ["client auth"],
        "username": "forged",
    }
    return send(server, "POST", REQUESTS, {"metadata": {"name": "r"}, "spec": spec})[1]


def owned(item: Any, subresource: str) -> Any:
    entries = item["metadata"]["managedFields"]
    return next(each["fieldsV1"] for each in entries if each.get("subresource") == subresource)


def resize(server: ApiServer, patch: Any) -> Any:
    return send(server, "PATCH", f"{PODS}/a/resize", patch, STRATEGIC)


def test_a_resize_changes_amounts_alone_and_owns_all_that_it_names(server: ApiServer) -> None:
    patch = {"spec": {"containers": [{"name": "c", "image": "other"}]}}
    _, item = resize(server, {**patch, "metadata": {"labels": {"x": "y"}}})
    assert item["spec"]["containers"][0]["image"] == "i"
    assert "x" not in item["metadata"]["labels"]
    assert owned(item, "resize") == {
        "f:metadata": {"f:labels": {"f:x": {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}},
    }


def test_a_resize_of_the_policy_is_refused(server: ApiServer) -> None:
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    patch = {"spec": {"containers": [{"name": "c", "resizePolicy": policy}]}}
    status, answer = resize(server, patch)
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec")


def test_an_evicted_pod_states_why_it_ends(server: ApiServer) -> None:
    assert send(server, "POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})[0] == 201
    _, item = send(server, "GET", f"{PODS}/a")
    condition = item["status"]["conditions"][-1]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "EvictionByEvictionAPI")


def test_an_eviction_is_not_answered_as_a_table(server: ApiServer) -> None:
    body = {"metadata": {"name": "a"}}
    assert as_table(server, "POST", f"{PODS}/a/eviction", body)[0] == 406


def test_the_last_disruption_of_a_budget_is_stated_by_the_server(server: ApiServer) -> None:
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": "web"}}}
    send(server, "POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    state = {"disruptionsAllowed": 1, "currentHealthy": 1, "observedGeneration": 1}
    send(server, "PATCH", f"{BUDGETS}/b/status", {"status": state}, MERGE)
    send(server, "PATCH", f"{PODS}/a/status", {"status": {"phase": "Running"}}, MERGE)
    ready = [{"type": "Ready", "status": "True"}]
    send(server, "PATCH", f"{PODS}/a/status", {"status": {"conditions": ready}}, MERGE)
    send(server, "POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})
    _, budget = send(server, "GET", f"{BUDGETS}/b")
    assert budget["status"]["conditions"][0]["reason"] == "InsufficientPods"
    assert budget["metadata"]["managedFields"][0]["manager"] == "kube-apiserver"


def test_the_status_of_a_claim_keeps_the_metadata(server: ApiServer) -> None:
    send(server, "POST", CLAIMS, {"metadata": {"name": "a"}, "spec": {}})
    patch = {"metadata": {"labels": {"x": "y"}}, "status": {}}
    _, item = send(server, "PATCH", f"{CLAIMS}/a/status", patch, MERGE)
    assert "labels" not in item["metadata"]


def test_the_status_of_a_claim_is_not_served_as_a_table(server: ApiServer) -> None:
    send(server, "POST", CLAIMS, {"metadata": {"name": "a"}, "spec": {}})
    assert as_table(server, "GET", f"{CLAIMS}/a/status")[0] == 406


def test_a_status_without_a_version_is_refused_where_updates_need_one(server: ApiServer) -> None:
    _, item = send(server, "POST", BUDGETS, {"metadata": {"name": "b"}, "spec": {}})
    del item["metadata"]["resourceVersion"]
    status, answer = send(server, "PUT", f"{BUDGETS}/b/status", item)
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def test_a_volume_states_when_its_phase_changed(server: ApiServer) -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
    }
    send(server, "POST", "/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": spec})
    target, patch = "/api/v1/persistentvolumes/v/status", {"status": {"phase": "Bound"}}
    _, item = send(server, "PATCH", target, patch, MERGE)
    assert item["status"]["lastPhaseTransitionTime"]


def test_a_namespace_without_finalizers_is_marked_before_it_goes(server: ApiServer) -> None:
    send(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    item = {"metadata": {"name": "n"}, "spec": {}}
    send(server, "PUT", "/api/v1/namespaces/n/finalize", item)
    _, marked = send(server, "DELETE", "/api/v1/namespaces/n")
    assert marked["status"]["phase"] == "Terminating"
    send(server, "DELETE", "/api/v1/namespaces/n")
    assert send(server, "GET", "/api/v1/namespaces/n")[0] == 404


@pytest.mark.parametrize(
    ("pod", "query", "status"),
    [
        ("b", "", 204),
        ("b", "?tailLines=-1", 422),
        ("b", "?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422),
        ("b", "?container=x", 400),
        ("a", "", 404),
    ],
)
def test_logs_need_a_container_and_a_node(
    server: ApiServer, pod: str, query: str, status: int
) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    send(server, "POST", PODS, {"metadata": {"name": "b"}, "spec": spec})
    assert send(server, "GET", f"{PODS}/{pod}/log{query}")[0] == status


def test_a_proxy_names_a_port_beside_its_service(server: ApiServer) -> None:
    target = "/api/v1/namespaces/default/services/https:none:80/proxy/"
    assert send(server, "GET", target)[1]["message"] == 'services "none" not found'


def test_a_signing_request_states_its_user_and_stays_as_it_was(server: ApiServer) -> None:
    item = signing_request(server)
    patch = {"spec": {"usages": ["server auth"]}}
    _, after = send(server, "PATCH", f"{REQUESTS}/r", patch, MERGE)
    assert item["spec"]["username"] != "forged"
    assert "managedFields" not in item["metadata"]
    assert after == item


def test_a_signing_request_without_an_end_is_refused(server: ApiServer) -> None:
    request = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nAA==\n").decode()
    spec = {"request": request, "signerName": "example.org/s", "usages": ["client auth"]}
    status, answer = send(server, "POST", REQUESTS, {"metadata": {"name": "r"}, "spec": spec})
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec.request")


def test_a_condition_of_an_approval_gets_its_times(server: ApiServer) -> None:
    signing_request(server)
    condition = {"type": "Approved", "status": "True", "reason": "x", "message": "y"}
    patch = {"status": {"conditions": [condition]}}
    _, item = send(server, "PATCH", f"{REQUESTS}/r/approval", patch, MERGE)
    assert item["status"]["conditions"][0]["lastUpdateTime"]
