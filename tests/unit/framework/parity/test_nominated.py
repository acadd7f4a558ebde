"""Nodes reserved for nominated pods while victims terminate: how later pods see them."""

from typing import Any

from stretto.framework.parity.scheduler import ExactScheduler
from tests.support.parity_cluster import HOST, cluster, node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def kept(nominee: dict[str, Any], *items: Any) -> ExactScheduler:
    """A cluster in which node ``n`` is kept for a pod of priority 5."""
    found = cluster(*items)
    facts = found.snapshot.compiler.facts(pod("nominee", priority=5, **nominee))
    found.snapshot.nominate(facts, "n")
    return found


def test_a_pod_of_the_same_priority_must_fit_together_with_the_nominee() -> None:
    found = kept({"requests": {"cpu": "3"}}, node("n"), node("m"))
    requested = found.decide(pod(priority=5, requests={"cpu": "3"}))
    assert requested.feasible_names == ["m"]


def test_the_reason_is_the_one_of_the_rule_that_the_nominee_is_in_the_way_of() -> None:
    found = kept({"requests": {"cpu": "3"}}, node("n"))
    requested = found.decide(pod(requests={"cpu": "3"}), may_preempt=False)
    assert requested.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_of_more_passes_over_the_nominee() -> None:
    found = kept({"requests": {"cpu": "3"}}, node("n"))
    assert found.decide(pod(priority=6, requests={"cpu": "3"})).feasible_names == ["n"]


def test_a_nominee_is_not_in_its_own_way() -> None:
    found = kept({"requests": {"cpu": "3"}}, node("n"))
    mine = pod("nominee", priority=5, requests={"cpu": "3"})
    assert found.decide(mine).feasible_names == ["n"]


def test_an_affinity_does_not_rest_on_a_pod_that_may_only_come() -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "x"}}}
    found = kept({"labels": {"app": "x"}}, node("n"))
    requested = found.decide(pod(affinity={"podAffinity": {REQUIRED: [term]}}))
    assert requested.feasible_names == []


def test_a_node_is_no_candidate_if_the_nominee_would_be_evicted_too() -> None:
    low = pod("low", on="n", requests={"cpu": "4"}, priority=1)
    found = kept({"requests": {"cpu": "3"}}, node("n"), low)
    requested = found.decide(pod(priority=5, requests={"cpu": "2"}))
    assert requested.preemption is not None
    assert requested.preemption.candidates == ()


def test_a_node_is_kept_no_longer_once_the_nomination_is_over() -> None:
    found = kept({"requests": {"cpu": "3"}}, node("n"))
    (nominee,) = found.snapshot.nominated["n"]
    found.snapshot.unnominate(nominee, "n")
    assert found.decide(pod(requests={"cpu": "3"})).feasible_names == ["n"]
    assert found.snapshot.nominated == {}
