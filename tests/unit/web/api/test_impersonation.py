"""Impersonation with and without constraints, and selectors of access reviews."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings

RBAC = "/apis/rbac.authorization.k8s.io/v1"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
AUTHN = "authentication.k8s.io"


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    users = {"admin": User("admin", "", ("system:masters",)), "ada": User("ada")}
    return ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), TokenTable(users)))


def post(server: ApiServer, path: str, item: Any, token: str = "admin", **headers: str) -> Any:
    stated = {f"impersonate-{name.replace('_', '-')}": each for name, each in headers.items()}
    sent = {"content-type": "application/json", "authorization": f"Bearer {token}", **stated}
    answer = server.handle(ApiRequest("POST", path, sent, json.dumps(item).encode()))
    assert isinstance(answer, ApiResponse)
    return json.loads(answer.body)


def grant(server: ApiServer, *rules: tuple[str, str, str]) -> None:
    """Give ``ada`` rights: verb, API group and resource."""
    items = [{"verbs": [v], "apiGroups": [g], "resources": [r]} for v, g, r in rules]
    post(server, f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": items})
    binding = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"}}
    subjects = [{"kind": "User", "name": "ada"}]
    post(server, f"{RBAC}/clusterrolebindings", {**binding, "subjects": subjects})


@pytest.mark.parametrize(
    ("other", "mode"),
    [
        ("eve", "user-info"),
        ("system:serviceaccount:a:b", "serviceaccount"),
        ("system:node:n", "arbitrary-node"),
    ],
)
def test_a_refusal_names_the_first_mode_that_applies(
    server: ApiServer, other: str, mode: str
) -> None:
    message = post(server, WHO, {}, "ada", user=other)["message"]
    assert message == (
        f'selfsubjectreviews.{AUTHN} is forbidden: User "ada" cannot impersonate-on:{mode}:create '
        f'resource "selfsubjectreviews" in API group "{AUTHN}" at the cluster scope'
    )


def test_a_constrained_user_needs_a_right_to_the_request_and_to_the_name(
    server: ApiServer,
) -> None:
    request = ("impersonate-on:user-info:create", AUTHN, "selfsubjectreviews")
    grant(server, request, ("impersonate:user-info", AUTHN, "users"))
    answer = post(server, WHO, {}, "ada", user="eve")
    assert answer["status"]["userInfo"] == {"username": "eve", "groups": ["system:authenticated"]}


def test_a_constrained_user_is_no_master(server: ApiServer) -> None:
    request = ("impersonate-on:user-info:create", AUTHN, "selfsubjectreviews")
    rights = [("impersonate:user-info", AUTHN, each) for each in ("users", "groups")]
    grant(server, request, *rights)
    answer = post(server, WHO, {}, "ada", user="eve", group="system:masters")
    text = "at the cluster scope: impersonating the system:masters group is not allowed"
    assert answer["message"].endswith(text)


def test_a_constrained_node_has_the_group_of_nodes(server: ApiServer) -> None:
    answer = post(server, WHO, {}, "admin", user="system:node:n")
    wanted = ["system:nodes", "system:authenticated"]
    assert answer["status"]["userInfo"]["groups"] == wanted


def test_the_right_to_impersonate_needs_no_right_to_the_request(server: ApiServer) -> None:
    grant(server, ("impersonate", "", "users"), ("impersonate", "", "groups"))
    answer = post(server, WHO, {}, "ada", user="eve", group="a")
    groups = ["a", "system:authenticated"]
    assert answer["status"]["userInfo"] == {"username": "eve", "groups": groups}


def test_attributes_without_a_name_are_refused(server: ApiServer) -> None:
    assert post(server, WHO, {}, extra_a="b")["message"] == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), '
        'Extra:map[string][]string{"a":[]string{"b"}}} without impersonating a user name'
    )


def selected(server: ApiServer, **selectors: Any) -> Any:
    attributes = {"verb": "list", "resource": "pods", **selectors}
    return post(server, REVIEWS, {"spec": {"user": "ada", "resourceAttributes": attributes}})


@pytest.mark.parametrize(
    ("selector", "field", "text"),
    [
        (
            {},
            "requirements",
            (
                "Required value: when spec.resourceAttributes.fieldSelector is specified, "
                "requirements or rawSelector is required"
            ),
        ),
        (
            {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]},
            "rawSelector",
            'Invalid value: "a=b": may not specified at the same time as requirements',
        ),
        (
            {"requirements": [{"key": "a", "operator": "In"}]},
            "requirements[0].values",
            "Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"requirements": [{"operator": "Foo"}]},
            "requirements[0].key",
            "Required value: must be specified",
        ),
    ],
)
def test_selectors_of_a_review_are_checked(
    server: ApiServer, selector: Any, field: str, text: str
) -> None:
    (cause,) = selected(server, fieldSelector=selector)["details"]["causes"]
    path = f"spec.resourceAttributes.fieldSelector.{field}"
    assert (cause["field"], cause["message"]) == (path, text)


@pytest.mark.parametrize(
    ("name", "selector", "word"),
    [
        ("labelSelector", {"rawSelector": "!!"}, "ignored"),
        ("labelSelector", {"requirements": [{"key": "a", "operator": "Foo"}]}, "ignored"),
        (
            "fieldSelector",
            {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}, {"key": "c"}]},
            "partially ignored",
        ),
    ],
)
def test_a_review_states_selectors_that_authorization_ignores(
    server: ApiServer, name: str, selector: Any, word: str
) -> None:
    status = selected(server, **{name: selector})["status"]
    error = f"spec.resourceAttributes.{name} {word} due to parse error"
    assert status == {"allowed": False, "evaluationError": error}


def test_unknown_fields_of_a_review_are_refused_on_request(server: ApiServer) -> None:
    item = {"spec": {"user": "ada", "resourceAttributes": {}, "z": 1}}
    answer = post(server, f"{REVIEWS}?fieldValidation=Strict", item)
    assert answer["message"].endswith('strict decoding error: unknown field "spec.z"')
