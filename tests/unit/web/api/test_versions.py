"""Objects that two versions share, and what the server states or warns of beside them."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PODS = "/api/v1/namespaces/default/pods"
SCALERS = "namespaces/default/horizontalpodautoscalers"
SERIES = {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}
NEW_EVENT = {
    "metadata": {"name": "a"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "example.org/c",
    "reportingInstance": "i",
    "action": "Act",
    "reason": "R",
    "type": "Normal",
    "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
}
POD_NAME = {"kind": "Pod", "namespace": "default", "name": "p"}


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    settings = ApiSettings(clock, Rng(2))
    return ApiServer(MemoryStore(clock, Rng(1)), settings)


def send(server: ApiServer, method: str, target: str, body: Any = None) -> Any:
    headers = {"content-type": "application/json", "user-agent": "t/1"}
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, headers, data))
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body), answer.headers.get("Warning")


def test_an_event_of_the_core_group_is_an_event_of_the_newer_group(server: ApiServer) -> None:
    event = {"metadata": {"name": "a", "namespace": "default"}, "involvedObject": POD_NAME}
    send(server, "POST", EVENTS, {**event, "reason": "Seen", "message": "text"})
    _, found, _ = send(server, "GET", f"{NEW_EVENTS}/a")
    assert (found["regarding"], found["note"]) == (POD_NAME, "text")
    assert found["deprecatedSource"] == {}


def test_an_event_of_the_newer_group_is_stored_as_one_of_the_core_group(server: ApiServer) -> None:
    assert send(server, "POST", NEW_EVENTS, NEW_EVENT)[0] == 201
    _, found, _ = send(server, "GET", f"{EVENTS}/a")
    assert (found["involvedObject"], found["reportingComponent"]) == (POD_NAME, "example.org/c")


@pytest.mark.parametrize(
    ("change", "fields"),
    [({"note": "changed"}, ["message"]), ({"series": SERIES}, [])],
)
def test_an_update_of_an_event_changes_its_series_alone(
    server: ApiServer, change: Any, fields: list[str]
) -> None:
    _, stored, _ = send(server, "POST", NEW_EVENTS, NEW_EVENT)
    _, answer, _ = send(server, "PUT", f"{NEW_EVENTS}/a", {**stored, **change})
    assert [each["field"] for each in answer.get("details", {}).get("causes", ())] == fields


@pytest.mark.parametrize("selector", ["regarding.kind=Pod", "reportingController="])
def test_fields_of_the_newer_group_select_events(server: ApiServer, selector: str) -> None:
    event = {"metadata": {"name": "a", "namespace": "default"}, "involvedObject": POD_NAME}
    send(server, "POST", EVENTS, {**event, "reason": "Seen"})
    _, found, _ = send(server, "GET", f"{NEW_EVENTS}?fieldSelector={selector}")
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]


def test_an_autoscaler_of_the_first_version_is_listed_in_the_second_one(server: ApiServer) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 5, "targetCPUUtilizationPercentage": 60, "scaleTargetRef": target}
    send(
        server, "POST", f"/apis/autoscaling/v1/{SCALERS}", {"metadata": {"name": "a"}, "spec": spec}
    )
    _, found, _ = send(server, "GET", f"/apis/autoscaling/v2/{SCALERS}")
    item = found["items"][0]
    assert item["spec"]["minReplicas"] == 1
    assert item["status"] == {"desiredReplicas": 0, "currentMetrics": None}


def test_claims_of_a_stateful_set_state_their_kind_and_phase(server: ApiServer) -> None:
    claim = {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    }
    labels = {"app": "a"}
    spec = {
        "serviceName": "a",
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, **claim}],
    }
    target = "/apis/apps/v1/namespaces/default/statefulsets"
    _, item, _ = send(server, "POST", target, {"metadata": {"name": "a"}, "spec": spec})
    made = item["spec"]["volumeClaimTemplates"][0]
    assert (made["kind"], made["status"]) == ("PersistentVolumeClaim", {"phase": "Pending"})


def test_a_dry_run_takes_no_address(server: ApiServer) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    _, item, _ = send(server, "POST", "/api/v1/namespaces/default/services?dryRun=All", body)
    assert item["spec"]["clusterIP"] == "10.0.0.0"


@pytest.mark.parametrize(
    ("member", "value", "text"),
    [
        (
            "volumes",
            [{"name": "v", "rbd": {"image": "i", "monitors": ["m"]}}],
            "deprecated in v1.28",
        ),
        ("imagePullSecrets", [{"name": "s"}, {"name": "s"}], 'duplicate name \\"s\\"'),
        ("hostAliases", [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}], "duplicate ip"),
        ("nodeSelector", {"beta.kubernetes.io/os": "x"}, "deprecated since v1.14"),
    ],
)
def test_a_pod_that_is_probably_not_meant_is_a_warning(
    server: ApiServer, member: str, value: Any, text: str
) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], member: value}
    status, _, warnings = send(server, "POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    assert status == 201
    assert text in warnings[0]


def test_amounts_of_bytes_and_repeated_variables_are_warnings(server: ApiServer) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"memory": "0.5"}},
        "env": env,
    }
    body = {"metadata": {"name": "a"}, "spec": {"containers": [container]}}
    _, _, warnings = send(server, "POST", PODS, body)
    assert 'fractional byte value \\"500m\\" is invalid' in warnings[0]
    assert 'hides previous definition of \\"A\\"' in warnings[1]


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("device.foo", "<input>:1:7: undefined field 'foo'\n | device.foo\n | ......^"),
        ("device.(", "<input>:1:8: Syntax error"),
        ('device.driver == "device.foo"', ""),
        ('device.attributes["x"].v.isGreaterThan(semver("1.0.0"))', ""),
    ],
)
def test_an_expression_about_devices_reads_known_fields(
    server: ApiServer, expression: str, fault: str
) -> None:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    body = {"metadata": {"name": "a"}, "spec": spec}
    status, answer, _ = send(server, "POST", "/apis/resource.k8s.io/v1/deviceclasses", body)
    assert status == (422 if fault else 201)
    assert fault in answer.get("message", "")
