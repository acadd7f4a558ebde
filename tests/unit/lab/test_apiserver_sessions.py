"""Replays of recorded sessions: placeholders, order, and what counts as a difference."""

import json
from pathlib import Path
from typing import Any

from stretto_lab.conformance.apiserver import cases, sessions
from stretto_lab.conformance.apiserver.deviations import DEVIATIONS, deviation_of
from stretto_lab.conformance.apiserver.matching import Bindings, differences
from stretto_lab.conformance.apiserver.sessions import RecordedLine, RecordedRequest

NOW = "2026-01-01T00:00:00Z"


def found(want: Any, got: Any, bindings: Bindings | None = None) -> list[str]:
    known = bindings or Bindings({}, NOW)
    return [path for path, _, _ in differences(want, got, known)]


def test_a_placeholder_stands_for_one_value_within_a_session() -> None:
    bindings = Bindings({}, NOW)
    assert found({"a": "${RV1}"}, {"a": "7"}, bindings) == []
    assert found({"a": "${RV1}"}, {"a": "8"}, bindings) == ["a"]


def test_two_versions_are_never_equal() -> None:
    assert found(["${RV1}", "${RV2}"], ["7", "7"]) == ["[1]"]


def test_unordered_items_match_in_any_order() -> None:
    assert found({"${UNORDERED}": [1, 2]}, [2, 1]) == []


def test_members_that_only_one_side_has_are_differences() -> None:
    assert found({"a": 1}, {"b": 1}) == ["a", "b"]


def test_a_session_is_replayed_against_a_fresh_server(tmp_path: Path) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    request = {
        "method": "POST",
        "path": maps,
        "headers": {"Authorization": "Bearer ${TOKEN:admin}"},
    }
    lines = [
        {"session": "crud.x", "n": 0, "setup": {"server": "bare", "flags": []}},
        {"session": "crud.x", "n": 1, "request": {**request, "json": item}, "status": 201},
        {"session": "crud.x", "n": 2, "request": {**request, "json": item}, "status": 201},
    ]
    path = tmp_path / "crud.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    agreed = [not cases.compare(case).disagreed for case in cases.read(path)]
    assert agreed == [True, False]


def test_answers_after_missing_lines_are_a_named_deviation(tmp_path: Path) -> None:
    first = {"session": "crud.x", "n": 0, "setup": {}}
    lines = [first, *({"session": "crud.x", "n": number} for number in (1, 2, 4))]
    path = tmp_path / "crud.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    read = sessions.read(path)
    rules = [deviation_of(each, "metadata.labels.a", "1", "(absent)") for each in read]
    assert rules == [None, None, None, "missing-lines"]


def test_a_remembered_token_is_a_named_deviation() -> None:
    headers = {"Authorization": "Bearer ${JWT1}"}
    request = RecordedRequest("GET", "/api", headers)
    line = RecordedLine(session="tokens.x", n=1, request=request, status=200)
    assert deviation_of(line, "status", 200, "401 Unauthorized") == "ended-tokens"
    assert deviation_of(line, "status", 404, "401 Unauthorized") is None


def test_an_action_waits_for_a_member_of_the_answer(tmp_path: Path) -> None:
    schemas = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    headers = {"Authorization": "Bearer ${TOKEN:admin}"}
    spec = {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9}
    item = {"metadata": {"name": "a"}, "spec": spec}
    create = {"method": "POST", "path": schemas, "headers": headers, "json": item}
    read = {"method": "GET", "path": f"{schemas}/a", "headers": headers}
    wait = {"until": "settled", "method": "GET", "path": f"{schemas}/a", "has": "status.conditions"}
    lines = [
        {"session": "crud.x", "n": 0, "setup": {"server": "bare", "flags": []}},
        {"session": "crud.x", "n": 1, "request": create, "status": 201},
        {"session": "crud.x", "n": 2, "action": wait},
        {"session": "crud.x", "n": 3, "request": read, "status": 200, "json": {}},
    ]
    path = tmp_path / "crud.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    last = list(cases.read(path))[-1]
    assert "conditions" in next(got for path, _, got in last.found if path == "status")


def test_metrics_that_only_the_replay_has_are_a_named_deviation() -> None:
    line = RecordedLine(session="kubectl.x", n=1, action={"kubectl": ["top", "nodes"]}, exit=1)
    assert deviation_of(line, "exit", 1, "0 NAME") == "metrics"
    assert deviation_of(line, "exit", 1, "2 failed") is None


def test_only_the_digits_of_a_printed_version_may_differ() -> None:
    line = RecordedLine(session="kubectl.x", n=1, action={"kubectl": ["describe", "queue", "a"]})
    want, got = "  Resource Version:  12", "  Resource Version:  34"
    assert deviation_of(line, "stdout[9]", want, got) == "printed-versions"
    assert deviation_of(line, "stdout[9]", want, "  UID:  34") is None


def test_every_rule_is_in_the_table_of_the_documents() -> None:
    page = Path(__file__).parents[3] / "docs/parity/kube-apiserver.md"
    text = page.read_text()
    assert [rule.name for rule in DEVIATIONS if f"| `{rule.name}` |" not in text] == []
