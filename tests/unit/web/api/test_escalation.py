"""Roles and bindings that grant more rights than their author has, with Kubernetes' messages."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

GROUP = "rbac.authorization.k8s.io"
BASE = f"/apis/{GROUP}/v1"
ROLES = f"{BASE}/namespaces/default/roles"
BINDINGS = f"{BASE}/namespaces/default/rolebindings"
WRITES = ["get", "create", "update", "patch"]
RBAC = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]
HELD = [
    {"apiGroups": [GROUP], "resources": RBAC, "verbs": WRITES},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["*/status"], "verbs": ["get"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["a"], "verbs": ["get"]},
    {"nonResourceURLs": ["/x/*"], "verbs": ["get"]},
]
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
LOST = (
    'user "ada" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not '
    "currently held:\n"
)


def body(method: str, path: str, item: Any, user: str, server: ApiServer) -> Any:
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"content-type": media, "authorization": f"Bearer {user}"}
    answer = server.handle(ApiRequest(method, path, headers, json.dumps(item).encode()))
    assert isinstance(answer, ApiResponse)
    return json.loads(answer.body)


def role(name: str, *rules: Any, **more: Any) -> Any:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, kind: str, role_name: str) -> Any:
    subject = {"kind": "User", "name": "ada"}
    ref = {"kind": kind, "name": role_name}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}


@pytest.fixture
def server() -> ApiServer:
    """A server with a user who writes roles and has few rights."""
    clock = ManualClock(1_790_000_000.0)
    users = {"admin": User("admin", "", ("system:masters",)), "ada": User("ada")}
    found = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), TokenTable(users)))
    body("POST", f"{BASE}/clusterroles", role("held", *HELD), "admin", found)
    held = binding("held", "ClusterRole", "held")
    body("POST", f"{BASE}/clusterrolebindings", held, "admin", found)
    return found


def refusal(server: ApiServer, path: str, item: Any) -> str:
    answer = body("POST", path, item, "ada", server)
    return str(answer.get("message", "")).partition(" is forbidden: ")[2].removeprefix(LOST)


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (
            [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "watch", "delete"]}],
            '{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}',
        ),
        (
            [{"apiGroups": ["", "b"], "resources": ["pods"], "verbs": ["get"]}, SECRETS],
            (
                '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}\n'
                '{APIGroups:["b"], Resources:["pods"], Verbs:["get"]}'
            ),
        ),
        (
            [{"apiGroups": [""], "resources": ["pods/status"], "verbs": ["get", "patch"]}],
            '{APIGroups:[""], Resources:["pods/status"], Verbs:["patch"]}',
        ),
        (
            [{**HELD[3], "resourceNames": ["a", "c"], "verbs": ["get", "list"]}],
            (
                '{APIGroups:["batch"], Resources:["jobs"], ResourceNames:["a"], Verbs:["list"]}\n'
                '{APIGroups:["batch"], Resources:["jobs"], ResourceNames:["c"], '
                'Verbs:["get" "list"]}'
            ),
        ),
    ],
)
def test_a_refusal_states_the_single_rights_that_are_missing(
    server: ApiServer, rules: Any, missing: str
) -> None:
    assert refusal(server, ROLES, role("new", *rules)) == missing


def test_paths_of_a_refusal_are_stated_one_by_one(server: ApiServer) -> None:
    rule = {"nonResourceURLs": ["/x/z", "/y"], "verbs": ["get", "post"]}
    assert refusal(server, f"{BASE}/clusterroles", role("new", rule)).splitlines() == [
        '{NonResourceURLs:["/x/z"], Verbs:["post"]}',
        '{NonResourceURLs:["/y"], Verbs:["get"]}',
        '{NonResourceURLs:["/y"], Verbs:["post"]}',
    ]


def test_an_aggregation_rule_needs_all_rights(server: ApiServer) -> None:
    rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    item = role("new", aggregationRule=rule)
    wanted = "must have cluster-admin privileges to use the aggregationRule"
    assert refusal(server, f"{BASE}/clusterroles", item) == wanted


@pytest.mark.parametrize(
    ("path", "item", "code", "message"),
    [
        (BINDINGS, binding("b", "Role", "no"), 404, f'rolebindings.{GROUP} "no" not found'),
        (BINDINGS, binding("b", "ClusterRole", "no"), 404, f'rolebindings.{GROUP} "no" not found'),
        (BINDINGS, binding("b", "Role", ""), 400, "Name parameter required."),
        (BINDINGS, binding("b", "Foo", "no"), 500, 'unsupported role reference kind: "Foo"'),
        (
            f"{BASE}/clusterrolebindings",
            binding("b", "Role", "no"),
            400,
            "Namespace parameter required.",
        ),
    ],
)
def test_a_binding_refers_to_a_role_that_exists(
    server: ApiServer, path: str, item: Any, code: int, message: str
) -> None:
    answer = body("POST", path, item, "ada", server)
    assert (answer["code"], answer["message"]) == (code, message)


def test_roles_that_a_user_lacks_are_stated(server: ApiServer) -> None:
    body("POST", BINDINGS, binding("b", "ClusterRole", "gone"), "admin", server)
    errors = f'; resolution errors: [roles.{GROUP} "gone" not found]'
    assert refusal(server, ROLES, role("new", SECRETS)).endswith(errors)
    spec = {"spec": {"namespace": "default"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    wanted = f'clusterrole.{GROUP} "gone" not found'
    assert body("POST", path, spec, "ada", server)["status"]["evaluationError"] == wanted


def test_finalizers_change_without_the_rights_of_a_role(server: ApiServer) -> None:
    body("POST", ROLES, role("old", SECRETS), "admin", server)
    changed = {"metadata": {"finalizers": ["a.b/c"]}}
    assert "code" not in body("PATCH", f"{ROLES}/old", changed, "ada", server)
    changed = {"metadata": {"labels": {"a": "b"}}}
    assert body("PATCH", f"{ROLES}/old", changed, "ada", server)["code"] == 403


def test_the_right_to_escalate_a_named_role_permits_its_change(server: ApiServer) -> None:
    right = {"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["escalate"]}
    body("POST", ROLES, role("may", {**right, "resourceNames": ["old"]}), "admin", server)
    body("POST", BINDINGS, binding("may", "Role", "may"), "admin", server)
    assert body("POST", ROLES, role("old", SECRETS), "ada", server)["code"] == 403
    body("POST", ROLES, role("old"), "admin", server)
    assert "code" not in body("PUT", f"{ROLES}/old", role("old", SECRETS), "ada", server)
