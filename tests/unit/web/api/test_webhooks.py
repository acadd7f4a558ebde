"""Webhooks of admission: what they match, change, refuse and are sent."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from stretto.stores.webhooks import WebhookAnswer, WebhookCall, WebhookFault
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer
from stretto.web.api.webhooks.reviews import PendingReviews
from stretto.workloads.kubelet.status import pod_address
from tests.unit.web.api.conftest import Reply

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
HOOKS = {"name": "hooks", "namespace": "default"}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}

Decide = Callable[[Any], dict[str, Any]]
"""From the request of a review to its response, without the uid."""


class Hooked:
    """A server whose webhooks are functions, and the reviews that they were sent."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.decide: dict[str, Decide] = {}
        self.reviews: list[Any] = []
        self.calls: list[WebhookCall] = []
        self.raw: WebhookAnswer | None = None

    def send(self, method: str, path: str, body: Any = None, media: str = "json") -> Reply:
        data = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest(method, path, {"content-type": f"application/{media}"}, data)
        answer = self.server.attempt(request)
        while isinstance(answer, PendingReviews):
            request.memory.take(answer.calls, [self.answer(each.call) for each in answer.calls])
            answer = self.server.attempt(request)
        assert isinstance(answer, ApiResponse)
        return Reply(
            answer.status, json.loads(answer.body), list(answer.headers.get("Warning", ()))
        )

    def answer(self, call: WebhookCall) -> WebhookAnswer:
        review = json.loads(call.body)
        self.calls.append(call)
        if self.raw is not None:
            return self.raw
        self.reviews.append(review["request"])
        decide = self.decide.get(call.url.partition("?")[0])
        if decide is None:
            return WebhookAnswer(problem="no answer within 10 s")
        response = {"uid": review["request"]["uid"], **decide(review["request"])}
        review = {key: review[key] for key in ("kind", "apiVersion")}
        return WebhookAnswer(json.dumps({**review, "response": response}).encode())

    def hook(self, kind: str, decide: Decide | None, name: str = "a", **spec: Any) -> Reply:
        url = f"https://hooks.test/{name}"
        if decide is not None:
            self.decide[url] = decide
        whole = {
            "name": f"{name}.hooks.test",
            "rules": [RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": url},
            **spec,
        }
        body = {"metadata": {"name": name}, "webhooks": [whole]}
        return self.send("POST", f"{CONFIGURATIONS}/{kind.lower()}webhookconfigurations", body)

    def store(self, name: str = "m", query: str = "", **data: str) -> Reply:
        return self.send("POST", MAPS + query, {"metadata": {"name": name}, "data": data})


@pytest.fixture
def hooked(server: ApiServer) -> Hooked:
    return Hooked(server)


def allows(_: Any) -> dict[str, Any]:
    return {"allowed": True}


def denies(_: Any) -> dict[str, Any]:
    return {"allowed": False, "status": {"message": "no", "code": 403, "reason": "Forbidden"}}


def patches(*operations: Any) -> Decide:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": text}


def sets(key: str, value: str) -> Decide:
    return patches({"op": "add", "path": f"/data/{key}", "value": value})


def test_a_webhook_that_denies_a_write_states_the_refusal(hooked: Hooked) -> None:
    hooked.hook("Validating", denies)
    answer = hooked.store(x="1")
    assert (answer.status, answer.item["reason"]) == (403, "Forbidden")
    assert answer.message == 'admission webhook "a.hooks.test" denied the request: no'


def test_a_refusal_without_a_status_has_no_explanation(hooked: Hooked) -> None:
    hooked.hook("Validating", lambda _: {"allowed": False})
    answer = hooked.store(x="1")
    assert answer.status == 400
    assert answer.message.endswith("denied the request without explanation")


def test_warnings_of_a_webhook_reach_the_client(hooked: Hooked) -> None:
    hooked.hook("Validating", lambda _: {"allowed": True, "warnings": ["old form"]})
    assert hooked.store(x="1").warnings == ['299 - "old form"']


def test_a_review_describes_the_write(hooked: Hooked) -> None:
    hooked.hook("Validating", allows)
    hooked.store(x="1")
    request = hooked.reviews[0]
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (request["operation"], request["name"]) == ("CREATE", "m")
    assert request["userInfo"]["username"] == "admin"
    assert (request["object"]["data"], request["oldObject"]) == ({"x": "1"}, None)


def test_webhooks_change_objects_in_the_order_of_their_names(hooked: Hooked) -> None:
    hooked.hook("Mutating", sets("k", "second"), "b")
    hooked.hook("Mutating", sets("k", "first"), "a")
    assert hooked.store(x="1").item["data"] == {"x": "1", "k": "second"}


def test_an_earlier_webhook_is_called_again_if_it_may_be_reinvoked(hooked: Hooked) -> None:
    hooked.hook("Mutating", sets("a", "1"), "a", reinvocationPolicy="IfNeeded")
    hooked.hook("Mutating", sets("b", "1"), "b")
    hooked.store(x="1")
    seen = [sorted(each["object"]["data"]) for each in hooked.reviews]
    assert seen == [["x"], ["a", "x"], ["a", "b", "x"]]


def test_an_injected_container_gets_the_defaults_of_its_kind(hooked: Hooked) -> None:
    added = {"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "i"}}
    hooked.hook("Mutating", patches(added), rules=[{**RULE, "resources": ["pods"]}])
    spec = {"containers": [{"name": "main", "image": "i"}]}
    pod = hooked.send("POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).item
    assert [each["imagePullPolicy"] for each in pod["spec"]["containers"]] == ["Always"] * 2


def test_a_generated_name_stays_the_same_while_webhooks_answer(hooked: Hooked) -> None:
    hooked.hook("Validating", allows)
    stored = hooked.send("POST", MAPS, {"metadata": {"generateName": "m-"}}).item
    assert len(hooked.reviews) == 1
    assert hooked.reviews[0]["object"]["metadata"]["name"] == stored["metadata"]["name"]


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
def test_a_webhook_without_an_answer_counts_by_its_failure_policy(
    hooked: Hooked, policy: str, status: int
) -> None:
    hooked.hook("Validating", None, failurePolicy=policy)
    answer = hooked.store(x="1")
    assert answer.status == status
    start = 'Internal error occurred: failed calling webhook "a.hooks.test": failed to call webhook'
    assert answer.message.startswith(start if status == 500 else "")


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"uid": "other", "allowed": True}, "expected response.uid="),
        ({"allowed": True, "patch": "W10="}, "response.patch but not response.patchType"),
        ({"allowed": True, "patchType": "JSONPatch"}, "response.patchType but not response.patch"),
        ({"allowed": True, "patch": "!", "patchType": "JSONPatch"}, "illegal base64 data at input"),
        (
            {"allowed": True, "patch": "e30=", "patchType": "JSONPatch"},
            "undecodable patch in webhook response: json: cannot unmarshal object into Go value",
        ),
        ({"allowed": "yes"}, "cannot unmarshal string into Go struct field AdmissionResponse."),
    ],
)
def test_an_answer_that_is_no_review_is_refused(hooked: Hooked, response: Any, text: str) -> None:
    hooked.hook("Mutating", lambda _: response)
    answer = hooked.store(x="1")
    assert answer.status == 500
    assert text in answer.message


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (WebhookAnswer(b""), "0-length response with status code: 200"),
        (WebhookAnswer(b"[]"), "json parse error: json: cannot unmarshal array into Go value"),
        (WebhookAnswer(b"{}"), "expected webhook response of admission.k8s.io/v1, Kind=Admission"),
        (
            WebhookAnswer(b'{"kind": "Foo", "apiVersion": "admission.k8s.io/v1"}'),
            'no kind "Foo" is registered for version "admission.k8s.io/v1" in scheme',
        ),
        (
            WebhookAnswer(b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}'),
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (WebhookAnswer(b"oops", "HTTP", 500), 'an error on the server ("oops") has prevented the'),
        (WebhookAnswer(b"no way", "HTTP", 403), "failed to call webhook: no way"),
        (WebhookAnswer(b"", "HTTP", 404), "the server could not find the requested resource"),
        (WebhookAnswer(b"", "HTTP", 302), "the server responded with the status code 302"),
        (
            WebhookAnswer(b'{"kind": "Status", "message": "inner"}', "HTTP", 500),
            "failed to call webhook: inner",
        ),
        (
            WebhookAnswer(problem="late", fault=WebhookFault.TIMEOUT),
            'Post "https://hooks.test/a?timeout=10s": context deadline exceeded',
        ),
        (
            WebhookAnswer(problem="no", fault=WebhookFault.REFUSED),
            "dial tcp hooks.test: connect: connection refused",
        ),
    ],
)
def test_a_call_without_a_review_fails_with_the_words_of_kubernetes(
    hooked: Hooked, answer: WebhookAnswer, text: str
) -> None:
    hooked.hook("Validating", None)
    hooked.raw = answer
    reply = hooked.store(x="1")
    assert reply.status == 500
    assert text in reply.message


