"""Owners of the replicas of a workload that is changed through its scale."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

PATH = "/apis/apps/v1/namespaces/default/replicasets"
SPEC = {
    "replicas": 1,
    "selector": {"matchLabels": {"app": "a"}},
    "template": {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    },
}
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    found = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    send(found, "POST", f"{PATH}?fieldManager=maker", {"metadata": {"name": "a"}, "spec": SPEC})
    return found


def send(server: ApiServer, method: str, target: str, body: Any = None, media: str = "") -> Any:
    headers = {"content-type": media or "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, headers, data))
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body)


def scale(server: ApiServer, replicas: Any, query: str, media: str = MERGE) -> Any:
    body = {"spec": {"replicas": replicas}}
    if media == APPLY:
        body |= {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
    return send(server, "PATCH", f"{PATH}/a/scale?{query}", body, media)


def owners(server: ApiServer) -> dict[tuple[str, str], Any]:
    item = send(server, "GET", f"{PATH}/a")[1]
    return {
        (each["manager"], each.get("subresource", "")): each
        for each in item["metadata"].get("managedFields", ())
        if "f:replicas" in each["fieldsV1"].get("f:spec", {})
    }


def test_a_changed_scale_owns_the_replicas_without_a_time(server: ApiServer) -> None:
    scale(server, 3, "fieldManager=scaler")
    found = owners(server)
    assert list(found) == [("scaler", "scale")]
    assert found["scaler", "scale"]["apiVersion"] == "apps/v1"
    assert "time" not in found["scaler", "scale"]


def test_replicas_that_were_removed_have_no_owner_any_more(server: ApiServer) -> None:
    scale(server, None, "fieldManager=scaler")
    scale(server, 2, "fieldManager=scaler")
    assert owners(server) == {}


def test_an_applied_scale_conflicts_with_the_owner_of_the_replicas(server: ApiServer) -> None:
    scale(server, 3, "fieldManager=scaler")
    status, answer = scale(server, 4, "fieldManager=other", APPLY)
    assert status == 409
    assert answer["message"].endswith(
        'conflict with "scaler" with subresource "scale" using autoscaling/v1: .spec.replicas'
    )


def test_a_forced_apply_takes_the_replicas(server: ApiServer) -> None:
    scale(server, 3, "fieldManager=scaler")
    status, answer = scale(server, 4, "fieldManager=other&force=true", APPLY)
    assert (status, answer["spec"]["replicas"]) == (200, 4)
    assert list(owners(server)) == [("other", "scale")]


def test_a_refused_scale_quotes_the_patched_scale(server: ApiServer) -> None:
    status, answer = scale(server, "x", "fieldManager=scaler")
    assert status == 422
    assert answer["message"].endswith("field ScaleSpec.spec.replicas of type int32")
    assert 'patch: Invalid value: "{\\"apiVersion\\":\\"autoscaling/v1\\"' in answer["message"]
