"""PodTopologySpread of the exact path: counts by value, and the pods that do not count."""

from typing import Any

import pytest

from stretto.framework.model.status import SKIP, SUCCESS, PluginStatus
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.plugins.parity import pod_topology_spread as spread
from tests.support.parity_cluster import (
    HOST,
    ZONE,
    before,
    cluster,
    node,
    pod,
    refused,
    said,
    scores,
    thing,
)

NAME = spread.PodTopologySpreadPlugin.NAME
WEB = {"app": "web"}
NODES = [node("a", "z1"), node("b", "z2")]


def rule(key: str = ZONE, skew: int = 1, **more: Any) -> dict[str, Any]:
    found = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {**found, "labelSelector": {"matchLabels": WEB}, **more}


def soft(key: str = ZONE, skew: int = 1, **more: Any) -> dict[str, Any]:
    return rule(key, skew, whenUnsatisfiable="ScheduleAnyway", **more)


def asking(*rules: dict[str, Any], **more: Any) -> Any:
    return pod(labels=WEB, topologySpreadConstraints=list(rules), **more)


def web(name: str, on: str, **more: Any) -> Any:
    return pod(name, on, labels=WEB, **more)


def test_a_value_with_too_many_pods_is_refused() -> None:
    assert refused(NAME, asking(rule()), *NODES, web("e", "a")) == ["a"]
    assert refused(NAME, asking(rule(skew=2)), *NODES, web("e", "a")) == []


def test_a_node_without_the_label_cannot_be_cured() -> None:
    found = said(NAME, asking(rule()), *NODES, node("c"))
    assert found == {"c": spread.NO_LABEL}


def test_nodes_that_lack_one_of_several_keys_count_for_none() -> None:
    lone = node("c", "z3")
    nodes = [node("a", "z1", labels={"rack": "r1"}), node("b", "z2", labels={"rack": "r2"}), lone]
    requested = asking(rule(), rule("rack"))
    # z3 does not count, so that the least count is that of z2, not 0 of z3.
    there = [web("e", "a"), web("f", "b")]
    assert refused(NAME, requested, *nodes, *there) == ["c"]


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": "elsewhere"},
        {"labels": {"app": "db"}},
        {"meta": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
)
def test_pods_that_do_not_count(other: dict[str, Any]) -> None:
    there = pod("e", on="a", **{"labels": WEB, **other})
    assert refused(NAME, asking(rule()), *NODES, there) == []


def test_an_empty_selector_counts_no_pods_but_matches_the_pod_itself() -> None:
    requested = asking(rule(labelSelector={}, minDomains=3))
    assert refused(NAME, requested, *NODES, web("e", "a")) == []


def test_an_absent_selector_matches_nothing() -> None:
    alone = rule()
    del alone["labelSelector"]
    assert refused(NAME, asking(alone), *NODES, web("e", "a"), web("f", "a")) == []


def test_with_too_few_values_the_least_count_is_zero() -> None:
    there = [web("e", "a"), web("f", "b")]
    assert refused(NAME, asking(rule(minDomains=2)), *NODES, *there) == []
    assert refused(NAME, asking(rule(minDomains=3)), *NODES, *there) == ["a", "b"]


@pytest.mark.parametrize(("policy", "expected"), [("Honor", []), ("Ignore", ["a"])])
def test_the_affinity_policy_states_whose_values_count(policy: str, expected: list[str]) -> None:
    requested = asking(rule(nodeAffinityPolicy=policy), nodeSelector={ZONE: "z1"})
    assert refused(NAME, requested, *NODES, web("e", "a")) == expected


@pytest.mark.parametrize(("policy", "expected"), [("Honor", []), ("Ignore", ["a"])])
def test_the_taints_policy_states_whose_values_count(policy: str, expected: list[str]) -> None:
    tainted = node("b", "z2", taints=[{"key": "k", "effect": "NoSchedule"}])
    requested = asking(rule(nodeTaintsPolicy=policy))
    assert refused(NAME, requested, NODES[0], tainted, web("e", "a")) == expected


def test_match_label_keys_narrow_the_pods_that_count() -> None:
    there = pod("e", on="a", labels={**WEB, "hash": "old"})
    requested = pod(
        labels={**WEB, "hash": "new"},
        topologySpreadConstraints=[rule(matchLabelKeys=["hash", "absent"])],
    )
    assert refused(NAME, requested, *NODES, there) == []


def test_without_hard_constraints_the_filter_is_skipped() -> None:
    assert before(NAME, asking(soft()), *NODES) == SKIP
    assert scores(NAME, asking(rule()), *NODES) is None


