"""The audit log: policies, events and files."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.api.webhooks.reviews import PendingReviews
from stretto.web.audit.files import AuditFile, AuditFiles
from stretto.web.audit.log import AuditLog, AuditSettings
from stretto.web.audit.policy import METADATA_ONLY, AuditPolicy, read_policy

MAPS = "/api/v1/namespaces/default/configmaps"


class Recorded:
    """A server whose requests are recorded by a policy."""

    def __init__(self, policy: AuditPolicy) -> None:
        self.lines: list[Any] = []
        clock = ManualClock(1_790_000_000.0)
        server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
        settings = AuditSettings(policy, self.keep, clock, Rng(3))
        self.log = AuditLog(server.attempt, server.user_of, settings)

    def keep(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    def send(self, method: str, path: str, body: Any = None, accept: str = "json") -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "user-agent": "test/1"}
        headers["accept"] = f"application/{accept}"
        return self.log.attempt(ApiRequest(method, path, headers, data))

    def store(self, name: str = "m") -> None:
        self.send("POST", MAPS, {"metadata": {"name": name}, "data": {"x": "1"}})

    def stages(self) -> list[str]:
        return [each["stage"] for each in self.lines]


def policy(*rules: Any, **fields: Any) -> AuditPolicy:
    return msgspec.convert({"rules": list(rules), **fields}, AuditPolicy)


def test_metadata_state_the_user_and_the_request() -> None:
    recorded = Recorded(METADATA_ONLY)
    recorded.store()
    received, complete = recorded.lines
    assert (received["stage"], complete["stage"]) == ("RequestReceived", "ResponseComplete")
    assert received["auditID"] == complete["auditID"]
    assert (complete["verb"], complete["user"]["username"]) == ("create", "admin")
    reference = {"resource": "configmaps", "namespace": "default", "name": "m", "apiVersion": "v1"}
    assert complete["objectRef"] == reference
    assert complete["responseStatus"] == {"metadata": {}, "code": 201}
    assert "requestObject" not in complete
    assert (complete["requestURI"], complete["userAgent"]) == (MAPS, "test/1")


@pytest.mark.parametrize(
    ("level", "objects"),
    [
        ("None", None),
        ("Metadata", set()),
        ("Request", {"requestObject"}),
        ("RequestResponse", {"requestObject", "responseObject"}),
    ],
)
def test_the_level_decides_which_objects_are_recorded(level: str, objects: set[str] | None) -> None:
    recorded = Recorded(policy({"level": level, "omitStages": ["RequestReceived"]}))
    recorded.store()
    found = [{key for key in each if key.endswith("Object")} for each in recorded.lines]
    assert found == ([] if objects is None else [objects])


def test_objects_in_protobuf_are_recorded_as_json() -> None:
    recorded = Recorded(policy({"level": "RequestResponse"}))
    body = {"metadata": {"name": "m"}, "data": {"x": "1"}}
    recorded.send("POST", MAPS, body, "vnd.kubernetes.protobuf")
    event = recorded.lines[-1]
    assert event["responseObject"]["data"] == {"x": "1"}
    assert event["objectRef"]["name"] == "m"


def test_managed_fields_are_left_out_where_the_policy_states_it() -> None:
    rules = {"level": "RequestResponse"}, {"omitManagedFields": True}
    recorded = Recorded(policy(rules[0], **rules[1]))
    recorded.store()
    recorded.send("GET", MAPS)
    one, several = (each["responseObject"] for each in recorded.lines[1::2])
    assert "managedFields" not in one["metadata"]
    assert all("managedFields" not in each["metadata"] for each in several["items"])


@pytest.mark.parametrize(
    ("rule", "is_recorded"),
    [
        ({"verbs": ["create"]}, True),
        ({"verbs": ["get"]}, False),
        ({"users": ["admin"]}, True),
        ({"users": ["other"]}, False),
        ({"userGroups": ["system:masters"]}, True),
        ({"userGroups": ["dev"]}, False),
        ({"namespaces": ["default"]}, True),
        ({"namespaces": [""]}, False),
        ({"resources": [{"group": "", "resources": ["configmaps"]}]}, True),
        ({"resources": [{"group": "", "resources": ["configmaps/*"]}]}, True),
        ({"resources": [{"group": "", "resources": ["*/status", "pods"]}]}, False),
        ({"resources": [{"group": "apps"}]}, False),
        ({"resources": [{"group": "", "resources": ["*"], "resourceNames": ["z"]}]}, False),
        ({"nonResourceURLs": ["/api*"]}, False),
    ],
)
def test_the_first_rule_that_matches_counts(rule: Any, is_recorded: bool) -> None:
    recorded = Recorded(policy({"level": "Metadata", **rule}, {"level": "None"}))
    recorded.store()
    assert bool(recorded.lines) == is_recorded


def test_paths_outside_resources_match_by_their_beginning() -> None:
    recorded = Recorded(policy({"level": "Metadata", "nonResourceURLs": ["/ready*", "/version"]}))
    for path in ("/readyz", "/version", "/livez", MAPS):
        recorded.send("GET", path)
    assert {each["requestURI"] for each in recorded.lines} == {"/readyz", "/version"}


def test_a_refusal_states_why() -> None:
    recorded = Recorded(METADATA_ONLY)
    recorded.send("GET", f"{MAPS}/none")
    status = recorded.lines[-1]["responseStatus"]
    assert (status["code"], status["reason"], status["status"]) == (404, "NotFound", "Failure")


@pytest.mark.parametrize("value", ["true", "True", "1", ""])
def test_a_watch_is_recorded_as_a_watch_however_it_is_requested(value: str) -> None:
    recorded = Recorded(METADATA_ONLY)
    recorded.send("GET", f"{MAPS}?watch={value}").close()
    assert {each["verb"] for each in recorded.lines} == {"watch"}


def test_a_watch_has_an_event_at_its_beginning_and_at_its_end() -> None:
    recorded = Recorded(METADATA_ONLY)
    stream = recorded.send("GET", f"{MAPS}?watch=true")
    assert isinstance(stream, ApiStream)
    assert recorded.stages() == ["RequestReceived", "ResponseStarted"]
    stream.close()
    assert recorded.stages()[-1] == "ResponseComplete"
    assert recorded.lines[-1]["verb"] == "watch"


def test_a_request_that_waits_for_webhooks_is_received_once() -> None:
    recorded = Recorded(METADATA_ONLY)
    answers = [PendingReviews(()), ApiResponse(200, b"{}")]
    settings = AuditSettings(METADATA_ONLY, recorded.keep, ManualClock(0.0), Rng(1))
    log = AuditLog(lambda _: answers.pop(0), recorded.log._user_of, settings)
    request = ApiRequest("GET", MAPS)
    log.attempt(request)
    log.attempt(request)
    assert recorded.stages() == ["RequestReceived", "ResponseComplete"]


def test_the_file_is_rotated_by_its_size(tmp_path: Path) -> None:
    clock = ManualClock(1_790_000_000.0)
    file = AuditFile(AuditFiles(tmp_path / "audit.log", max_size=1, max_backup=2), clock)
    for number in range(5):
        file.write(bytes([65 + number]) * 700_000)
        clock.advance(1.5)
    file.close()
    older = sorted(each.name for each in tmp_path.iterdir())
    assert len(older) == 3
    assert (tmp_path / "audit.log").read_bytes()[:1] == b"E"
    assert older[0].startswith("audit-2026-")


def test_a_log_continues_after_a_restart(tmp_path: Path) -> None:
    for text in (b"one", b"two"):
        file = AuditFile(AuditFiles(tmp_path / "audit.log"), ManualClock(0.0))
        file.write(text)
        file.close()
    assert (tmp_path / "audit.log").read_bytes() == b"one\ntwo\n"


def test_a_policy_is_read_from_a_file(tmp_path: Path) -> None:
    text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
    (tmp_path / "p.yaml").write_text(f"{text}rules:\n- level: Request\n  verbs: [create]\n")
    found = read_policy(tmp_path / "p.yaml")
    assert (found.rules[0].level, found.omit_stages) == ("Request", {"RequestReceived"})


HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "0 documents"),
        ("kind: Policy\nrules: []\n", "got 'no apiVersion, Kind=Policy'"),
        (f"{HEAD}rules: [{{level: Loud}}]", "rules[0].level"),
        (f"{HEAD}rules: [{{level: None, verb: [get]}}]", "rules[0].verb: unknown key"),
        (f"{HEAD}omitStages: [Never]", "omitStages"),
        (
            f"{HEAD}rules: [{{level: None, namespaces: [a], nonResourceURLs: [/x]}}]",
            "rules[0].nonResourceURLs",
        ),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: [x]}}]", "a path from /"),
    ],
)
def test_a_malformed_policy_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        read_policy(tmp_path / "p.yaml")
    assert problem in str(error.value)


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--audit-log"):
        AuditFile(AuditFiles(tmp_path / "none" / "audit.log"), ManualClock(0.0))
