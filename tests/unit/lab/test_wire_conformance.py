"""Outcomes of recorded wire traffic: placeholders, deviations, totals."""

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from stretto.api.kinds.federation import PROPAGATION_POLICY
from stretto.api.wire.kinds import CONFIG_MAP
from stretto.cli.main import cli
from stretto.stores.render import render
from stretto_lab.conformance.report import CaseComparison, ConformanceReport, Disagreement
from stretto_lab.conformance.wire.cases import OutcomeCase, compare
from stretto_lab.conformance.wire.placeholders import equal, filled, with_names
from stretto_lab.conformance.wire.replay import WireReplay
from stretto_lab.conformance.wire.rules.facts import NO_FACTS, ReplayFacts
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


def differing(
    part: str, name: str, want: object, got: object, facts: ReplayFacts = NO_FACTS
) -> set[str]:
    """The rules that explain a difference of one part."""
    others: dict[str, object] = {each: {} for each in ("federated", "members", "source")}
    one = OutcomeCase(
        "one-1", "cluster", {**others, part: {name: want}}, {**others, part: {name: got}}, {}, facts
    )
    return rules_of(one)


def test_a_mark_of_an_unready_cluster_may_come_later() -> None:
    want = {"clusters": {"a": "OK", "b": "ClusterNotReady"}}
    ready, failed = {"clusters": {"a": "OK", "b": "OK"}}, {"clusters": {"b": "CreationFailed"}}
    unready = ReplayFacts(unready=frozenset({"b"}))
    assert differing("federated", "web", want, ready, unready) == {"unready-clusters"}
    assert differing("federated", "web", want, failed, unready) == set()
    assert differing("federated", "web", want, ready) == set()


def test_a_namespace_that_is_placed_nowhere_may_be_gone() -> None:
    want = {"Namespace/team": {}, "Deployment/web": {"replicas": 1}}
    rest = {"Deployment/web": {"replicas": 1}}
    assert differing("members", "a", want, rest) == {"ended-objects"}
    assert differing("members", "a", want, {"Namespace/team": {}}) == set()


def test_the_system_namespace_of_a_cluster_that_joins_must_exist() -> None:
    assert differing("members", "a", {"Namespace/kube-admiral-system": {}}, {}) == set()


def test_an_object_that_was_ending_may_be_gone() -> None:
    ending = {"ConfigMap/conf": {"terminating": True}}
    assert differing("members", "a", ending, {}) == {"ended-objects"}
    assert differing("members", "a", {"ConfigMap/conf": {}}, {}) == set()


def test_a_namespace_that_is_placed_is_not_gone() -> None:
    shown = {"placements": {"nsautoprop-controller": ["alpha"]}, **PLACED}
    members = {"alpha": {"Namespace/team": {}}}, {"alpha": {}}
    assert compare(whole(shown, shown, NO_FACTS, "team-namespaces", members=members))[0]


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


def whole(
    want: object,
    got: object,
    facts: ReplayFacts = NO_FACTS,
    name: str = "web-deployments.apps",
    **parts: tuple[object, object],
) -> OutcomeCase:
    """A case whose federated object may differ."""
    both: list[dict[str, object]] = [
        {"federated": {name: x}, "members": {}, "source": {}} for x in (want, got)
    ]
    for part, values in parts.items():
        for each, value in zip(both, values, strict=True):
            each[part] = value
    kinds = {
        "deployments.apps": "Deployment",
        "namespaces": "Namespace",
        "statefulsets.apps": "StatefulSet",
    }
    return OutcomeCase("one-1", "status", both[0], both[1], kinds, facts)


def rules_of(case_: OutcomeCase) -> set[str]:
    """The rules that explain all differences; empty if one has no rule."""
    found, rules = compare(case_)
    return set() if found else rules


WEIGHED = ReplayFacts(weighed=frozenset({"web-deployments.apps"}))
CHOSEN = ReplayFacts(chosen=frozenset({"web-deployments.apps"}))


def test_shares_by_capacity_are_near_the_recorded_ones() -> None:
    want, near = placed(alpha=2, beta=4), placed(alpha=3, beta=3)
    assert rules_of(whole(want, near, WEIGHED)) == {"capacity-in-use"}
    assert rules_of(whole(want, placed(alpha=4, beta=2), WEIGHED)) == set()


def test_clusters_by_capacity_have_the_recorded_number() -> None:
    members = {"alpha": {"Deployment/web": {}}}, {"gamma": {"Deployment/web": {}}}
    other = whole(placed(alpha=2), placed(gamma=2), CHOSEN, members=members)
    assert rules_of(other) == {"capacity-in-use"}
    assert rules_of(whole(placed(alpha=2), placed(beta=1, gamma=1), CHOSEN)) == set()


