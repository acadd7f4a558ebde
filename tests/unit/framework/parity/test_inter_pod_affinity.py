"""InterPodAffinity of the exact path: required terms, wishes, and whose pods are meant."""

from typing import Any

import pytest

from stretto.framework.model.status import SKIP
from stretto.framework.plugins.parity import inter_pod_affinity as affinity
from tests.support.parity_cluster import HOST, ZONE, before, node, pod, refused, said, scores, thing

NAME = affinity.InterPodAffinityPlugin.NAME
WEB, DB = {"app": "web"}, {"app": "db"}
NODES = [node("a", "z1"), node("b", "z1"), node("c", "z2")]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(labels: dict[str, str], key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}, **more}


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def far(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def preference(weight: int, one: dict[str, Any], kind: str = "podAffinity") -> dict[str, Any]:
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": one}]}}


def test_affinity_requests_the_neighbourhood_of_a_pod() -> None:
    found = said(NAME, pod(affinity=near(term(DB))), *NODES, pod("e", "a", labels=DB))
    assert found == {"c": affinity.NOT_NEAR}


def test_all_terms_must_match_the_same_pod() -> None:
    fast = {"disk": "fast"}
    there = [pod("e", "a", labels=DB), pod("f", "a", labels=fast)]
    both = {**DB, **fast}
    requested = pod(affinity=near(term(DB), term(fast)))
    assert refused(NAME, requested, *NODES, *there) == ["a", "b", "c"]
    assert refused(NAME, requested, *NODES, pod("g", "a", labels=both)) == ["c"]


def test_the_first_pod_of_a_kind_may_go_anywhere_that_has_the_label() -> None:
    requested = pod(labels=WEB, affinity=near(term(WEB)))
    assert refused(NAME, requested, *NODES, node("bare")) == ["bare"]


def test_a_pod_is_still_the_first_when_its_like_sits_on_a_node_without_the_label() -> None:
    requested = pod(labels=WEB, affinity=near(term(WEB)))
    there = pod("e", "bare", labels=WEB)
    assert refused(NAME, requested, *NODES, node("bare"), there) == ["bare"]
    assert refused(NAME, requested, *NODES, pod("e", "a", labels=WEB)) == ["c"]


def test_a_pod_that_does_not_match_its_own_terms_is_never_the_first() -> None:
    assert refused(NAME, pod(labels=DB, affinity=near(term(WEB))), *NODES) == ["a", "b", "c"]


def test_anti_affinity_may_be_cured_and_nodes_without_the_label_pass() -> None:
    requested = pod(affinity=far(term(DB)))
    found = said(NAME, requested, *NODES, node("bare"), pod("e", "a", labels=DB))
    assert found == {"a": affinity.NEAR, "b": affinity.NEAR}


def test_anti_affinity_of_running_pods_keeps_newcomers_away() -> None:
    there = pod("e", "a", labels=DB, affinity=far(term(WEB, HOST)))
    found = said(NAME, pod(labels=WEB), *NODES, there)
    assert found == {"a": affinity.UNWANTED}
    assert before(NAME, pod(labels=DB), *NODES, there) == SKIP


@pytest.mark.parametrize(
    ("spaces", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"namespaces": ["team"]}, ["c"]),
        ({"namespaceSelector": {}}, ["c"]),
        ({"namespaceSelector": {"matchLabels": {"tier": "gold"}}}, ["c"]),
        ({"namespaceSelector": {"matchLabels": {"tier": "iron"}}}, ["a", "b", "c"]),
        # Defects of upstream: these also match no labels at all, and so every namespace.
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}},
            ["c"],
        ),
        (
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]
                }
            },
            ["c"],
        ),
    ],
)
def test_namespaces_of_the_pod_with_the_term(spaces: dict[str, Any], expected: list[str]) -> None:
    team = thing("Namespace", "team", meta={"labels": {"tier": "gold"}})
    there = pod("e", "a", namespace="team", labels=DB)
    requested = pod(affinity=near(term(DB, **spaces)))
    assert refused(NAME, requested, *NODES, team, there) == expected


@pytest.mark.parametrize(("tier", "expected"), [("gold", []), ("iron", ["a", "b"])])
def test_a_running_pods_selector_reads_the_labels_of_the_namespace(
    tier: str, expected: list[str]
) -> None:
    home = thing("Namespace", "default", meta={"labels": {"tier": tier}})
    selector = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}
    there = pod("e", "a", namespace="team", affinity=far(term(WEB, namespaceSelector=selector)))
    assert refused(NAME, pod(labels=WEB), *NODES, home, there) == expected


def test_preferences_are_scaled_between_least_and_largest() -> None:
    there = [pod("e", "a", labels=DB), pod("f", "b", labels=DB), pod("g", "b", labels=DB)]
    requested = pod(affinity=preference(7, term(DB, HOST)))
    assert scores(NAME, requested, *NODES, *there) == {"a": 50, "b": 100, "c": 0}


def test_shunned_pods_count_against_a_node() -> None:
    requested = pod(affinity=preference(7, term(DB, HOST), "podAntiAffinity"))
    assert scores(NAME, requested, *NODES, pod("e", "a", labels=DB)) == {"a": 0, "b": 100, "c": 100}


def test_required_affinity_of_running_pods_counts_one() -> None:
    there = [
        pod("e", "a", affinity=near(term(WEB, HOST))),
        pod("f", "b", affinity=preference(3, term(WEB, HOST))),
    ]
    assert scores(NAME, pod(labels=WEB), *NODES, *there) == {"a": 33, "b": 100, "c": 0}


def test_the_score_is_skipped_when_no_term_touches_a_labelled_node() -> None:
    there = pod("e", "bare", labels=DB)
    requested = pod(affinity=preference(7, term(DB)))
    assert scores(NAME, requested, *NODES, node("bare"), there) is None


def test_terms_that_cancel_out_are_not_skipped() -> None:
    requested = pod(
        affinity={**preference(7, term(DB)), **preference(7, term(DB), "podAntiAffinity")}
    )
    assert scores(NAME, requested, *NODES, pod("e", "a", labels=DB)) == {"a": 0, "b": 0, "c": 0}


def test_pods_that_are_being_deleted_are_still_neighbours() -> None:
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    there = pod("e", "a", labels=DB, meta=going)
    assert refused(NAME, pod(affinity=near(term(DB))), *NODES, there) == ["c"]