def test_a_validating_webhook_returns_no_patch(hooked: Hooked) -> None:
    hooked.hook("Validating", sets("k", "v"))
    assert hooked.store(x="1").message.endswith("validating webhook may not return response.patch")


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "frob", "path": "/data"}, "Unexpected kind: frob"),
        ({"op": "remove", "path": "/data/no"}, "Unable to remove nonexistent key: no: missing"),
        ({"op": "test", "path": "/data/x", "value": "9"}, "testing value /data/x failed: test"),
        ({"op": "add", "path": "/data/k", "value": 5}, "json: cannot unmarshal number into Go"),
    ],
)
def test_a_patch_that_does_not_apply_fails_whatever_the_failure_policy(
    hooked: Hooked, operation: Any, text: str
) -> None:
    hooked.hook("Mutating", patches(operation), failurePolicy="Ignore")
    reply = hooked.store(x="1")
    assert reply.status == 500
    assert text in reply.message


def test_warnings_are_cut_and_those_with_control_characters_are_left_out(hooked: Hooked) -> None:
    texts = ["two\nlines", *(f"{number:02} " + "y" * 300 for number in range(30))]
    hooked.hook("Validating", lambda _: {"allowed": True, "warnings": texts})
    found = hooked.store(x="1").warnings
    assert len(found) == 16
    assert {len(each) for each in found} == {len('299 - ""') + 256}