def test_clusters_by_capacity_may_differ_with_reasons_of_cluster_changes() -> None:
    key = "scheduling-deferred-reasons"
    other = {**placed(gamma=2), key: "clusterAPIResourcesChanged:false"}
    assert rules_of(whole(placed(alpha=2), other, CHOSEN)) == {"capacity-in-use"}
    other[key] = "policyContentChanged:false"
    assert rules_of(whole(placed(alpha=2), other, CHOSEN)) == set()


def test_placements_by_weights_may_not_differ() -> None:
    found, _ = compare(whole(placed(alpha=2, beta=4), placed(alpha=3, beta=3)))
    assert [each.field for each in found] == ["federated.web-deployments.apps"]


def test_placements_by_capacity_have_the_recorded_total() -> None:
    assert compare(whole(placed(alpha=2, beta=4), placed(alpha=2, beta=3), WEIGHED))[0]


def test_objects_of_members_differ_only_with_their_federated_object() -> None:
    want, got = placed(alpha=2), placed(beta=2)
    members = {"alpha": {"Service/web": {}}}, {"alpha": {}}
    found, _ = compare(whole(want, got, CHOSEN, members=members))
    assert [each.field for each in found] == ["members.alpha.Service/web"]


def test_an_object_whose_profile_appears_is_scheduled_at_once() -> None:
    waits = {"pending": [["kubeadmiral.io/global-scheduler"]], "propagated": [None, None]}
    pending = {**waits, "synced": False}
    waited = ReplayFacts(waited=frozenset({"web-deployments.apps"}))
    assert rules_of(whole(pending, placed(alpha=1), waited)) == {"profile-appears"}
    assert rules_of(whole(pending, placed(alpha=1))) == set()


def test_only_a_namespace_that_opts_out_stays_on_the_host() -> None:
    want = {"placements": {"nsautoprop-controller": ["alpha"]}, **PLACED}
    members = {"alpha": {"Namespace/team": {}}}, {"alpha": {}}
    facts = ReplayFacts(opted_out=frozenset({"team-namespaces"}))
    stays = whole(want, PLACED, facts, "team-namespaces", members=members)
    assert rules_of(stays) == {"namespace-opt-out"}
    assert rules_of(whole(want, PLACED, NO_FACTS, "team-namespaces", members=members)) == set()


def test_only_an_object_that_is_not_stopped_has_another_placement() -> None:
    facts = ReplayFacts(not_stopped=frozenset({"web-deployments.apps"}))
    assert rules_of(whole(PLACED, placed(alpha=1), facts)) == {"scheduling-not-stopped"}
    assert rules_of(whole(PLACED, placed(alpha=1))) == set()


def test_only_members_that_keep_replicas_are_complete_without_a_path() -> None:
    failed = {**placed(alpha=1), "clusters": {"alpha": "FieldRetentionFailed"}}
    done = {**placed(alpha=1), "clusters": {"alpha": "OK"}}
    facts = ReplayFacts(keeping=frozenset({"web-deployments.apps"}))
    assert rules_of(whole(failed, done, facts)) == {"kept-replicas"}
    assert rules_of(whole(failed, done)) == set()


def test_only_namespaces_that_every_cluster_has_are_complete_without_a_placement() -> None:
    want = {"propagated": [None, None], "synced": False}
    assert rules_of(whole(want, PLACED, name="kube-system-namespaces")) == {"host-namespaces"}
    assert rules_of(whole(want, PLACED, name="team-namespaces")) == set()


def test_only_differences_of_a_policy_that_does_not_exist_go() -> None:
    kept = {**PLACED, "overrides": {"overridepolicy-controller": {"alpha": []}}}
    gone = ReplayFacts(without_policy=frozenset({"web-deployments.apps"}))
    assert rules_of(whole(kept, PLACED, gone)) == {"deleted-override-policy"}
    assert rules_of(whole(kept, PLACED)) == set()


def test_reasons_differ_only_by_those_of_cluster_changes() -> None:
    key = "scheduling-deferred-reasons"
    one = {**PLACED, key: "policyContentChanged:false; clusterAPIResourcesChanged:false"}
    other = {**PLACED, key: "policyContentChanged:false"}
    assert rules_of(whole(one, other)) == {"deferred-in-turn"}
    assert rules_of(whole(other, PLACED)) == set()


