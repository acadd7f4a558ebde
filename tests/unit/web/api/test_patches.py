"""Patches over the API: what is refused, in which words, and what strict decoding finds."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
DEPLOYMENT = {
    "metadata": {"name": "a"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    found = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    send(found, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    send(found, "POST", DEPLOYMENTS, DEPLOYMENT)
    return found


def send(server: ApiServer, method: str, target: str, body: Any, media: str = "") -> Any:
    headers = {"content-type": media or "application/json", "user-agent": "test/1"}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, headers, data))
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body), answer.headers


def patched(server: ApiServer, body: Any, media: str, target: str = f"{MAPS}/a") -> Any:
    return send(server, "PATCH", target, body, media)


@pytest.mark.parametrize(
    ("patch", "fault"),
    [
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"template": {"spec": {"containers": {}}}}}, "cannot restore slice from map"),
        ({"spec": "x"}, "cannot restore struct from: string"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"spec": {"paused": "x", "replicas": "x"}}, "unrecognized type: int32"),
    ],
)
def test_a_strategic_patch_that_does_not_fit_is_quoted(
    server: ApiServer, patch: Any, fault: str
) -> None:
    status, answer, _ = patched(server, patch, STRATEGIC, f"{DEPLOYMENTS}/a")
    assert status == 422
    assert answer["message"].startswith(' "" is invalid: patch: Invalid value: "map[')
    assert answer["message"].endswith(f": {fault}")


def test_objects_in_a_new_list_lose_their_null_members(server: ApiServer) -> None:
    values = [{"key": "k", "operator": "Exists", "values": None}]
    affinity = {"nodeSelectorTerms": [{"matchExpressions": values, "matchFields": None}]}
    wanted = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}
    patch = {"spec": {"template": {"spec": {"affinity": wanted, "nodeSelector": {"a": None}}}}}
    _, item, _ = patched(server, patch, MERGE, f"{DEPLOYMENTS}/a")
    found = item["spec"]["template"]["spec"]
    del values[0]["values"], affinity["nodeSelectorTerms"][0]["matchFields"]
    assert (found["affinity"], "nodeSelector" in found) == (wanted, False)


def test_a_merge_patch_that_does_not_fit_quotes_the_object(server: ApiServer) -> None:
    patch = {"spec": {"replicas": "x"}}
    _, answer, _ = patched(server, patch, MERGE, f"{DEPLOYMENTS}/a")
    assert '\\"replicas\\":\\"x\\"' in answer["message"]
    assert answer["message"].endswith("field DeploymentSpec.spec.replicas of type int32")
    assert set(answer["details"]) == {"causes"}


@pytest.mark.parametrize(("kind", "word"), [("Pod", "converting (v1.Pod) to"), ("Nil", "no kind")])
def test_a_patch_to_another_kind_is_refused(server: ApiServer, kind: str, word: str) -> None:
    status, answer, _ = patched(server, {"kind": kind}, MERGE)
    assert status == 422
    assert f": {word}" in answer["message"]


def test_a_repeated_member_of_a_patch_is_a_warning(server: ApiServer) -> None:
    status, item, headers = patched(server, b'{"data":{"d":"1","d":"2"}}', MERGE)
    assert (status, item["data"]["d"]) == (200, "2")
    assert headers["Warning"] == ['299 - "duplicate field \\"data.d\\""']


def test_strict_validation_refuses_unknown_members_of_a_patch_in_order(server: ApiServer) -> None:
    patch = {"foo": "x", "metadata": {"bar": 1}}
    target = f"{MAPS}/a?fieldValidation=Strict"
    _, answer, _ = patched(server, patch, STRATEGIC, target)
    assert answer["message"] == (
        ' "" is invalid: patch: Invalid value: "map[foo:x metadata:map[bar:1]]": strict decoding '
        'error: unknown field "foo", unknown field "metadata.bar"'
    )


def test_a_quoted_patch_has_no_list_that_it_orders(server: ApiServer) -> None:
    inner = {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "c"}]}
    patch = {"spec": {"foo": 1, "template": {"spec": inner}}}
    target = f"{DEPLOYMENTS}/a?fieldValidation=Strict"
    _, answer, _ = patched(server, patch, STRATEGIC, target)
    assert '"map[spec:map[foo:1 template:map[spec:map[]]]]"' in answer["message"]


def test_an_unknown_member_of_an_operation_is_a_warning(server: ApiServer) -> None:
    operation = {"op": "add", "path": "/data/y", "value": "1", "why": "x"}
    _, _, headers = patched(server, [operation], JSON)
    assert headers["Warning"] == ['299 - "json patch unknown field \\"[0].why\\""']


def test_a_patch_may_replace_the_whole_object(server: ApiServer) -> None:
    whole = {"apiVersion": "v1", "metadata": {"name": "a"}, "data": {"y": "2"}}
    operation = {"op": "replace", "path": "", "value": whole}
    status, item, _ = patched(server, [operation], JSON)
    assert (status, item["data"], item["metadata"]["namespace"]) == (200, {"y": "2"}, "default")


def test_a_patch_cannot_move_an_object_to_another_namespace(server: ApiServer) -> None:
    status, answer, _ = patched(server, {"metadata": {"namespace": "other"}}, MERGE)
    assert (status, answer["reason"]) == (400, "BadRequest")


def test_a_patch_of_the_uid_is_a_refused_field(server: ApiServer) -> None:
    status, answer, _ = patched(server, {"metadata": {"uid": "x"}}, MERGE)
    fields = [each["field"] for each in answer["details"]["causes"]]
    assert (status, fields) == (422, ["metadata.uid"] * 2)


def test_an_unknown_type_of_patch_is_not_served(server: ApiServer) -> None:
    status, answer, _ = patched(server, {}, "application/json")
    assert (status, answer["message"]) == (415, "415: Unsupported Media Type")


def test_a_repeated_key_of_an_applied_configuration_is_a_warning(server: ApiServer) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {q: '1', q: '2'}\n"
    _, item, headers = patched(server, body, APPLY, f"{MAPS}/a?fieldManager=m")
    assert item["data"]["q"] == "2"
    assert headers["Warning"] == ['299 - "line 4: key \\"q\\" already set in map"']


def test_strict_validation_refuses_a_repeated_key(server: ApiServer) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {q: '1', q: '2'}\n"
    target = f"{MAPS}/a?fieldManager=m&fieldValidation=Strict"
    status, answer, _ = patched(server, body, APPLY, target)
    assert status == 400
    assert answer["message"].startswith("error strict decoding YAML: error converting YAML to JSON")


def test_an_empty_configuration_has_no_kind(server: ApiServer) -> None:
    status, answer, _ = patched(server, b"", APPLY, f"{MAPS}/a?fieldManager=m")
    assert (status, answer["message"]) == (400, "invalid object type: /, Kind=")


def test_an_item_without_its_key_is_refused_by_the_rules_of_its_kind(server: ApiServer) -> None:
    spec = {"template": {"spec": {"containers": [{"image": "x"}]}}}
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    config["metadata"] = {"name": "a"}
    _, answer, _ = patched(server, config, APPLY, f"{DEPLOYMENTS}/a?fieldManager=m")
    causes = [each["field"] for each in answer["details"]["causes"]]
    assert causes == ["spec.template.spec.containers[1].name"]


LAST = "kubectl.kubernetes.io/last-applied-configuration"


def test_kubectl_takes_over_what_it_applied_from_the_client(server: ApiServer) -> None:
    note = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"}})
    item = {"metadata": {"name": "b", "annotations": {LAST: note}}, "data": {"x": "1"}}
    send(server, "POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", item)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    config["data"] = {"x": "2"}  # type: ignore[assignment]
    status, after, _ = patched(server, config, APPLY, f"{MAPS}/b?fieldManager=kubectl")
    assert (status, after["data"]) == (200, {"x": "2"})
    assert json.loads(after["metadata"]["annotations"][LAST]) == config


def test_kubectl_conflicts_about_what_changed_since(server: ApiServer) -> None:
    note = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "0"}})
    item = {"metadata": {"name": "b", "annotations": {LAST: note}}, "data": {"x": "1"}}
    send(server, "POST", f"{MAPS}?fieldManager=kubectl-client-side-apply", item)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "2"}}
    status, _, _ = patched(server, config, APPLY, f"{MAPS}/b?fieldManager=kubectl")
    assert status == 409


def test_an_unknown_directive_of_a_strategic_patch_is_quoted(server: ApiServer) -> None:
    change = {"data": {"$patch": "bogus"}}
    _, answer, _ = patched(server, change, "application/strategic-merge-patch+json")
    assert answer["message"] == "unknown patch type: bogus in map: map[$patch:bogus]"


@pytest.mark.parametrize(
    ("spec", "code"),
    [({"$retainKeys": ["x"], "replicas": 2}, 400), ({"template": {"$patch": "bogus"}}, 500)],
)
def test_a_strategic_patch_that_fails_to_merge_has_the_code_of_its_cause(
    server: ApiServer, spec: Any, code: int
) -> None:
    status, _, _ = patched(server, {"spec": spec}, STRATEGIC, f"{DEPLOYMENTS}/a")
    assert status == code


def test_a_label_of_an_aggregating_role_does_not_own_its_rules() -> None:
    clock = ManualClock(1_790_000_000.0)
    settings = ApiSettings(clock, Rng(2), aggregates_roles=False)
    server = ApiServer(MemoryStore(clock, Rng(1)), settings)
    change = {"metadata": {"labels": {"x": "y"}}}
    target, media = (
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit",
        "application/strategic-merge-patch+json",
    )
    _, answer, _ = patched(server, change, media, target)
    owned = [each["fieldsV1"] for each in answer["metadata"]["managedFields"]]
    assert owned[-1] == {"f:metadata": {"f:labels": {"f:x": {}}}}
