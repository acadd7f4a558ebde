"""Rights, and custom resources with their schemas."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

PODS = "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
TREES = "/apis/example.org/v1/namespaces/default/trees"


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    users = {"admin": User("admin", "", ("system:masters",)), "ada": User("ada")}
    return ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), TokenTable(users)))


def send(server: ApiServer, user: str, method: str, target: str, body: Any = None) -> Any:
    headers = {"content-type": "application/json", "authorization": f"Bearer {user}"}
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, headers, data))
    assert isinstance(answer, ApiResponse)
    return answer.status, json.loads(answer.body)


def test_a_user_without_a_role_is_refused(server: ApiServer) -> None:
    status, answer = send(server, "ada", "GET", PODS)
    assert status == 403
    assert answer["message"].startswith('pods is forbidden: User "ada" cannot list resource "pods"')


def test_a_role_binding_gives_the_rights_of_its_role(server: ApiServer) -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    send(server, "admin", "POST", f"{RBAC}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
    subject = {"kind": "User", "name": "ada"}
    binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}}
    send(server, "admin", "POST", f"{RBAC}/rolebindings", {**binding, "subjects": [subject]})
    assert send(server, "ada", "GET", PODS)[0] == 200


def test_a_refusal_names_the_missing_roles_of_the_user(server: ApiServer) -> None:
    for name, kind in (("a", "Role"), ("b", "ClusterRole")):
        ref = {"kind": kind, "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": name}, "roleRef": ref}
        subjects = [{"kind": "User", "name": "ada"}]
        send(server, "admin", "POST", f"{RBAC}/rolebindings", {**binding, "subjects": subjects})
    assert send(server, "ada", "GET", PODS)[1]["message"].endswith(
        'in the namespace "default": RBAC: [role.rbac.authorization.k8s.io "r" not found, '
        'clusterrole.rbac.authorization.k8s.io "r" not found]'
    )


def test_every_user_may_read_discovery(server: ApiServer) -> None:
    assert send(server, "ada", "GET", "/apis")[0] == 200


def defined(server: ApiServer) -> None:
    height = {"type": "integer", "minimum": 1, "default": 2}
    rule = {"rule": "self.height < 100", "message": "too high"}
    spec = {"type": "object", "properties": {"height": height}, "x-kubernetes-validations": [rule]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "trees", "kind": "Tree"}
    body = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    send(server, "admin", "POST", target, {"metadata": {"name": "trees.example.org"}, "spec": body})
    server.tick()


def tree(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Tree",
        "metadata": {"name": "t"},
        "spec": spec,
    }


def test_a_custom_object_gets_the_defaults_of_its_schema(server: ApiServer) -> None:
    defined(server)
    status, item = send(server, "admin", "POST", TREES, tree(unknown=1))
    assert status == 201
    assert item["spec"] == {"height": 2}


def test_a_custom_object_must_fit_its_schema_and_its_rules(server: ApiServer) -> None:
    defined(server)
    _, low = send(server, "admin", "POST", TREES, tree(height=0))
    _, high = send(server, "admin", "POST", TREES, tree(height=200))
    assert "should be greater than or equal to 1" in low["message"]
    assert "too high" in high["message"]