def test_another_rule_allows_reasons_of_cluster_changes() -> None:
    kept = {**PLACED, "overrides": {"overridepolicy-controller": {"alpha": []}}}
    deferred = {**kept, "scheduling-deferred-reasons": "clusterLabelsChanged:false"}
    gone = ReplayFacts(without_policy=frozenset({"web-deployments.apps"}))
    assert rules_of(whole(deferred, PLACED, gone)) == {"deleted-override-policy"}


def test_a_stateful_set_in_several_clusters_has_the_sum_of_its_members() -> None:
    shown = placed(alpha=2, beta=2)
    members = {x: {"StatefulSet/web": {"replicas": 2}} for x in ("alpha", "beta")}
    for count, rules in ((4, {"status-of-every-kind"}), (3, set[str]())):
        source = {"StatefulSet/web": {"replicas": 0}}, {"StatefulSet/web": {"replicas": count}}
        parts = {"members": (members, members), "source": source}
        assert rules_of(whole(shown, shown, NO_FACTS, "web-statefulsets.apps", **parts)) == rules


def test_the_end_of_a_job_is_later_than_what_the_host_accepted() -> None:
    want, later = {"active": 2, "succeeded": 1}, {"succeeded": 3}
    assert rules_of(case(want, later, "Job/batch")) == {"job-end-reaches-host"}
    assert rules_of(case(None, later, "Job/batch")) == {"job-end-reaches-host"}
    assert rules_of(case(later, want, "Job/batch")) == set()


def test_only_the_generation_of_a_deployment_counts_reports() -> None:
    generations = {"observedGeneration": 3, "replicas": 1}, {"observedGeneration": 4, "replicas": 1}
    assert rules_of(case(*generations, "Deployment/web")) == set()
    source = {"Deployment/web": generations[0]}, {"Deployment/web": generations[1]}
    assert rules_of(whole(PLACED, PLACED, source=source)) == {"reported-generation"}
    assert rules_of(case(*generations, "StatefulSet/web")) == set()


def test_the_generation_of_a_deployment_that_waits_counts_reports_if_the_recorded_one_waits() -> (
    None
):
    waits = {"pending": [["kubeadmiral.io/global-scheduler"]], "synced": False}
    shown = {"observedGeneration": 3}, {"observedGeneration": 4}
    source = {"Deployment/web": shown[0]}, {"Deployment/web": shown[1]}
    assert rules_of(whole(waits, waits, source=source)) == {"reported-generation"}
    assert "reported-generation" not in rules_of(whole(waits, PLACED, source=source))
    unsynced = {**PLACED, "synced": False}
    assert rules_of(whole(unsynced, unsynced, source=source)) == set()


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


def test_a_merge_patch_keeps_what_the_server_has_set() -> None:
    path = "/apis/core.kubeadmiral.io/v1alpha1/namespaces/team/propagationpolicies"
    policy = {"metadata": {"name": "plan"}, "spec": {"schedulingMode": "Divide"}}
    change = {"spec": {"reschedulePolicy": {"disableRescheduling": True}}}
    steps = (
        UserStep(1.0, "host", "POST", path, 201, policy),
        UserStep(2.0, "host", "PATCH", f"{path}/plan", 200, change),
        RecordedOutcome(3.0, "calm", {}, {}, {}),
    )
    common: dict[str, object] = {"typeConfigs": [], "memberKinds": [], "clusters": {}, "nodes": {}}
    replay = WireReplay(WireScenario("one", "restart", (), steps), common)
    assert len(list(replay.outcomes())) == 1
    found = replay.fleet.host.get(PROPAGATION_POLICY.kind, "team", "plan")
    assert found is not None
    assert msgspec.json.decode(render(found))["spec"]["reschedulePolicy"] == {
        "disableRescheduling": True,
        "rescheduleWhen": {"policyContentChanged": True},
    }


def test_a_request_that_was_refused_is_not_repeated() -> None:
    path = "/api/v1/namespaces/team/configmaps"
    steps = (
        UserStep(1.0, "host", "POST", path, 422, {"metadata": {"name": "conf"}, "data": {}}),
        RecordedOutcome(2.0, "calm", {}, {}, {}),
    )
    common: dict[str, object] = {"typeConfigs": [], "memberKinds": [], "clusters": {}, "nodes": {}}
    replay = WireReplay(WireScenario("one", "restart", (), steps), common)
    assert len(list(replay.outcomes())) == 1
    assert replay.fleet.host.get(CONFIG_MAP, "team", "conf") is None


def test_only_recorded_wire_traffic_runs_on_real_servers(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"family": "ka_spread_plan"}))
    done = CliRunner().invoke(cli, ["conformance", "--real", "--cases", str(file)])
    said = "recorded wire traffic" in done.stderr
    assert (done.exit_code, said) == (2, True), done.stderr
