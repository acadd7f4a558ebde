"""Rules and admission of single kinds, as clients of the API server meet them."""

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from stretto.api.checks.fields.schedules import schedule_problem
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

CORE = "/api/v1/namespaces/default"
PODS = f"{CORE}/pods"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"


class ApiClient:
    def __init__(self, *, uses_accounts: bool = False) -> None:
        clock = ManualClock(1_790_000_000.0)
        settings = ApiSettings(clock, Rng(2), uses_accounts=uses_accounts)
        self.server = ApiServer(MemoryStore(clock, Rng(1)), settings)

    def send(
        self, method: str, target: str, body: Any = None, kind: str = "json"
    ) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest(method, target, {"content-type": f"application/{kind}"}, data)
        answer = self.server.handle(request)
        assert isinstance(answer, ApiResponse)
        return answer.status, json.loads(answer.body)

    def merge(self, target: str, body: Any) -> tuple[int, Any]:
        return self.send("PATCH", target, body, "merge-patch+json")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (PODS, pod("a", restartPolicy="Maybe"), "spec.restartPolicy", "FieldValueNotSupported"),
    (PODS, pod("a", containers=[]), "spec.containers", "FieldValueRequired"),
    (
        f"{CORE}/services",
        {"metadata": {"name": "s"}, "spec": {}},
        "spec.ports",
        "FieldValueRequired",
    ),
    (
        "/apis/batch/v1/namespaces/default/cronjobs",
        {"metadata": {"name": "x" * 53}, "spec": {"schedule": "* *"}},
        "metadata.name",
        "FieldValueInvalid",
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "p"}, "value": 2_000_000_000},
        "value",
        "FieldValueForbidden",
    ),
]


@pytest.mark.parametrize(("target", "body", "field", "reason"), REFUSED)
def test_a_new_object_is_refused_by_the_rules_of_its_kind(
    target: str, body: dict[str, Any], field: str, reason: str
) -> None:
    status, answer = ApiClient().send("POST", target, body)
    assert status == 422
    assert (field, reason) in [
        (each["field"], each["reason"]) for each in answer["details"]["causes"]
    ]


def test_an_immutable_field_does_not_change() -> None:
    client = ApiClient()
    frozen = {"metadata": {"name": "m"}, "data": {"a": "1"}, "immutable": True}
    client.send("POST", f"{CORE}/configmaps", frozen)
    status, answer = client.merge(f"{CORE}/configmaps/m", {"data": {"a": "2"}})
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "data")


def test_a_quota_is_charged_and_refuses_what_exceeds_it() -> None:
    client = ApiClient()
    quotas = f"{CORE}/resourcequotas"
    client.send("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    assert client.send("POST", PODS, pod("uncounted"))[0] == 201
    client.merge(f"{quotas}/q/status", {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}})
    assert client.send("POST", f"{PODS}?dryRun=All", pod("dry"))[0] == 201
    assert client.send("POST", PODS, pod("first"))[0] == 201
    assert client.send("GET", f"{quotas}/q")[1]["status"]["used"] == {"pods": "1"}
    status, answer = client.send("POST", PODS, pod("second"))
    assert status == 403
    assert answer["message"] == (
        'pods "second" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, '
        "limited: pods=1"
    )


def test_an_object_whose_name_is_taken_is_not_charged() -> None:
    client = ApiClient()
    client.send("POST", PODS, pod("first"))
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "9"}}}
    client.send("POST", f"{CORE}/resourcequotas", quota)
    target = f"{CORE}/resourcequotas/q"
    client.merge(f"{target}/status", {"status": {"hard": {"pods": "9"}, "used": {"pods": "1"}}})
    assert client.send("POST", PODS, pod("first"))[0] == 409
    assert client.send("GET", target)[1]["status"]["used"] == {"pods": "1"}


def test_a_pod_gets_the_token_and_the_pull_secrets_of_its_account() -> None:
    client = ApiClient(uses_accounts=True)
    status, answer = client.send("POST", PODS, pod("early"))
    assert (status, 'serviceaccount "default" not found' in answer["message"]) == (403, True)
    account = {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "reg"}]}
    client.send("POST", f"{CORE}/serviceaccounts", account)
    spec = client.send("POST", PODS, pod("a"))[1]["spec"]
    assert spec["serviceAccountName"] == "default"
    assert spec["imagePullSecrets"] == [{"name": "reg"}]
    assert [each["mountPath"] for each in spec["containers"][0]["volumeMounts"]] == [PLACE]
    spec = client.send("POST", PODS, pod("b", automountServiceAccountToken=False))[1]["spec"]
    assert "volumes" not in spec


