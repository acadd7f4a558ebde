"""Flow control: each request has the FlowSchema and the level of kube-apiserver."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.authz.rules import AccessRequest
from stretto.web.api.flows.matching import matches
from stretto.web.api.message import ApiRequest, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings

Json = dict[str, Any]

FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
SCHEMA_UID, LEVEL_UID = "X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID"
EVERYTHING: Json = {
    "resourceRules": [
        {
            "verbs": ["*"],
            "apiGroups": ["*"],
            "resources": ["*"],
            "clusterScope": True,
            "namespaces": ["*"],
        }
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
USERS = {
    "admin": User("admin", "", ("system:masters",)),
    "alice": User("alice", "", ("people",)),
    "node": User("system:node:n1", "", ("system:nodes",)),
    "scheduler": User("system:kube-scheduler"),
    "account": User("system:serviceaccount:kube-system:a", "", ("system:serviceaccounts",)),
    "other": User("system:serviceaccount:x:a", "", ("system:serviceaccounts",)),
}


@pytest.fixture
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    return ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), TokenTable(USERS)))


def sent(
    server: ApiServer, target: str, user: str = "admin", method: str = "GET", body: Any = None
) -> tuple[Json, Json]:
    """Headers and object of a response."""
    headers = {"content-type": "application/json"}
    if user:
        headers["authorization"] = f"Bearer {user}"
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, headers, data))
    is_json = not isinstance(answer, ApiStream) and answer.body.startswith(b"{")
    return dict(answer.headers), json.loads(answer.body) if is_json else {}  # type: ignore[union-attr]


def flow(server: ApiServer, target: str, user: str = "admin", method: str = "GET") -> str:
    """Names of the schema and of the level of a request; empty without one."""
    headers, _ = sent(server, target, user, method)
    names = [
        each["metadata"]["name"]
        for plural, uid in (("flowschemas", SCHEMA_UID), ("prioritylevelconfigurations", LEVEL_UID))
        for each in sent(server, f"{FLOWS}/{plural}")[1]["items"]
        if each["metadata"]["uid"] == headers.get(uid)
    ]
    return " ".join(names)


def add(server: ApiServer, name: str, precedence: int, level: str = "system") -> None:
    """Create a schema of all requests of the group ``people``."""
    subject = {"kind": "Group", "group": {"name": "people"}}
    spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [{"subjects": [subject], **EVERYTHING}],
    }
    sent(
        server, f"{FLOWS}/flowschemas", "admin", "POST", {"metadata": {"name": name}, "spec": spec}
    )


@pytest.mark.parametrize(
    ("user", "target", "wanted"),
    [
        ("admin", "/api/v1/pods", "exempt exempt"),
        ("alice", "/healthz", "probes exempt"),
        ("", "/livez", "probes exempt"),
        ("alice", "/healthz/ping", "probes exempt"),
        ("alice", "/healthzx", "global-default global-default"),
        ("alice", "/api/v1/pods", "global-default global-default"),
        ("", "/api", "global-default global-default"),
        ("node", "/api/v1/nodes/n1", "system-node-high node-high"),
        ("node", "/api/v1/nodes/n1/status", "system-node-high node-high"),
        ("node", "/api/v1/pods", "system-nodes system"),
        ("scheduler", "/api/v1/pods", "kube-scheduler workload-high"),
        (
            "scheduler",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x",
            "system-leader-election leader-election",
        ),
        ("scheduler", "/apis/coordination.k8s.io/v1/leases", "kube-scheduler workload-high"),
        ("account", "/api/v1/pods", "kube-system-service-accounts workload-high"),
        ("other", "/api/v1/pods", "service-accounts workload-low"),
        ("alice", "/apis/nowhere/v1/things", "global-default global-default"),
        ("alice", "/api/v1/namespaces/default/pods/x/log", ""),
        ("alice", "/debug/pprof/", ""),
        ("stranger", "/api/v1/pods", ""),
    ],
)
def test_a_request_has_the_schema_and_the_level_of_kube_apiserver(
    server: ApiServer, user: str, target: str, wanted: str
) -> None:
    assert flow(server, target, user) == wanted


def test_a_watch_has_a_flow(server: ApiServer) -> None:
    assert flow(server, "/api/v1/pods?watch=1") == "exempt exempt"


def test_an_impersonated_user_determines_the_flow(server: ApiServer) -> None:
    headers = {"authorization": "Bearer admin", "impersonate-user": "bob"}
    answer = server.handle(ApiRequest("GET", "/api/v1/pods", headers))
    wanted, _ = sent(server, "/api/v1/pods", "alice")
    assert answer.headers[SCHEMA_UID] == wanted[SCHEMA_UID]


def test_a_new_schema_counts_at_once(server: ApiServer) -> None:
    flow(server, "/api/v1/pods", "alice")
    add(server, "mine", 5000)
    assert flow(server, "/api/v1/pods", "alice") == "mine system"


def test_the_lowest_precedence_counts_and_then_the_name(server: ApiServer) -> None:
    for name, precedence in (("c", 600), ("b", 500), ("a", 501), ("a2", 500)):
        add(server, name, precedence)
    assert flow(server, "/api/v1/pods", "alice") == "a2 system"


def test_a_schema_without_its_level_does_not_count(server: ApiServer) -> None:
    add(server, "mine", 5000, "missing")
    assert flow(server, "/api/v1/pods", "alice") == "global-default global-default"


def test_a_schema_without_its_level_dangles(server: ApiServer) -> None:
    add(server, "mine", 5000, "missing")
    server.tick()
    (condition,) = sent(server, f"{FLOWS}/flowschemas/mine")[1]["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Dangling", "True")


@pytest.mark.parametrize("user", ["admin", "alice"])
def test_requests_are_classified_without_any_schema(server: ApiServer, user: str) -> None:
    sent(server, f"{FLOWS}/flowschemas", "admin", "DELETE")
    assert sent(server, "/api/v1/pods", user)[0][SCHEMA_UID] == ""


def metrics(server: ApiServer) -> dict[str, float]:
    """Values of the metrics of flow control by name and labels."""
    answer = server.handle(ApiRequest("GET", "/metrics", {"authorization": "Bearer admin"}))
    lines = answer.body.decode().splitlines()  # type: ignore[union-attr]
    pairs = (each.rsplit(" ", 1) for each in lines if each.startswith("apiserver_flowcontrol_"))
    return {name: float(value) for name, value in pairs}


def test_answered_requests_are_counted_by_level_and_schema(server: ApiServer) -> None:
    for user in ("alice", "node", "alice"):
        sent(server, "/api/v1/pods", user)
    name = "apiserver_flowcontrol_dispatched_requests_total"
    labels = '{flow_schema="global-default",priority_level="global-default"}'
    assert metrics(server)[name + labels] == 2


def test_levels_have_the_seats_of_kube_apiserver(server: ApiServer) -> None:
    name = 'apiserver_flowcontrol_nominal_limit_seats{priority_level="'
    found = {key.removeprefix(name)[:-2]: n for key, n in metrics(server).items() if name in key}
    wanted = {"catch-all": 13, "exempt": 0, "global-default": 49, "leader-election": 25}
    more = {"node-high": 98, "system": 74, "workload-high": 98, "workload-low": 245}
    assert found == {**wanted, **more}


WORDS = st.sampled_from(["*", "a", "b", "a/b", "a/"])
LISTS = st.lists(WORDS, min_size=1, max_size=2, unique=True)
RULES = st.fixed_dictionaries(
    {
        "verbs": LISTS,
        "apiGroups": LISTS,
        "resources": LISTS,
        "namespaces": LISTS,
        "clusterScope": st.booleans(),
    }
)
REQUESTS = st.builds(
    AccessRequest, WORDS, WORDS, st.sampled_from(["a", "b"]), st.sampled_from(["", "b"]), WORDS
)


@given(RULES, REQUESTS)
def test_a_rule_that_states_all_values_matches_what_any_rule_matches(
    rule: Json, wanted: AccessRequest
) -> None:
    subjects = [{"kind": "User", "user": {"name": "*"}}]
    narrow = {"rules": [{"subjects": subjects, "resourceRules": [rule]}]}
    wide = {"rules": [{"subjects": subjects, **EVERYTHING}]}
    user = User("u")
    assert matches(wide, user, wanted) or not matches(narrow, user, wanted)


def test_a_deleted_schema_is_created_again_within_a_minute() -> None:
    clock = ManualClock(1_790_000_000.0)
    store = MemoryStore(clock, Rng(1))
    server = ApiServer(store, ApiSettings(clock, Rng(2), TokenTable(USERS)))
    sent(server, f"{FLOWS}/flowschemas/catch-all", method="DELETE")
    clock.advance(60.0)
    server.tick()
    _, found = sent(server, f"{FLOWS}/flowschemas/catch-all")
    assert found["status"]["conditions"][0]["reason"] == "Found"