def test_a_dry_run_needs_webhooks_without_side_effects(hooked: Hooked) -> None:
    hooked.hook("Validating", allows, sideEffects="NoneOnDryRun")
    assert hooked.store(query="?dryRun=All").status == 201
    assert hooked.reviews[0]["dryRun"] is True
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations/a"
    patch = [{"op": "add", "path": "/webhooks/0/matchConditions", "value": []}]
    assert hooked.send("PATCH", path, patch, "json-patch+json").status == 200


def test_selectors_and_conditions_leave_writes_out(hooked: Hooked) -> None:
    condition = {"name": "big", "expression": "size(object.data) > 1"}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    hooked.hook("Validating", denies, matchConditions=[condition], namespaceSelector=selector)
    assert (hooked.store(x="1").status, hooked.store(x="1", y="2").status) == (201, 403)


def test_the_configurations_of_webhooks_are_not_reviewed(hooked: Hooked) -> None:
    every = {key: ["*"] for key in RULE} | {"resources": ["*/*"]}
    hooked.hook("Validating", denies, rules=[every])
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations/a"
    assert hooked.send("DELETE", path).status == 200


def test_a_deletion_is_reviewed_with_the_old_object(hooked: Hooked) -> None:
    hooked.store(x="1")
    hooked.hook("Validating", denies)
    assert hooked.send("DELETE", f"{MAPS}/m").status == 403
    assert hooked.reviews[0]["oldObject"]["data"] == {"x": "1"}


