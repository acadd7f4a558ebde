"""Why no eviction would help, in kube-scheduler's words and ours."""

import json
from typing import Any

import pytest

from stretto.api.wire.kinds import POD_DISRUPTION_BUDGET
from stretto.framework.preemption.explain import NEVER, OFF, PreemptionMessage, preemption_words
from stretto.framework.preemption.terms import PriorityTerms
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod

NODE = make_node("n", cpu="4")
WEB = {"matchLabels": {"app": "web"}}


def words(
    *running: bytes, pod: bytes, budget: bool = False, nodes: Any = (NODE,), **rules: Any
) -> PreemptionMessage | None:
    """Return the explanation of a pod on nodes, by default one of 4 CPUs."""
    profile = load_profile({"profiles": [{"stretto": {"preemption": rules or True}}]})
    made = Harness(list(nodes), profile=profile, config={"tier": "numpy"})
    made.submit(*running)
    made.settle()
    if budget:
        spec = {"selector": {}, "minAvailable": 1}
        meta = {"name": "b", "namespace": "default"}
        made.create(POD_DISRUPTION_BUDGET, json.dumps({"metadata": meta, "spec": spec}).encode())
    made.submit(pod)
    made.settle()
    plane = made.plane
    row = next(r for r in plane.cluster.pods.rows().tolist() if plane.cluster.pods.name[r] == "x")
    terms = PriorityTerms(plane.cluster, profile.preemption)
    return preemption_words(plane.engine, plane.budgets, row, made.clock.monotonic(), terms)


def low(**more: Any) -> bytes:
    return make_pod("low", **{"cpu": "3", "priority": 1, **more})


def wants(cpu: str = "3", **more: Any) -> bytes:
    return make_pod("x", **{"cpu": cpu, "priority": 10, **more})


def said(found: PreemptionMessage | None) -> str:
    assert found is not None
    return found.message.removeprefix("preemption: 0/1 nodes are available: ")


def test_a_node_that_is_too_small_is_not_helped() -> None:
    assert said(words(low(), pod=wants("9"))) == "1 Preemption is not helpful for scheduling."


def test_a_node_without_lower_pods_has_no_victims() -> None:
    found = words(low(priority=10), pod=wants())
    assert said(found) == "1 No preemption victims found for incoming pod."


def test_a_node_that_lacks_something_even_then_states_its_shortage() -> None:
    found = words(low(cpu="1"), make_pod("top", cpu="3", priority=99), pod=wants())
    assert said(found) == "1 Insufficient cpu."


def test_a_policy_of_never_is_reported() -> None:
    assert words(low(), pod=wants(spec={"preemptionPolicy": "Never"})) == PreemptionMessage(NEVER)


def test_a_profile_without_preemption_reports_it() -> None:
    assert words(low(), pod=wants(), enabled=False) == PreemptionMessage(OFF)


@pytest.mark.parametrize(
    ("rules", "more", "text"),
    [
        ({"optIn": True}, {}, "pods that did not opt in to preemption"),
        ({"protect": {"fromPriority": 0}}, {}, "pods that the profile protects by priority"),
        ({"protect": {"startedWithinSeconds": 60}}, {}, "pods that started recently"),
        (
            {},
            {"annotations": {"godel.bytedance.com/can-be-preempted": "false"}},
            "pods that forbid their preemption",
        ),
    ],
)
def test_protection_is_reported_in_the_words_of_stretto(rules: Any, more: Any, text: str) -> None:
    assert said(words(low(**more), pod=wants(), **rules)) == f"1 node(s) had {text}."


def test_a_hard_budget_is_reported() -> None:
    found = words(low(), pod=wants(), budget=True, budgets="hard")
    assert said(found) == "1 node(s) had pods that a disruption budget protects."


def near(kind: str) -> dict[str, Any]:
    """Required affinity or anti-affinity to web pods of the same host."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": WEB}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(key: str) -> dict[str, Any]:
    """Hard spreading of web pods."""
    rule = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": WEB}]}


def web(name: str = "web", **more: Any) -> bytes:
    return make_pod(name, **{"cpu": "500m", "priority": 99, "labels": {"app": "web"}, **more})


def test_anti_affinity_to_a_pod_of_higher_priority_is_reported() -> None:
    found = words(web(), low(), pod=wants(spec=near("podAntiAffinity")))
    assert said(found) == "1 node(s) didn't match pod anti-affinity rules."


def test_anti_affinity_of_a_pod_of_higher_priority_is_reported() -> None:
    top = web(labels={}, spec=near("podAntiAffinity"))
    found = words(top, low(), pod=wants(labels={"app": "web"}))
    assert said(found) == "1 node(s) didn't satisfy existing pods anti-affinity rules."


def test_a_skew_from_pods_of_higher_priority_is_reported() -> None:
    nodes = [make_node(f"n{i}", cpu="4", zone=f"z{i}") for i in range(2)]
    full = make_pod("full", cpu="4", priority=99, node="n1")
    pod = wants(labels={"app": "web"}, spec=spread("topology.kubernetes.io/zone"))
    found = words(full, web(node="n0"), low(node="n0"), pod=pod, nodes=nodes)
    assert found is not None
    assert dict(found.nodes) == {
        "node(s) didn't match pod topology spread constraints": 1,
        "No preemption victims found for incoming pod": 1,
    }


def test_affinity_that_only_victims_satisfy_is_reported() -> None:
    found = words(low(labels={"app": "web"}), pod=wants(spec=near("podAffinity")))
    assert said(found) == "1 node(s) didn't match pod affinity rules."


@pytest.mark.parametrize("spec", [near("podAffinity"), spread("rack")])
def test_what_no_leaving_could_change_is_not_helped(spec: dict[str, Any]) -> None:
    assert said(words(low(), pod=wants("1", spec=spec))) == (
        "1 Preemption is not helpful for scheduling."
    )


def test_a_protected_pod_that_anti_affinity_matches_is_reported_as_protected() -> None:
    stays = {"godel.bytedance.com/can-be-preempted": "false"}
    guarded = web(priority=1, annotations=stays)
    found = words(guarded, low(), pod=wants(spec=near("podAntiAffinity")))
    assert said(found) == "1 node(s) had pods that forbid their preemption."


def test_nothing_is_reported_if_the_blocking_pods_may_be_evicted() -> None:
    pod = wants("1", spec=near("podAntiAffinity"))
    assert words(web(priority=1), low(), pod=pod) is None


def test_too_many_pods_come_before_a_label_that_a_later_constraint_needs() -> None:
    in_rack = {"labels": {"rack": "r"}, "cpu": "4"}
    nodes = [make_node("n0", zone="a", cpu="4"), make_node("n1", zone="a", **in_rack)]
    nodes.append(make_node("n2", zone="b", **in_rack))
    full = make_pod("full", cpu="4", priority=99, node="n2")
    zone, rack = (spread(key) for key in ("topology.kubernetes.io/zone", "rack"))
    both = [*zone["topologySpreadConstraints"], *rack["topologySpreadConstraints"]]
    pod = wants(labels={"app": "web"}, spec={"topologySpreadConstraints": both})
    found = words(full, web(node="n1"), pod=pod, nodes=nodes)
    assert found is not None
    assert dict(found.nodes) == {"No preemption victims found for incoming pod": 3}
