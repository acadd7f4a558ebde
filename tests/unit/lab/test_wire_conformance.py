"""Outcomes of recorded wire traffic: placeholders, deviations, totals."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.cli.main import cli
from stretto_lab.conformance.report import CaseComparison, ConformanceReport, Disagreement
from stretto_lab.conformance.wire.cases import OutcomeCase, compare
from stretto_lab.conformance.wire.placeholders import equal, filled, with_names
from stretto_lab.conformance.wire.replay import WireReplay
from stretto_lab.conformance.wire.scenario import (
    RecordedNote,
    RecordedOutcome,
    UserStep,
    WireScenario,
)
from stretto_lab.conformance.wire.shared import busy_pods, equal_nodes


def case(want: object, got: object, name: str = "Deployment/web") -> OutcomeCase:
    """A case whose status of one source may differ."""
    others: dict[str, object] = {"federated": {}, "members": {}}
    return OutcomeCase(
        "one-1", "status", {**others, "source": {name: want}}, {**others, "source": {name: got}}
    )


def test_a_recorded_time_equals_any_time() -> None:
    assert equal({"startTime": "<time>"}, {"startTime": "2026-01-01T00:00:00Z"})
    assert not equal({"startTime": "<time>"}, {})


def test_a_relative_time_is_filled_in() -> None:
    assert filled({"until": "<time:+30s>"}, 0.0) == {"until": "1970-01-01T00:00:30Z"}


def test_a_difference_without_a_rule_is_a_disagreement() -> None:
    found, rules = compare(case({"replicas": 1}, {"replicas": 2}))
    assert [each.field for each in found] == ["source.Deployment/web"]
    assert rules == set()


def test_the_status_of_a_daemon_set_differs_on_purpose() -> None:
    wanted = {"numberReady": 0, "desiredNumberScheduled": 0}
    found, rules = compare(case(wanted, {"numberReady": 3}, name="DaemonSet/log"))
    assert (found, rules) == ([], {"status-of-every-kind"})


def test_a_report_counts_agreeing_deviating_and_wrong_cases() -> None:
    report = ConformanceReport()
    one = case({}, {})
    report.add(one, CaseComparison([]))
    report.add(one, CaseComparison([], {"status-of-every-kind"}))
    report.add(
        one, CaseComparison([Disagreement("one-1", "source", 1, 2)], {"status-of-every-kind"})
    )
    assert (report.cases, report.agreed, report.deviating, report.wrong) == (3, 1, 1, 1)
    assert report.deviations == {"status-of-every-kind": 2}


def test_hashes_of_revisions_do_not_count() -> None:
    found, rules = compare(
        case({"currentRevision": "db-6f5b"}, {"currentRevision": "db-8675"}, "StatefulSet/db")
    )
    assert (found, rules) == ([], set())


def differing(part: str, name: str, want: object, got: object) -> set[str]:
    """The rules that explain a difference of one part."""
    others: dict[str, object] = {each: {} for each in ("federated", "members", "source")}
    one = OutcomeCase(
        "one-1", "cluster", {**others, part: {name: want}}, {**others, part: {name: got}}
    )
    found, rules = compare(one)
    return set() if found else rules


def test_a_mark_of_an_unready_cluster_may_come_later() -> None:
    want = {"clusters": {"a": "OK", "b": "ClusterNotReady"}}
    ready, failed = {"clusters": {"a": "OK", "b": "OK"}}, {"clusters": {"b": "CreationFailed"}}
    assert differing("federated", "web", want, ready) == {"unready-clusters"}
    assert differing("federated", "web", want, failed) == set()


def test_a_deleted_namespace_may_be_gone() -> None:
    want = {"Namespace/team": {}, "Deployment/web": {"replicas": 1}}
    rest = {"Deployment/web": {"replicas": 1}}
    assert differing("members", "a", want, rest) == {"ended-namespaces"}
    assert differing("members", "a", want, {"Namespace/team": {}}) == set()


def test_what_a_bootstrap_token_writes_is_not_recorded() -> None:
    got = {"Namespace/kube-admiral-system": {}}
    assert differing("members", "a", {}, got) == {"unrecorded-join"}


def test_a_cluster_without_known_nodes_gets_equal_ones() -> None:
    resources = {"schedulableNodes": 2, "allocatable": {"cpu": "8", "memory": "16Gi"}}
    nodes = equal_nodes(resources)
    assert [each["allocatable"]["cpu"] for each in nodes] == ["4", "4"]


PLACED = {"propagated": ["True", None], "synced": True}


def placed(**replicas: int) -> dict[str, object]:
    """A federated Deployment with divided replicas."""
    patches = {
        name: [{"op": "replace", "path": "/spec/replicas", "value": count}]
        for name, count in replicas.items()
    }
    placements = {"global-scheduler": list(replicas)}
    return {"placements": placements, "overrides": {"global-scheduler": patches}, **PLACED}


def whole(want: object, got: object, *free: str, **parts: tuple[object, object]) -> OutcomeCase:
    """A case whose federated Deployment ``web`` may differ."""
    both: list[dict[str, object]] = [
        {"federated": {"web-deployments.apps": x}, "members": {}, "source": {}} for x in (want, got)
    ]
    for part, values in parts.items():
        for each, value in zip(both, values, strict=True):
            each[part] = value
    kinds = {"deployments.apps": "Deployment"}
    return OutcomeCase("one-1", "status", both[0], both[1], kinds, frozenset(free))


def test_placements_by_capacity_may_differ_in_all_but_the_total() -> None:
    want, got = placed(alpha=2, beta=4), placed(alpha=3, gamma=3)
    members = {"alpha": {"Deployment/web": 2}}, {"alpha": {"Deployment/web": 3}}
    found, rules = compare(whole(want, got, "web-deployments.apps", members=members))
    assert (found, rules) == ([], {"capacity-in-use"})


def test_placements_by_weights_may_not_differ() -> None:
    found, _ = compare(whole(placed(alpha=2, beta=4), placed(alpha=3, gamma=3)))
    assert [each.field for each in found] == ["federated.web-deployments.apps"]


def test_placements_by_capacity_have_the_recorded_total() -> None:
    case_ = whole(placed(alpha=2, beta=4), placed(alpha=3), "web-deployments.apps")
    assert compare(case_)[0]


def test_objects_of_members_differ_only_with_their_federated_object() -> None:
    want, got = placed(alpha=2), placed(beta=2)
    members = {"alpha": {"Service/web": 1}}, {"alpha": {"Service/web": 2}}
    found, _ = compare(whole(want, got, "web-deployments.apps", members=members))
    assert [each.field for each in found] == ["members.alpha"]


def test_an_object_whose_profile_appears_is_scheduled_at_once() -> None:
    waits = {"pending": [["kubeadmiral.io/global-scheduler"]], "propagated": [None, None]}
    found, rules = compare(whole({**waits, "synced": False}, placed(alpha=1)))
    assert (found, rules) == ([], {"profile-appears"})


def test_random_suffixes_have_the_recorded_names() -> None:
    want = {"federated": {}, "members": {"a": {"EndpointSlice/web-<rand:1>": {}}}, "source": {}}
    got = {"federated": {}, "members": {"a": {"EndpointSlice/web-x7k2p": {}}}, "source": {}}
    assert with_names(want, got)["members"] == want["members"]


def test_what_was_in_use_becomes_pods() -> None:
    resources = {
        "allocatable": {"cpu": "24", "memory": "48Gi"},
        "available": {"cpu": "12", "memory": "48896Mi"},
    }
    pods = busy_pods(resources)
    requests = pods[0]["spec"]["containers"][0]["resources"]["requests"]
    assert (len(pods), requests) == (4, {"cpu": "3", "memory": "64Mi"})


def test_a_replay_goes_on_while_the_controllers_are_stopped() -> None:
    body = {"metadata": {"name": "conf"}, "data": {}}
    path = "/api/v1/namespaces/team/configmaps"
    steps = (
        RecordedNote(1.0, "controller manager stopped"),
        UserStep(2.0, "host", "POST", path, body=body),
        RecordedNote(3.0, "controller manager started again"),
        RecordedOutcome(4.0, "calm", {}, {}, {}),
    )
    common: dict[str, object] = {"typeConfigs": [], "memberKinds": [], "clusters": {}, "nodes": {}}
    replay = WireReplay(WireScenario("one", "restart", (), steps), common)
    assert [got["federated"] for _, got in replay.outcomes()] == [{}]
    assert replay.fleet.host.get(CONFIG_MAP, "team", "conf") is not None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"type": "scenario", "id": "x", "family": "cluster", "clusters": []}, "besides cluster"),
        ({"family": "ka_spread_plan"}, "recorded wire traffic"),
    ],
)
def test_only_scenarios_that_share_servers_run_on_real_ones(
    line: dict[str, object], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(line))
    done = CliRunner().invoke(cli, ["conformance", "--real", "--cases", str(file)])
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