def test_the_score_turns_counts_around() -> None:
    # ln(2 + 2) = 1.386: 2 pods weigh 3, none 0.
    there = [web("e", "a"), web("f", "a")]
    assert scores(NAME, asking(soft()), *NODES, *there) == {"a": 0, "b": 100}


def test_the_score_is_floored_between_least_and_largest() -> None:
    there = [web("e", "a"), web("f", "a"), web("g", "b")]
    # round(2 x 1.386) = 3 and round(1.386) = 1; 100 x (3 + 1 - s) / 3.
    assert scores(NAME, asking(soft()), *NODES, *there) == {"a": 33, "b": 100}


def test_a_feasible_node_without_the_label_scores_nothing() -> None:
    assert scores(NAME, asking(soft()), *NODES, node("c")) == {"a": 100, "b": 100, "c": 0}


def test_hosts_are_counted_one_by_one() -> None:
    assert scores(NAME, asking(soft(HOST)), *NODES, web("e", "a")) == {"a": 0, "b": 100}


def service(**selector: str) -> Any:
    return thing("Service", "s", spec={"selector": selector})


def test_the_defaults_need_something_that_selects_the_pod() -> None:
    assert scores(NAME, pod(labels=WEB), *NODES) is None
    assert scores(NAME, pod(labels=WEB), *NODES, service(app="db")) is None
    assert scores(NAME, pod(labels=WEB), *NODES, service(app="web")) is not None


def test_the_defaults_do_not_need_both_labels() -> None:
    nodes = [node("a", "z1"), node("c")]
    # Hosts: ln 4, zones ln 4; c lacks the zone and gets no base of 4 for it.
    found = scores(NAME, pod(labels=WEB), *nodes, service(app="web"))
    assert found == {"a": 33, "c": 100}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController"])
def test_a_controller_selects_too(kind: str) -> None:
    plain = kind == "ReplicationController"
    selector = WEB if plain else {"matchLabels": WEB}
    owner = {"apiVersion": "v1" if plain else "apps/v1", "kind": kind, "name": "o", "uid": "u"}
    requested = pod(labels=WEB, meta={"ownerReferences": [{**owner, "controller": True}]})
    controller = thing(kind, "o", spec={"selector": selector})
    # a: round(3.386 + 5.386) = 9, b: 2 + 4 = 6; 100 x (9 + 6 - s) / 9.
    assert scores(NAME, requested, *NODES, controller, web("e", "a")) == {"a": 66, "b": 100}


def rehearse(
    scheduler: ExactScheduler, requested: Any, at: int, leaving: str
) -> tuple[PluginStatus, PluginStatus]:
    decision = scheduler.decide(requested)
    assert decision.filtered is not None
    trial = decision.filtered.checks[NAME].trial(at)
    before = trial.status()
    trial.remove(next(p for p in scheduler.snapshot.pods_on[at] if p.key[1] == leaving))
    return before, trial.status()


def test_a_rehearsal_lowers_the_count_even_for_pods_that_did_not_count() -> None:
    gone = web("e", "a", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    scheduler = cluster(*NODES, gone, web("f", "a"))
    assert rehearse(scheduler, asking(rule()), 0, "e") == (spread.UNEVEN, SUCCESS)


def test_a_rehearsal_leaves_out_pods_of_other_namespaces() -> None:
    scheduler = cluster(*NODES, web("e", "a", namespace="elsewhere"), web("f", "a"))
    assert rehearse(scheduler, asking(rule()), 0, "e") == (spread.UNEVEN, spread.UNEVEN)


def test_a_rehearsal_leaves_out_nodes_that_do_not_count() -> None:
    tainted = node("d", "z1", taints=[{"key": "k", "effect": "NoSchedule"}])
    scheduler = cluster(*NODES, tainted, web("e", "d"), web("f", "a"))
    requested = asking(rule(nodeTaintsPolicy="Honor"))
    assert rehearse(scheduler, requested, 2, "e") == (spread.UNEVEN, spread.UNEVEN)


def test_an_empty_zone_and_no_zone_are_one_value_to_the_defaults() -> None:
    nodes = [node("a", labels={ZONE: ""}), node("c")]
    # a: round(2 + ln 3 + 4) = 7, c: round(ln 4 + 2) = 3; 100 x (7 + 3 - s) / 7.
    found = scores(NAME, pod(labels=WEB), *nodes, service(app="web"), web("e", "c"))
    assert found == {"a": 42, "c": 100}
