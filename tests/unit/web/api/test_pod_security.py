"""Pod security over the API: refusals, warnings, labels of namespaces."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

LABEL = "pod-security.kubernetes.io/"
NETWORK = {"hostNetwork": True}


class Site:
    def __init__(self) -> None:
        clock = ManualClock(1_790_000_000.0)
        self.server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))

    def send(self, method: str, path: str, body: Any, media: str = "json") -> Any:
        headers = {"content-type": f"application/{media}"}
        request = ApiRequest(method, f"/api/v1/{path}", headers, json.dumps(body).encode())
        answer = self.server.handle(request)
        assert isinstance(answer, ApiResponse)
        warnings = list(answer.headers.get("Warning", ()))
        return answer.status, json.loads(answer.body).get("message", ""), warnings

    def label(self, **labels: str) -> Any:
        stated = {LABEL + key.replace("_", "-"): each for key, each in labels.items()}
        body = {"metadata": {"labels": stated}}
        return self.send("PATCH", "namespaces/default", body, "merge-patch+json")

    def pod(self, spec: Any, name: str = "p", **security: Any) -> Any:
        container = {"name": "c", "image": "i", "securityContext": security}
        body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
        return self.send("POST", "namespaces/default/pods", body)


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_pod_above_the_enforced_level_is_refused(site: Site) -> None:
    site.label(enforce="baseline")
    status, message, _ = site.pod(NETWORK)
    assert status == 403
    rest = 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    assert message == f'pods "p" is forbidden: {rest}'


def test_a_pod_above_the_level_of_warnings_is_created_with_a_warning(site: Site) -> None:
    site.label(warn="restricted", warn_version="v1.21")
    status, _, warnings = site.pod({"securityContext": {"runAsNonRoot": True}}, privileged=False)
    assert status == 201
    assert "restricted:v1.21" in warnings[0]
    assert "capabilities" not in warnings[0]


def test_an_enforced_level_is_also_that_of_warnings(site: Site) -> None:
    site.label(enforce="restricted")
    rc = {"metadata": {"name": "r"}, "spec": {"template": {"spec": {}}}}
    rc["spec"]["template"] = {"metadata": {"labels": {"a": "b"}}, "spec": _hardened(NETWORK)}
    status, _, warnings = site.send("POST", "namespaces/default/replicationcontrollers", rc)
    assert status == 201
    assert "host namespaces (hostNetwork=true)" in warnings[0]


def test_a_hardened_pod_is_within_the_strictest_level(site: Site) -> None:
    site.label(enforce="restricted")
    body = {"metadata": {"name": "p"}, "spec": _hardened({})}
    assert site.send("POST", "namespaces/default/pods", body) == (201, "", [])


def test_labels_of_a_pod_change_whatever_its_containers_do(site: Site) -> None:
    site.pod(NETWORK)
    site.label(enforce="baseline")
    body = {"metadata": {"labels": {"a": "b"}}}
    path = "namespaces/default/pods/p"
    assert site.send("PATCH", path, body, "merge-patch+json")[0] == 200


def test_a_stricter_label_names_the_pods_that_exceed_it(site: Site) -> None:
    for name in ("b", "a", "c"):
        site.pod(NETWORK, name)
    _, _, warnings = site.label(enforce="baseline")
    assert warnings[1] == '299 - "a (and 2 other pods): host namespaces"'


@pytest.mark.parametrize(
    ("label", "value", "detail"),
    [
        ("enforce", "strict", "must be one of privileged, baseline, restricted"),
        ("audit_version", "1.30", 'must be "latest" or "v1.x"'),
    ],
)
def test_an_unreadable_label_is_refused(site: Site, label: str, value: str, detail: str) -> None:
    status, message, _ = site.label(**{label: value})
    assert status == 422
    assert message.endswith(f'Invalid value: "{value}": {detail}')


def _hardened(spec: Any) -> Any:
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "c", "image": "i", "securityContext": security}
    pod = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return {"containers": [container], "securityContext": pod, **spec}