def test_the_deletions_of_a_collection_are_reviewed_at_once(hooked: Hooked) -> None:
    for name in ("one", "two"):
        hooked.store(name)
    hooked.hook("Validating", allows, objectSelector={})
    answer = hooked.send("DELETE", MAPS)
    assert [each["metadata"]["name"] for each in answer.item["items"]][-2:] == ["one", "two"]
    assert hooked.send("GET", MAPS).item["items"] == []


def test_a_subresource_needs_a_rule_of_its_own(hooked: Hooked) -> None:
    spec = {"containers": [{"name": "main", "image": "i"}]}
    hooked.send("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    hooked.hook("Validating", denies, rules=[{**RULE, "resources": ["pods/binding"]}])
    target = {"target": {"kind": "Node", "name": "n"}, "metadata": {"name": "p"}}
    assert hooked.send("POST", f"{PODS}/p/binding", target).status == 403
    assert hooked.reviews[0]["kind"]["kind"] == "Binding"
    assert hooked.reviews[0]["subResource"] == "binding"


def service(hooked: Hooked) -> None:
    path = "/api/v1/namespaces/default/services"
    ports = [{"port": 443, "targetPort": 8443}]
    hooked.send("POST", path, {"metadata": {"name": "hooks"}, "spec": {"ports": ports}})


def endpoint(hooked: Hooked, **fields: Any) -> None:
    """Give the Service of webhooks an endpoint."""
    labels = {"kubernetes.io/service-name": "hooks"}
    ends = {"addressType": "IPv4", "endpoints": [fields]}
    ends |= {"metadata": {"name": "e", "labels": labels}, "ports": [{"name": "", "port": 8443}]}
    hooked.send("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", ends)


def test_a_service_is_reached_by_its_endpoints(hooked: Hooked) -> None:
    service(hooked)
    reference = {**HOOKS, "path": "/x"}
    hooked.hook("Validating", None, clientConfig={"service": reference}, failurePolicy="Ignore")
    endpoint(hooked, addresses=["10.1.2.3"])
    hooked.store(x="1")
    call = hooked.calls[0]
    assert call.url == "https://10.1.2.3:8443/x?timeout=10s"
    assert call.tls is not None
    assert call.tls.server_name == "hooks.default.svc"


def test_a_simulated_pod_is_not_called(hooked: Hooked) -> None:
    service(hooked)
    hooked.hook("Validating", None, clientConfig={"service": HOOKS})
    pod = {"kind": "Pod", "name": "p", "uid": "1"}
    endpoint(hooked, addresses=[pod_address("1")], targetRef=pod)
    assert "simulated pods serve nothing" in hooked.store(x="1").message
    assert hooked.calls == []


def test_a_service_without_endpoints_is_named(hooked: Hooked) -> None:
    service(hooked)
    hooked.hook("Validating", None, clientConfig={"service": HOOKS})
    text = 'no endpoints available for service "hooks"'
    assert text in hooked.store(x="1").message


def test_an_address_without_tls_is_refused(hooked: Hooked) -> None:
    answer = hooked.hook("Validating", None, clientConfig={"url": "http://hooks.test/a"})
    assert answer.status == 422
    assert "'https' is the only allowed URL scheme" in answer.message


def test_a_server_that_calls_no_webhooks_reports_it(hooked: Hooked) -> None:
    hooked.hook("Validating", allows)
    body = json.dumps({"metadata": {"name": "m"}}).encode()
    answer = hooked.server.handle(ApiRequest("POST", MAPS, {}, body))
    assert isinstance(answer, ApiResponse)
    assert b"this process calls no webhooks" in answer.body
