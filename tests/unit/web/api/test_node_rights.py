"""Rights of a node: itself, its pods, and the objects that they need."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

SPACE = "/api/v1/namespaces/default"
NODE = User("system:node:n1", "", ("system:nodes",))


class Site:
    def __init__(self) -> None:
        clock = ManualClock(1_790_000_000.0)
        users = {"admin": User("admin", "", ("system:masters",)), "node": NODE}
        settings = ApiSettings(clock, Rng(2), TokenTable(users))
        self.server = ApiServer(MemoryStore(clock, Rng(1)), settings)

    def send(
        self, method: str, target: str, body: Any = None, user: str = "node"
    ) -> tuple[int, str]:
        headers = {"content-type": "application/json", "authorization": f"Bearer {user}"}
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.server.handle(ApiRequest(method, target, headers, data))
        assert isinstance(answer, ApiResponse)
        return answer.status, str(json.loads(answer.body).get("message", ""))

    def review(self, spec: Any) -> Any:
        headers = {"content-type": "application/json", "authorization": "Bearer admin"}
        target = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        body = json.dumps({"spec": spec}).encode()
        answer = self.server.handle(ApiRequest("POST", target, headers, body))
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)["status"]

    def pod(self, **spec: Any) -> None:
        container = {"name": "c", "image": "i"}
        whole = {"containers": [container], "nodeName": "n1", **spec}
        body = {"metadata": {"name": "p"}, "spec": whole}
        assert self.send("POST", f"{SPACE}/pods", body, "admin")[0] == 201


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_node_reads_only_itself(site: Site) -> None:
    assert site.send("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})[0] == 201
    assert site.send("GET", "/api/v1/nodes/n1")[0] == 200
    status, message = site.send("GET", "/api/v1/nodes/n2")
    assert status == 403
    assert message.endswith("node 'n1' cannot read 'n2', only its own Node object")


def test_a_node_lists_only_its_pods(site: Site) -> None:
    status, message = site.send("GET", "/api/v1/pods")
    assert status == 403
    assert message.endswith("can only list/watch pods with spec.nodeName field selector")
    assert site.send("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")[0] == 200


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
        {"imagePullSecrets": [{"name": "s"}]},
    ],
)
def test_a_node_reads_the_secrets_of_its_pods(site: Site, spec: Any) -> None:
    site.send("POST", f"{SPACE}/secrets", {"metadata": {"name": "s"}}, "admin")
    status, message = site.send("GET", f"{SPACE}/secrets/s")
    assert message.endswith("no relationship found between node 'n1' and this object")
    site.pod(**spec)
    assert (status, site.send("GET", f"{SPACE}/secrets/s")[0]) == (403, 200)


def test_a_node_renews_only_its_lease(site: Site) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    assert site.send("POST", leases, {"metadata": {"name": "n1"}})[0] == 201
    status, message = site.send("GET", f"{leases}/n2")
    assert status == 403
    assert "with the same name as the requesting node" in message


def test_a_node_may_not_change_deployments(site: Site) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert site.send("POST", path, {"metadata": {"name": "d"}})[0] == 403


@pytest.mark.parametrize(
    ("node", "allowed", "reason"),
    [
        ("n1", True, ""),
        ("n2", False, "node 'n1' cannot read 'n2', only its own Node object"),
    ],
)
def test_a_review_of_the_access_of_a_node_uses_its_rights(
    site: Site, node: str, allowed: bool, reason: str
) -> None:
    wanted = {"verb": "get", "resource": "nodes", "name": node}
    spec = {"user": NODE.name, "groups": list(NODE.groups), "resourceAttributes": wanted}
    status = site.review(spec)
    assert (status["allowed"], status.get("reason", "")) == (allowed, reason)


def test_a_review_of_the_access_of_a_node_reads_field_selectors(site: Site) -> None:
    only = {"key": "spec.nodeName", "operator": "In", "values": ["n1"]}
    wanted = {"verb": "list", "resource": "pods", "fieldSelector": {"requirements": [only]}}
    spec = {"user": NODE.name, "groups": list(NODE.groups), "resourceAttributes": wanted}
    assert site.review(spec)["allowed"]
