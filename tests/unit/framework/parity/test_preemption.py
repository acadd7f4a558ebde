"""DefaultPreemption of the exact path: the victims, the node, and the message if none helps."""

from typing import Any

import pytest

from stretto.framework.model.status import StatusCode
from stretto.framework.parity.decision import PostFilterResult
from tests.support.parity_cluster import decide, node, pod, thing

HEAD = "0/1 nodes are available:"
Running = tuple[str, str, int, int]
CORE = {"cpu": "1"}


def full(name: str, on: str, priority: int, start: int = 0, **more: Any) -> Any:
    status = {"startTime": f"2026-01-01T00:{start:02}:00Z"}
    return pod(name, on, priority=priority, requests={"cpu": "2"}, status=status, **more)


def preempted(requested: Any, *items: Any) -> PostFilterResult:
    found = decide(requested, *items).preemption
    assert found is not None
    return found


def urgent(cpu: str = "2", **more: Any) -> Any:
    return pod(priority=100, requests={"cpu": cpu}, **more)


def victims(found: PostFilterResult) -> list[str]:
    assert found.chosen is not None
    return [each.key[1] for each in found.chosen.victims]


def test_the_fewest_pods_are_evicted_and_the_more_important_stay() -> None:
    found = preempted(urgent(), node("n"), full("e", "n", 1), full("f", "n", 2))
    assert victims(found) == ["e"]


def test_of_equal_priorities_the_pod_that_started_later_is_evicted() -> None:
    found = preempted(urgent(), node("n"), full("old", "n", 1, 1), full("new", "n", 1, 2))
    assert victims(found) == ["new"]


def test_a_success_adds_nothing_to_the_message() -> None:
    decision = decide(urgent(), node("n"), full("e", "n", 1), full("f", "n", 2))
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("there", "best"),
    [
        # The lowest top priority, then the smallest sum, then the latest start.
        ([("e", "a", 5, 0), ("f", "a", 5, 0), ("g", "b", 4, 0), ("h", "b", 4, 0)], "b"),
        ([("e", "a", 5, 0), ("f", "a", 5, 0), ("g", "b", 5, 0), ("h", "b", 4, 0)], "b"),
        ([("e", "a", 5, 9), ("f", "a", 5, 8), ("g", "b", 5, 9), ("h", "b", 5, 7)], "a"),
    ],
)
def test_the_node_is_picked_by_what_is_lost(there: list[Running], best: str) -> None:
    nodes = [node("a"), node("b")]
    found = preempted(urgent("4"), *nodes, *(full(*each) for each in there))
    assert found.chosen is not None
    assert found.chosen.node == best


def test_equally_good_nodes_are_all_reported() -> None:
    found = preempted(urgent("3"), node("a"), node("b"), full("e", "a", 1), full("f", "b", 1))
    assert found.tied == ("a", "b")
    assert found.chosen is not None
    assert found.chosen.node == "a"


def test_a_port_that_two_pods_hold_is_free_once_one_of_them_is_evicted() -> None:
    port = [{"containerPort": 80, "hostPort": 80}]
    there = [pod(name, "n", priority=of, ports=port) for name, of in (("low", 1), ("high", 200))]
    assert victims(preempted(urgent(ports=port), node("n"), *there)) == ["low"]


def budget(allowed: int, **more: Any) -> Any:
    selector = more.pop("selector", {"matchLabels": {"app": "web"}})
    status = {"disruptionsAllowed": allowed, **more}
    return thing("pdb", "b", spec={"selector": selector}, status=status)


@pytest.mark.parametrize(
    ("protection", "expected"),
    [
        (budget(0), ["free"]),
        (budget(1), ["kept"]),
        (budget(0, selector={}), ["kept"]),
        (budget(0, disruptedPods={"kept": "2026-01-01T00:00:00Z"}), ["kept"]),
    ],
)
def test_pods_that_a_budget_protects_are_given_back_first(
    protection: Any, expected: list[str]
) -> None:
    kept = full("kept", "n", 1, labels={"app": "web"})
    found = preempted(urgent(), node("n"), kept, full("free", "n", 2), protection)
    assert victims(found) == expected
    assert found.chosen is not None
    assert found.chosen.violations == 0


def test_a_budget_is_broken_where_nothing_else_helps_and_counted() -> None:
    kept = full("kept", "n", 1, labels={"app": "web"})
    found = preempted(urgent("4"), node("n"), kept, full("free", "n", 2), budget(0))
    assert found.chosen is not None
    assert (victims(found), found.chosen.violations) == (["free", "kept"], 1)


@pytest.mark.parametrize(
    ("requested", "said"),
    [
        (urgent(preemptionPolicy="Never"), "not eligible due to preemptionPolicy=Never."),
        (urgent("5"), f"{HEAD} 1 Preemption is not helpful for scheduling."),
        (
            pod(requests=CORE),
            f"{HEAD} 1 No preemption victims found for incoming pod.",
        ),
    ],
)
def test_the_message_if_no_eviction_frees_enough_capacity(requested: Any, said: str) -> None:
    found = preempted(requested, node("n"), full("e", "n", 1), full("f", "n", 1))
    assert found.status.code is StatusCode.UNSCHEDULABLE
    assert found.message == f"no new claims to deallocate, preemption: {said}"


def test_a_node_that_refuses_even_when_empty_states_why() -> None:
    bigger = full("big", "n", 200)
    found = preempted(urgent("3"), node("n"), bigger, full("e", "n", 1))
    assert found.rejected["n"].message == "Insufficient cpu"


def test_a_cycle_that_ended_before_the_nodes_finds_no_state_and_does_not_preempt() -> None:
    requested = urgent(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}])
    found = preempted(requested, node("n"), full("e", "n", 1))
    assert (found.status.code, found.message) == (StatusCode.ERROR, "not found")


def test_ports_are_free_once_their_pod_is_evicted() -> None:
    ports = [{"containerPort": 1, "hostPort": 80}]
    there = [full("e", "n", 1, ports=ports), full("f", "n", 1)]
    assert victims(preempted(pod(priority=9, ports=ports), node("n"), *there)) == ["e"]


def test_evicting_a_pod_cures_anti_affinity() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    there = [full("e", "n", 1, labels={"a": "b"}), full("f", "n", 1)]
    requested = pod(priority=9, affinity=rule)
    assert victims(preempted(requested, node("n"), *there)) == ["e"]
