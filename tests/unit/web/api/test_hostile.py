"""Hostile requests: each is refused or answered, without an internal error and with little work."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import Answer, ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings
from tests.support.calls import calls_of
from tests.support.memory import bytes_kept

CORE = "/api/v1/namespaces/default"
MAPS = f"{CORE}/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
CALLS = 1_000_000
"""Calls of functions, of Python and of C, during one request: the same number on every machine."""
TOKENS = {
    "none": "",
    "bad": "guess",
    "forged": "eyJhbGciOiJub25lIn0.e30.",
    "low": "low",
    "right": "right",
}
USERS = {"low": User("low"), "right": User("admin", "", ("system:masters",))}
YAML = "application/yaml"
MERGE = "application/merge-patch+json"
PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join(['*' + before] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


def nested(depth: int) -> bytes:
    return b'{"data":' * depth + b"1" + b"}" * depth


def operations(count: int) -> bytes:
    each = {"op": "add", "path": "/metadata/labels/x", "value": "y"}
    return json.dumps([each] * count).encode()


def selector(count: int) -> str:
    return ",".join(f"key{number}%20in%20(a,b)" for number in range(count))


def policies(*expressions: str) -> bytes:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]
    spec = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": each} for each in expressions],
    }
    return json.dumps({"metadata": {"name": "x"}, "spec": spec}).encode()


def pod_body(container: object, **spec: object) -> bytes:
    inner = {"containers": [{"name": "c", "image": "i", "ports": container}], **spec}
    return json.dumps({"metadata": {"name": "p"}, "spec": inner}).encode()


def files(*paths: str) -> bytes:
    items = [{"key": "k", "path": path} for path in paths]
    return pod_body([], volumes=[{"name": "v", "configMap": {"name": "m", "items": items}}])


PODS = f"{CORE}/pods"
NUMBERS = range(4_000)
HOSTILE: dict[str, tuple[str, str, str, bytes]] = {
    "a body over the limit": ("POST", MAPS, "", b'{"x":"' + b"y" * (3 << 20) + b'"}'),
    "a long string": ("POST", MAPS, "", b'{"data":{"x":"' + b"y" * (2 << 20) + b'"}}'),
    "many members": (
        "POST",
        MAPS,
        "",
        json.dumps(
            {"metadata": {"name": "x"}, "data": {f"k{n}": "" for n in range(4000)}}
        ).encode(),
    ),
    "deep JSON": ("POST", MAPS, "", nested(50_000)),
    "deep lists": ("POST", MAPS, "", b"[" * 100_000),
    "deep YAML": ("POST", MAPS, YAML, b"[" * 20_000),
    "aliases of YAML": ("POST", MAPS, YAML, LAUGHS.encode()),
    "YAML that is no object": ("POST", MAPS, YAML, b"(+]"),
    "YAML without a value": ("POST", MAPS, YAML, b"# nothing"),
    "a long expression": ("POST", POLICIES, "", policies("@" * 20_000)),
    "many expressions": (
        "POST",
        POLICIES,
        "",
        policies(*(f"object.a == {number} && {'true && ' * 500}true" for number in range(100))),
    ),
    "no JSON": ("POST", MAPS, "", b"\xff\xfe\x00"),
    "a number that is none": ("POST", MAPS, "", b'{"metadata":{"name":1e999}}'),
    "files of a volume": ("POST", PODS, "", files(*map(str, NUMBERS))),
    "files of a volume that are one": ("POST", PODS, "", files(*(["x"] * 4_000))),
    "host ports of one port": (
        "POST",
        PODS,
        "",
        pod_body([{"containerPort": 80, "hostPort": each + 1} for each in NUMBERS]),
    ),
    "amounts of a container": (
        "POST",
        PODS,
        "",
        pod_body([], overhead={f"example.com/r{each}": "1" for each in NUMBERS}),
    ),
    "a schedule of many minutes": (
        "POST",
        "/apis/batch/v1/namespaces/default/cronjobs",
        "",
        json.dumps(
            {"metadata": {"name": "c"}, "spec": {"schedule": f"{'1,' * 100_000}1 * * * *"}}
        ).encode(),
    ),
    "an aggregated role of many selectors": (
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "",
        json.dumps(
            {
                "metadata": {"name": "r"},
                "aggregationRule": {
                    "clusterRoleSelectors": [{"matchLabels": {f"k{n}": "v"}} for n in NUMBERS]
                },
            }
        ).encode(),
    ),
    "another media type": ("POST", MAPS, "text/html", b"<html>"),
    "broken protobuf": ("POST", MAPS, "application/vnd.kubernetes.protobuf", b"k8s\x00\xff\xff"),
    "a patch of too many operations": (
        "PATCH",
        f"{MAPS}/kube-root-ca.crt",
        PATCH,
        operations(10_001),
    ),
    "a patch of many operations": ("PATCH", f"{MAPS}/here", PATCH, operations(5_000)),
    "a patch of a list": ("PATCH", f"{MAPS}/here", "application/merge-patch+json", b"[]"),
    "an apply that is none": (
        "PATCH",
        f"{MAPS}/here?fieldManager=x",
        "application/apply-patch+yaml",
        b"[1",
    ),
    "a long selector": ("GET", f"{MAPS}?labelSelector={selector(1000)}", "", b""),
    "a long number in a selector": ("GET", f"{MAPS}?labelSelector=n%3E{'9' * 5000}", "", b""),
    "a long version of an object": ("GET", f"{MAPS}/here?resourceVersion={'9' * 5000}", "", b""),
    "a version in other digits": ("GET", f"{MAPS}/here?resourceVersion=%C2%B2", "", b""),
    "a version of an update": (
        "PUT",
        f"{MAPS}/here",
        "",
        json.dumps({"metadata": {"name": "here", "resourceVersion": "9" * 5000}}).encode(),
    ),
    "a grace period that is none": ("DELETE", f"{MAPS}/gone?gracePeriodSeconds=--5", "", b""),
    "a long limit": ("GET", f"{MAPS}?limit={'9' * 5000}", "", b""),
    "lines of a log": ("GET", f"{CORE}/pods/p/log?tailLines=%C2%B2", "", b""),
    "a long index of a patch": (
        "PATCH",
        f"{MAPS}/here",
        PATCH,
        json.dumps([{"op": "remove", "path": f"/metadata/finalizers/{'9' * 5000}"}]).encode(),
    ),
    "a broken selector": ("GET", f"{MAPS}?labelSelector=((((", "", b""),
    "a broken token of a page": ("GET", f"{MAPS}?limit=1&continue=AAAA", "", b""),
    "a page of a negative size": ("GET", f"{MAPS}?limit=-5", "", b""),
    "a huge version": ("GET", f"{MAPS}?resourceVersion={'9' * 400}", "", b""),
    "a watch of a negative version": ("GET", f"{MAPS}?watch=1&resourceVersion=-1", "", b""),
    "a path that leaves": ("GET", f"{MAPS}/..%2f..%2f..%2fetc%2fpasswd", "", b""),
    "a path with dots": ("GET", "/api/v1/../../etc/passwd", "", b""),
    "a path with a null": ("GET", f"{MAPS}/%00", "", b""),
    "a path that is no text": ("GET", f"{MAPS}/%ff%fe", "", b""),
    "a long path": ("GET", f"{MAPS}/{'x' * 100_000}", "", b""),
    "a path of many parts": ("GET", "/api" + "/x" * 20_000, "", b""),
    "many parameters": ("GET", f"{MAPS}?{'&'.join(['dryRun=All'] * 20_000)}", "", b""),
    "an unknown method": ("BREW", MAPS, "", b""),
    "a method in lower case": ("get", MAPS, "", b""),
}
ROUTES = (
    "/", "/api", "/apis", "/api/v1", "/apis/apps/v1", "/version", "/healthz", "/openapi/v2",
    "/openapi/v3", "/openapi/v3/api/v1", "/nothing", "/api/v2/pods", "/apis/x/y/z",
    "/api/v1/nodes", "/api/v1/namespaces", "/api/v1/pods", f"{CORE}/pods/p/log",
    f"{CORE}/pods/p/exec", f"{CORE}/pods/p/binding", f"{CORE}/pods/p/eviction",
    f"{CORE}/serviceaccounts/s/token", "/api/v1/nodes/n/proxy/x",
    "/apis/apps/v1/namespaces/default/deployments/d/scale",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
OPEN = ("/version", "/healthz")
"""Pages that need no credentials."""


@pytest.fixture(scope="module")
def server() -> ApiServer:
    clock = ManualClock(1_790_000_000.0)
    tokens = TokenTable(USERS)
    server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2), tokens))
    body = b'{"metadata":{"name":"here","labels":{"a":"b","n":"5"},"finalizers":["a/b"]}}'
    sent(server, "POST", MAPS, "", body)
    for page in ("/openapi/v2", "/openapi/v3"):  # made once, at the first request
        sent(server, "GET", page)
    return server


def sent(server: ApiServer, method: str, target: str, *content: str | bytes) -> Answer:
    """The answer to a request of the administrator, with media type and body."""
    media, body = content or ("", b"")
    assert isinstance(media, str)
    assert isinstance(body, bytes)
    return sent_by("right", server, ApiRequest(method, target, {"content-type": media}, body))


def sent_by(who: str, server: ApiServer, request: ApiRequest) -> Answer:
    """The answer to a request with some credentials."""
    headers = {"content-type": request.header("content-type") or "application/json"}
    if TOKENS[who]:
        headers["authorization"] = f"Bearer {TOKENS[who]}"
    return server.handle(replace(request, headers=headers))


def is_failure(answer: Answer) -> bool:
    """Return whether the server itself has failed."""
    return isinstance(answer, ApiResponse) and b"an internal error occurred" in answer.body


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_answered_with_little_work(server: ApiServer, name: str) -> None:
    answers: list[Answer] = []
    assert calls_of(lambda: answers.append(sent(server, *HOSTILE[name]))) < CALLS
    assert not is_failure(answers[0])


@pytest.mark.parametrize("who", TOKENS)
def test_no_route_fails_for_any_credentials(server: ApiServer, who: str) -> None:
    failed = [
        (method, route) for method, route, answer in answers(server, who) if is_failure(answer)
    ]
    assert failed == []


@pytest.mark.parametrize("who", ["none", "bad", "forged"])
def test_nothing_but_open_pages_is_read_without_credentials(server: ApiServer, who: str) -> None:
    read = {route for _, route, answer in answers(server, who) if answer.status < 400}
    assert read <= set(OPEN)


def test_a_user_without_rights_reads_discovery_alone(server: ApiServer) -> None:
    refused = [
        route
        for method, route, answer in answers(server, "low")
        if method == "GET" and answer.status == 403
    ]
    assert "/api/v1/pods" in refused
    assert "/api" not in refused


def answers(server: ApiServer, who: str) -> Iterator[tuple[str, str, Answer]]:
    """The answers of every route and method for some credentials."""
    for route in ROUTES:
        for method in METHODS:
            yield method, route, sent_by(who, server, ApiRequest(method, route, {}, b"{}"))


def test_no_expression_is_compiled_that_is_too_long(server: ApiServer) -> None:
    answer = sent(server, *HOSTILE["a long expression"])
    assert isinstance(answer, ApiResponse)
    assert b"exceeds limit: size: 20000, limit 10000" in answer.body


def test_further_expressions_are_not_compiled_after_long_errors(server: ApiServer) -> None:
    body = policies(*(f"{'@' * 9_000}{number}" for number in range(3)))
    answer = sent(server, "POST", POLICIES, "", body)
    assert isinstance(answer, ApiResponse)
    assert len(json.loads(answer.body)["details"]["causes"]) == 1


def test_expressions_have_a_limit_together(server: ApiServer) -> None:
    answer = sent(server, *HOSTILE["many expressions"])
    assert isinstance(answer, ApiResponse)
    assert b"at most 30000 characters together" in answer.body


def test_an_answer_contains_a_limited_number_of_errors(server: ApiServer) -> None:
    limits = {f"a b{number}": "1" for number in range(19_000)}
    container = {"name": "c", "image": "i", "resources": {"limits": limits}}
    pod = {"metadata": {"name": "x"}, "spec": {"containers": [container]}}
    answer = sent(server, "POST", PODS, "", json.dumps(pod).encode())
    assert isinstance(answer, ApiResponse)
    *causes, last = json.loads(answer.body)["details"]["causes"]
    assert len(causes) == 2_000
    assert last["message"] == "Too many: more than 2000 errors; the others are not shown"


def test_patches_do_not_add_values_to_a_large_object_without_end(server: ApiServer) -> None:
    def patched(**labels: str | None) -> int:
        body = json.dumps({"metadata": {"labels": labels}}).encode()
        return sent(server, "PATCH", f"{MAPS}/growing", MERGE, body).status

    assert sent(server, "POST", MAPS, "", b'{"metadata":{"name":"growing"}}').status == 201
    first, second = ({f"{word}{n}": "" for n in range(19_000)} for word in "ab")
    assert patched(**first) == 200
    assert patched(**second) == 413
    assert patched(a0=None, b0="") == 200


@pytest.mark.parametrize("who", ["none", "low", "right"])
@pytest.mark.parametrize("path", ["/api/v1/namespaces/{}/pods", "/{}", f"{PODS}/a/{{}}"])
def test_long_names_in_paths_are_not_kept(server: ApiServer, who: str, path: str) -> None:
    size = 50_000

    def send(number: int) -> object:
        request = ApiRequest("GET", path.format(f"{number}{'x' * size}"))
        return sent_by(who, server, request)

    assert bytes_kept(send) < 2 * size
