"""Annotations of audit events: decisions, webhooks, policies, and users that stand for others."""

import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.webhooks import WebhookAnswer
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.api.webhooks.reviews import PendingReviews
from stretto.web.audit.files import AuditFile, AuditFiles
from stretto.web.audit.log import AuditLog, AuditSettings
from stretto.web.audit.policy import AuditLevel, AuditPolicy, AuditRule

MAPS = "/api/v1/namespaces/default/configmaps"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
MASTER = User("admin", "", ("system:masters",))


class Annotated:
    """A server with an administrator and a user ``dev``, whose requests are recorded."""

    def __init__(self, level: AuditLevel = AuditLevel.METADATA) -> None:
        clock = ManualClock(1_790_000_000.0)
        tokens = TokenTable({"admin": MASTER, "dev": User("dev")})
        self.server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), tokens))
        self.events: list[Any] = []
        self.answer: Any = None
        settings = AuditSettings(
            AuditPolicy((AuditRule(level),)),
            lambda line: self.events.append(json.loads(line)),
            clock,
            Rng(3),
        )
        self.log = AuditLog(self.server.attempt, self.server.user_of, settings)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request, by default as the administrator; returns its last event."""
        token = headers.pop("token", "admin")
        sent = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        data = b"" if body is None else json.dumps(body).encode()
        request = ApiRequest(method, path, sent | named, data)
        answer = self.log.attempt(request)
        while isinstance(answer, PendingReviews):
            request.memory.take(
                answer.calls, [self._review(each.call.body) for each in answer.calls]
            )
            answer = self.log.attempt(request)
        assert isinstance(answer, ApiResponse)
        return self.events[-1]

    def _review(self, body: bytes) -> WebhookAnswer:
        if self.answer is None:
            return WebhookAnswer(problem="no answer")
        review = json.loads(body)
        response = {"uid": review.pop("request")["uid"], **self.answer}
        return WebhookAnswer(json.dumps({**review, "response": response}).encode())

    def allow(self, resource: str, name: str, group: str = "") -> None:
        """Let ``dev`` impersonate something."""
        rule = {"verbs": ["impersonate"], "apiGroups": [group], "resources": [resource]}
        role = {"metadata": {"name": resource.replace("/", "-")}}
        self.send(
            "POST", f"{ROLES}/clusterroles", role | {"rules": [rule | {"resourceNames": [name]}]}
        )
        subject = {"kind": "User", "name": "dev", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": "ClusterRole", "name": role["metadata"]["name"]}
        reference["apiGroup"] = "rbac.authorization.k8s.io"
        binding = role | {"roleRef": reference, "subjects": [subject]}
        self.send("POST", f"{ROLES}/clusterrolebindings", binding)

    def hook(self, word: str, **spec: Any) -> None:
        """A webhook about ConfigMaps."""
        client = {"url": "https://hooks.test/a"}
        whole = {"name": "a.hooks.test", "rules": [RULE], "sideEffects": "None"}
        whole |= {"admissionReviewVersions": ["v1"], "clientConfig": client, **spec}
        body = {"metadata": {"name": "conf"}, "webhooks": [whole]}
        self.send("POST", f"{ADMISSION}/{word}webhookconfigurations", body)

    def store(self) -> Any:
        """Create a ConfigMap; returns the annotations of its last event."""
        return self.send("POST", MAPS, {"metadata": {"name": "m"}})["annotations"]


def test_the_decision_about_a_request_is_noted() -> None:
    site = Annotated()
    allowed = site.send("GET", MAPS)["annotations"]
    refused = site.send("GET", MAPS, token="dev")["annotations"]
    word = "authorization.k8s.io/decision"
    assert (allowed[word], refused[word]) == ("allow", "forbid")
    assert allowed["authorization.k8s.io/reason"] == ""


def test_the_reason_names_the_binding() -> None:
    found = Annotated().send("GET", "/version", token="dev")["annotations"]
    reason = found["authorization.k8s.io/reason"]
    assert reason.startswith('RBAC: allowed by ClusterRoleBinding "system:')


def test_an_impersonated_user_is_recorded_beside_the_user() -> None:
    event = Annotated().send("GET", MAPS, impersonate_user="dev", impersonate_group="a,b")
    assert event["user"]["username"] == "admin"
    groups = ["a", "b", "system:authenticated"]
    assert event["impersonatedUser"] == {"username": "dev", "groups": groups}


@pytest.mark.parametrize(
    ("headers", "resource", "group"),
    [
        ({"impersonate_group": "g"}, "groups", ""),
        ({"impersonate_uid": "g"}, "uids", "authentication.k8s.io"),
        ({"impersonate_extra_key": "g"}, "userextras/key", "authentication.k8s.io"),
    ],
)
def test_every_part_of_an_impersonated_user_needs_a_right(
    headers: dict[str, str], resource: str, group: str
) -> None:
    site = Annotated()
    site.allow("users", "eve")
    sent = {"token": "dev", "impersonate_user": "eve", **headers}
    assert site.send("GET", "/version", **sent)["responseStatus"]["code"] == 403
    site.allow(resource, "g", group)
    assert site.send("GET", "/version", **sent)["responseStatus"]["code"] == 200


def test_a_webhook_that_changes_an_object_is_noted_with_its_patch() -> None:
    site = Annotated(AuditLevel.REQUEST)
    site.hook("mutating")
    patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJ4IjoiMSJ9fV0="
    site.answer = {"allowed": True, "patchType": "JSONPatch", "patch": patch}
    site.answer["auditAnnotations"] = {"k": "v"}
    found = site.store()
    names = {"configuration": "conf", "webhook": "a.hooks.test"}
    mutation = json.loads(found["mutation.webhook.admission.k8s.io/round_0_index_0"])
    assert mutation == {**names, "mutated": True}
    patched = json.loads(found["patch.webhook.admission.k8s.io/round_0_index_0"])
    assert patched["patch"] == [{"op": "add", "path": "/data", "value": {"x": "1"}}]
    assert found["a.hooks.test/k"] == "v"


@pytest.mark.parametrize(("kind", "word"), [("mutating", "mutation"), ("validating", "validating")])
def test_a_webhook_that_fails_open_is_noted(kind: str, word: str) -> None:
    site = Annotated()
    site.hook(kind, failurePolicy="Ignore")
    key = f"failed-open.{word}.webhook.admission.k8s.io/round_0_index_0"
    assert site.store()[key] == "a.hooks.test"


def test_a_policy_notes_what_it_only_audits() -> None:
    site = Annotated()
    check = {"expression": "false", "message": "never"}
    note = {"key": "who", "valueExpression": "'by ' + request.userInfo.username"}
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [check]}
    spec["auditAnnotations"] = [note]
    path = f"{ADMISSION}/validatingadmissionpolic"
    site.send("POST", f"{path}ies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Audit"]}
    site.send("POST", f"{path}ybindings", {"metadata": {"name": "b"}, "spec": bound})
    found = site.store()
    failure = json.loads(found["validation.policy.admission.k8s.io/validation_failure"])[0]
    assert (failure["message"], failure["binding"], failure["expressionIndex"]) == ("never", "b", 0)
    assert found["p/who"] == "by admin"


def test_pods_above_the_audited_level_are_noted() -> None:
    site = Annotated()
    labels = {"pod-security.kubernetes.io/audit": "baseline"}
    site.send("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "labels": labels}})
    spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}
    body = {"metadata": {"name": "p"}, "spec": spec}
    found = site.send("POST", "/api/v1/namespaces/n/pods", body)["annotations"]
    assert found["pod-security.kubernetes.io/enforce-policy"] == "privileged:latest"
    text = 'would violate PodSecurity "baseline:latest": host namespaces'
    assert found["pod-security.kubernetes.io/audit-violations"].startswith(text)


def test_an_error_of_the_server_is_recorded_as_its_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("lost")

    site = Annotated()
    monkeypatch.setattr("stretto.web.api.server.dispatch", fails)
    event = site.send("GET", MAPS)
    assert event["stage"] == "Panic"
    assert event["responseStatus"]["message"] == "APIServer panic'd: RuntimeError: lost"


def errors() -> float:
    """Audit events that could not be written."""
    labels = {"plugin": "log"}
    return REGISTRY.get_sample_value("apiserver_audit_error_total", labels) or 0.0


def test_a_full_disk_is_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    file = AuditFile(AuditFiles(Path("/dev/full")), ManualClock(0.0))
    before = errors()
    for _ in range(3):
        file.write(b"line")
    file.close()
    assert errors() - before == 3
    texts = [each.getMessage() for each in caplog.records]
    assert texts == [
        "audit events are lost until /dev/full can be written: No space left on device"
    ]


def test_a_log_goes_on_once_its_folder_can_be_written(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    file = AuditFile(AuditFiles(folder / "audit.log", max_size=1), ManualClock(0.0))
    file.write(b"a" * 700_000)
    folder.rename(tmp_path / "moved")
    file.write(b"b" * 700_000)
    (tmp_path / "moved").rename(folder)
    file.write(b"c")
    file.close()
    assert caplog.records[-1].getMessage() == "audit events are written again; 1 are lost"