def test_an_account_that_enforces_its_secrets_refuses_others() -> None:
    client = ApiClient(uses_accounts=True)
    notes = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account = {"metadata": {"name": "default", "annotations": notes}, "secrets": [{"name": "own"}]}
    client.send("POST", f"{CORE}/serviceaccounts", account)
    for name, expected in (("own", 201), ("other", 403)):
        volume = {"name": "v", "secret": {"secretName": name}}
        assert client.send("POST", PODS, pod(name, volumes=[volume]))[0] == expected


def test_an_ingress_gets_the_default_class() -> None:
    client = ApiClient()
    notes = {"ingressclass.kubernetes.io/is-default-class": "true"}
    class_ = {"metadata": {"name": "c", "annotations": notes}, "spec": {"controller": "e.org/c"}}
    client.send("POST", "/apis/networking.k8s.io/v1/ingressclasses", class_)
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    ingress = {"metadata": {"name": "i"}, "spec": {"defaultBackend": backend}}
    target = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    assert client.send("POST", target, ingress)[1]["spec"]["ingressClassName"] == "c"


def test_a_fresh_server_has_the_objects_that_a_cluster_begins_with() -> None:
    client = ApiClient()
    assert client.send("GET", f"{CORE}/services/kubernetes")[0] == 200
    levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    names = {each["metadata"]["name"] for each in client.send("GET", levels)[1]["items"]}
    assert {"exempt", "catch-all", "system"} <= names


HUGE = "9" * 5000
"""More digits than Python converts."""
DOCKER = "kubernetes.io/dockerconfigjson"


@pytest.mark.parametrize("content", [HUGE, "[" * 100_000, "\xff"])
def test_a_secret_with_an_extreme_configuration_is_no_internal_error(content: str) -> None:
    data = {".dockerconfigjson": base64.b64encode(content.encode("latin-1")).decode()}
    body = {"metadata": {"name": "s"}, "type": DOCKER, "data": data}
    assert ApiClient().send("POST", f"{CORE}/secrets", body)[0] in (201, 422)


@pytest.mark.parametrize("version", [HUGE, "%C2%B2"])
def test_a_resource_version_that_is_no_number_is_a_bad_request(version: str) -> None:
    assert ApiClient().send("GET", f"{PODS}?resourceVersion={version}")[0] == 400


def test_a_percentage_of_many_digits_is_refused() -> None:
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": f"{HUGE}%"}}
    target = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    assert ApiClient().send("POST", target, budget)[0] == 422


def test_a_schedule_with_a_number_of_many_digits_is_refused() -> None:
    assert "value out of range" in schedule_problem(f"{HUGE} * * * *")
    assert schedule_problem("000005 * * * *") == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("0,,5 , * * *", ""),
        ("@every 1h30m", ""),
        (
            "@every 1h30mW",
            'failed to parse duration @every 1h30mW: time: unknown unit "mW" in duration "1h30mW"',
        ),
    ],
)
def test_a_schedule_is_read_as_by_kubernetes(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ("a in (!", "found '!', expected: ',', ')' or identifier"),
        ("a in (b,_)", 'values[0][a]: Invalid value: "_": a valid label must be'),
        ("a>b_", "[values[0]: Invalid value: \"b_\": for 'Gt', 'Lt' operators, the value must be"),
    ],
)
def test_a_malformed_selector_is_refused_as_by_kubernetes(selector: str, problem: str) -> None:
    _, answer = ApiClient().send("GET", f"{PODS}?labelSelector={quote(selector)}", None)
    assert answer["message"].startswith(f"unable to parse requirement: {problem}")


def test_errors_that_show_a_whole_list_are_few() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}
    owners = [{**owner, "uid": str(number)} for number in range(100)]
    item = {"metadata": {"name": "m", "ownerReferences": owners}}
    _, answer = ApiClient().send("POST", f"{CORE}/configmaps", item)
    assert len(answer["details"]["causes"]) == 16
    quota = {"metadata": {"name": "q"}, "spec": {"scopes": ["a", "b"] * 50}}
    _, answer = ApiClient().send("POST", f"{CORE}/resourcequotas", quota)
    assert len(answer["details"]["causes"]) == 16


def test_a_repeated_owner_is_dropped() -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid} for uid in "aba"]
    item = {"metadata": {"name": "m", "ownerReferences": owners}}
    _, answer = ApiClient().send("POST", f"{CORE}/configmaps", item)
    assert [each["uid"] for each in answer["metadata"]["ownerReferences"]] == ["a", "b"]
