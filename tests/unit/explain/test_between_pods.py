"""Rules between pods and host ports: explanations name constraint, counts and pods in the way."""

from typing import Any

import pytest

from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_node, make_pod
from tests.support.explained import cure_sentences, dominant, explained

PROFILES = pytest.mark.parametrize("profile", ["default", "kube-parity"])
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
APP = {"app": "web"}


def spread(key: str = ZONE, **more: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": APP},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def term(kind: str, key: str) -> dict[str, Any]:
    rule = {"topologyKey": key, "labelSelector": {"matchLabels": APP}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}


def cluster(*nodes: bytes, profile: str = "default") -> Harness:
    return Harness(list(nodes), profile=profile, config={"tier": "numpy"})


def tried(harness: Harness, *before: bytes, **pod: Any) -> Harness:
    harness.submit(*before)
    harness.settle(2)
    harness.submit(make_pod("p", labels=APP, **pod))
    harness.settle(2)
    return harness


@PROFILES
def test_spread_names_the_counts_and_why_the_emptiest_domain_does_not_help(profile: str) -> None:
    nodes = make_node("a0", zone="a"), make_node("b0", zone="b", taints=[TAINT])
    running = make_pod("w", labels=APP, node="a0")
    harness = tried(cluster(*nodes, profile=profile), running, spec=spread())
    assert dominant(harness, "p").sentence.endswith(
        f"topology spread over {ZONE} (maxSkew 1; matching pods by domain: b: 0, a: 1) allows only "
        "b, where its only node is excluded by the taint team=a:NoSchedule, which the pod does "
        "not tolerate."
    )


@PROFILES
def test_tainted_nodes_that_count_are_cured_by_honoring_taints(profile: str) -> None:
    nodes = make_node("a0", zone="a"), make_node("b0", zone="b", taints=[TAINT])
    running = make_pod("w", labels=APP, node="a0")
    harness = tried(cluster(*nodes, profile=profile), running, spec=spread())
    (sentence,) = cure_sentences(explained(harness, "p"), CureKind.TAINTS_POLICY)
    assert sentence.startswith(f"nodeTaintsPolicy: Honor in the topology spread over {ZONE}")


def test_a_full_emptiest_domain_is_cured_by_capacity_there() -> None:
    nodes = make_node("a0", zone="a"), make_node("b0", zone="b", cpu="4")
    running = make_pod("w", labels=APP, node="a0"), make_pod("busy", cpu="4", node="b0")
    harness = tried(cluster(*nodes), *running, cpu="1", spec=spread())
    assert cure_sentences(explained(harness, "p"), CureKind.CAPACITY) == [
        "Freeing 1 core on b0 would be enough."
    ]


@PROFILES
def test_anti_affinity_names_the_pods_in_the_way(profile: str) -> None:
    harness = cluster(make_node("n0"), profile=profile)
    tried(harness, make_pod("w", labels=APP), spec=term("podAntiAffinity", HOST))
    why = dominant(harness, "p")
    assert why.code is ReasonCode.OTHER_PODS
    assert f"its anti-affinity over {HOST} excludes the domains of default/w on n0" in why.sentence
    removal = cure_sentences(explained(harness, "p"), CureKind.PODS)
    assert removal == ["Removing default/w would make n0 fit."]


def test_affinity_without_a_matching_pod_reports_it() -> None:
    harness = cluster(make_node("n0", zone="a"))
    harness.submit(make_pod("q", spec=term("podAffinity", ZONE)))
    harness.settle(2)
    assert f"over {ZONE} needs a matching pod" in dominant(harness, "q").sentence


@PROFILES
@pytest.mark.parametrize(
    ("spec", "rule"),
    [(term("podAffinity", "rack"), "pod affinity"), (spread("rack"), "topology spread")],
)
def test_a_topology_key_that_no_node_has_is_named(
    profile: str, spec: dict[str, Any], rule: str
) -> None:
    harness = tried(cluster(make_node("n0"), profile=profile), spec=spec)
    expected = f"no node has the label rack, the topologyKey of its {rule}."
    assert dominant(harness, "p").sentence.endswith(expected)


def test_the_first_pod_of_an_affinity_needs_a_node_with_the_label() -> None:
    nodes = make_node("n0"), make_node("n1", zone="a", unschedulable=True)
    harness = tried(cluster(*nodes), spec=term("podAffinity", ZONE))
    assert dominant(harness, "p").sentence.endswith(
        f"allows only nodes with the label {ZONE}, where its only node is excluded by a cordon."
    )


def test_affinity_in_a_full_zone_is_cured_by_capacity_in_that_zone() -> None:
    nodes = make_node("a0", zone="a", cpu="4"), make_node("b0", zone="b", cpu="4")
    running = make_pod("w", labels=APP, cpu="4", node="a0")
    harness = tried(cluster(*nodes), running, cpu="2", spec=term("podAffinity", ZONE))
    assert dominant(harness, "p").code is ReasonCode.NO_CAPACITY
    assert cure_sentences(explained(harness, "p"), CureKind.CAPACITY) == [
        "Freeing 2 cores on a0 would be enough."
    ]


@PROFILES
def test_a_taken_host_port_is_not_called_full(profile: str) -> None:
    harness = cluster(make_node("n0"), profile=profile)
    tried(harness, make_pod("w", ports=(80,)), ports=(80,))
    why = dominant(harness, "p")
    assert why.code is ReasonCode.PORTS
    assert why.sentence.endswith("(1 node), by default/w on n0.")
    assert cure_sentences(explained(harness, "p"), CureKind.PODS) == [
        "Removing default/w would make n0 fit."
    ]
