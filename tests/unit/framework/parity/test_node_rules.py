"""Gates, cordons, node names, taints and node affinity of the exact path."""

from typing import Any

import pytest

from stretto.framework.model.status import SKIP, unresolvable
from stretto.framework.plugins import node_affinity, node_name, node_unschedulable, taints
from stretto.framework.plugins.parity import node_declared_features, scheduling_gates
from tests.support.parity_cluster import before, decide, node, pod, refused, said, scores

TAINTS, AFFINITY = taints.NAME, node_affinity.NAME
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def taint(key: str, effect: str, value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


def within(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def name_in(name: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}


def test_a_gated_pod_is_not_considered_and_names_its_gates() -> None:
    decision = decide(pod(schedulingGates=[{"name": "b"}, {"name": "a"}]), node("n"))
    assert decision.preenqueue.reasons == ("waiting for scheduling gates: [b a]",)
    assert decision.filtered is None
    assert scheduling_gates.NAME == "SchedulingGates"


def test_a_cordoned_node_is_refused_unless_the_cordon_is_tolerated() -> None:
    tolerates = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    nodes = [node("a", cordoned=True), node("b")]
    assert refused(node_unschedulable.NAME, pod(), *nodes) == ["a"]
    assert refused(node_unschedulable.NAME, pod(tolerations=[tolerates]), *nodes) == []


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    assert refused(node_name.NAME, pod(on="a"), node("a"), node("b")) == ["b"]


@pytest.mark.parametrize(
    ("toleration", "kept_away"),
    [
        ({}, True),
        ({"operator": "Exists"}, False),
        ({"key": "k", "value": "v"}, False),
        ({"key": "k", "operator": "Equal", "value": "w"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, True),
    ],
)
def test_hard_taints_need_a_toleration(toleration: dict[str, str], kept_away: bool) -> None:
    requested = pod(tolerations=[toleration] if toleration else [])
    found = refused(TAINTS, requested, node("n", taints=[taint("k", "NoSchedule", "v")]))
    assert bool(found) is kept_away


def test_the_reason_of_a_taint_does_not_name_it() -> None:
    found = said(TAINTS, pod(), node("n", taints=[taint("k", "NoExecute")]))
    assert found["n"].message == "node(s) had untolerated taint(s)"


def test_soft_taints_count_against_a_node_by_share_of_the_most() -> None:
    soft = [taint(str(k), "PreferNoSchedule") for k in range(3)]
    nodes = [node("a"), node("b", taints=soft[:1]), node("c", taints=soft)]
    assert scores(TAINTS, pod(), *nodes) == {"a": 100, "b": 67, "c": 0}
    assert scores(TAINTS, pod(), node("a"), node("b")) == {"a": 100, "b": 100}


def test_a_toleration_of_another_effect_does_not_help_the_score() -> None:
    tolerates = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}
    nodes = [node("a"), node("b", taints=[taint("k", "PreferNoSchedule")])]
    assert scores(TAINTS, pod(tolerations=[tolerates]), *nodes) == {"a": 100, "b": 0}


@pytest.mark.parametrize(
    ("value", "operator", "limit", "inside"),
    [
        ("007", "Gt", "6", True),
        ("7", "Gt", "7", False),
        ("7", "Lt", "8", True),
        ("seven", "Gt", "0", False),
        ("-3", "Lt", "0", True),
    ],
)
def test_comparisons_need_integers(value: str, operator: str, limit: str, inside: bool) -> None:
    requested = pod(affinity=within(label("rank", operator, limit)))
    found = refused(AFFINITY, requested, node("n", labels={"rank": value}))
    assert (found == []) is inside


def test_an_empty_term_matches_nothing() -> None:
    assert refused(AFFINITY, pod(affinity=within({})), node("n")) == ["n"]


def test_selector_and_affinity_must_both_hold() -> None:
    nodes = [node("a", labels={"x": "1"}), node("b", labels={"x": "1", "y": "1"})]
    requested = pod(nodeSelector={"x": "1"}, affinity=within(label("y", "Exists")))
    assert refused(AFFINITY, requested, *nodes) == ["a"]


def test_nodes_are_limited_only_when_every_term_names_some() -> None:
    nodes = [node("a"), node("b")]
    both = decide(pod(affinity=within(name_in("a"), name_in("b"))), *nodes, node("c"))
    either = decide(pod(affinity=within(name_in("a"), label("x", "Exists"))), *nodes)
    assert both.filtered is not None
    assert either.filtered is not None
    assert both.filtered.narrowed_by == (AFFINITY,)
    assert either.filtered.narrowed_by == ()


def test_a_term_that_names_two_nodes_at_once_ends_the_cycle() -> None:
    fields = name_in("a")["matchFields"] + name_in("b")["matchFields"]
    requested = pod(affinity=within({"matchFields": fields}))
    assert before(AFFINITY, requested, node("a")) == unresolvable(node_affinity.REASON_CONFLICT)
    assert decide(requested, node("a")).message == (
        "0/1 nodes are available: pod affinity terms conflict. not found"
    )


def test_nodes_outside_the_limit_are_reported_by_the_plugin_that_set_it() -> None:
    decision = decide(pod(affinity=within(name_in("gone"))), node("a"), node("b"))
    assert decision.message.startswith(
        "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_preferred_affinity_scores_by_share_of_the_best() -> None:
    preferences = [
        {"weight": 30, "preference": label("x", "Exists")},
        {"weight": 15, "preference": label("y", "Exists")},
    ]
    requested = pod(affinity={"nodeAffinity": {PREFERRED: preferences}})
    nodes = [node("a", labels={"x": "1", "y": "1"}), node("b", labels={"x": "1"}), node("c")]
    assert scores(AFFINITY, requested, *nodes) == {"a": 100, "b": 66, "c": 0}
    assert scores(AFFINITY, requested, node("d")) == {"d": 0}


def test_node_affinity_is_skipped_without_terms() -> None:
    assert before(AFFINITY, pod(), node("a")) == SKIP
    assert scores(AFFINITY, pod(), node("a")) is None


RESTARTS_ALL = {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
RESTARTS_ONE = {"name": "c", "restartPolicyRules": [{"action": "Restart"}]}


@pytest.mark.parametrize(
    ("needs", "feature"),
    [
        ({"containers": [RESTARTS_ALL]}, "RestartAllContainersOnContainerExits"),
        ({"initContainers": [RESTARTS_ALL]}, "RestartAllContainersOnContainerExits"),
        ({"hostNetwork": True, "hostUsers": False}, "UserNamespacesHostNetworkSupport"),
    ],
)
def test_what_not_every_kubelet_can_do_needs_a_node_that_declares_it(
    needs: dict[str, Any], feature: str
) -> None:
    features, lacks = node_declared_features.NAME, "node(s) didn't match Pod's required features"
    able = node("able", declaredFeatures=["Another", feature])
    found = said(features, pod(**needs), able, node("other", declaredFeatures=["Another"]))
    assert found == {"other": unresolvable(lacks)}


@pytest.mark.parametrize(
    "needs", [{"containers": [RESTARTS_ONE]}, {"hostNetwork": True}, {"hostUsers": False}]
)
def test_what_every_kubelet_can_do_needs_no_declaration(needs: dict[str, Any]) -> None:
    assert before(node_declared_features.NAME, pod(**needs), node("n")) == SKIP
