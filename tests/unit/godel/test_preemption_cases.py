"""Gödel's cases about preemption, by their numbers in the inventory, through a whole plane.

Upstream remembers candidates from one pod to the next (22, 26) and how a search went from one pod
of a Deployment to the next (24), because a search is dear there. Here every search is of the state
as it is, so no cached candidate can be wrong; the outcomes of the cases still hold.
"""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import NM_NODE, POD, POD_DISRUPTION_BUDGET, PRIORITY_CLASS
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod

NOTE = "godel.bytedance.com/"
HOLD = {"metadata": {"finalizers": ["stretto.dev/test"]}}
Running = tuple[str, str, int]
"""Name, node and priority of a pod that runs."""


def plane(*nodes: str, cpu: str = "4", **rules: Any) -> Harness:
    profile = load_profile({"profiles": [{"stretto": {"preemption": rules or True}}]})
    made = [make_node(name, cpu=cpu) for name in nodes]
    return Harness(made, profile=profile, config={"tier": "numpy"})


def run(harness: Harness, *pods: Running, cpu: str = "4", **more: Any) -> None:
    """Let pods run on their nodes, each started a second after the one before."""
    for name, node, priority in pods:
        harness.submit(make_pod(name, cpu=cpu, priority=priority, node=node, **more))
        harness.settle()
        harness.clock.advance(1)


def want(harness: Harness, *names: str, cpu: str = "4", **more: Any) -> None:
    harness.submit(*(make_pod(n, cpu=cpu, **{"priority": 100, **more}) for n in names))
    harness.settle()
    assert harness.breaches() == []
    assert harness.plane.dispatcher.audit() == []


def left(harness: Harness) -> set[str]:
    """Names of the pods that exist."""
    return set(harness.placements())


def budget(harness: Harness, allowed_lost: int, app: str = "web") -> None:
    spec = {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": allowed_lost}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    body["metadata"] = {"name": f"pdb-{app}", "namespace": "default"}
    harness.create(POD_DISRUPTION_BUDGET, msgspec.json.encode(body))


def web(app: str = "web") -> dict[str, Any]:
    return {"labels": {"app": app}}


# ---------------------------------------------------------------- 20: which nodes are looked at


def test_case_20_a_node_that_no_eviction_cures_is_skipped() -> None:
    harness = plane("other", "right")
    harness.create_nodes(make_node("wrong", cpu="4", labels={"disk": "hdd"}))
    run(harness, ("cheap", "wrong", 1), ("dear", "right", 50), ("dearer", "other", 60))
    wanted = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}
                ]
            }
        }
    }
    want(harness, "p", spec={"affinity": wanted})
    assert (left(harness), harness.node_of("p")) == ({"cheap", "dearer", "p"}, "right")


# ---------------------------------------------------------------- 21: the best candidate

BEST = [
    ("no eviction is needed", [("x", "a", 1)], "b"),
    ("the lower highest priority", [("x", "a", 9), ("y", "b", 5)], "b"),
    ("the later start of the highest", [("x", "a", 5), ("y", "b", 5)], "b"),
]


@pytest.mark.parametrize(("why", "there", "expected"), BEST, ids=[each[0] for each in BEST])
def test_case_21_the_best_candidate(why: str, there: list[Running], expected: str) -> None:
    del why
    harness = plane("a", "b")
    run(harness, *there)
    want(harness, "p")
    assert harness.node_of("p") == expected


HALVES = [
    ("the smaller sum", [("1", "a", 5), ("2", "a", 4), ("3", "b", 5), ("4", "b", 3)], "b"),
    ("fewer victims", [("1", "a", 5), ("2", "a", 0), ("3", "b", 5)], "b"),
]


@pytest.mark.parametrize(("why", "there", "expected"), HALVES, ids=[each[0] for each in HALVES])
def test_case_21_of_equal_highest_priorities(why: str, there: list[Running], expected: str) -> None:
    del why
    harness = plane("a", "b")
    run(harness, *there, cpu="2")
    if len(there) == 3:
        run(harness, ("rest", "b", 200), cpu="2")
        want(harness, "p", cpu="2", spec={"nodeSelector": {"kubernetes.io/hostname": "b"}})
        assert left(harness) == {"1", "2", "rest", "p"}
        return
    want(harness, "p")
    assert harness.node_of("p") == expected


# ---------------------------------------------------------------- 22 to 26: one pod after another


def test_case_22_pods_that_are_alike_get_the_next_best_one_after_the_other() -> None:
    harness = plane("a", "b", "c")
    run(harness, ("x", "a", 30), ("y", "b", 10), ("z", "c", 20))
    want(harness, "p", "q")
    assert left(harness) == {"x", "p", "q"}


def test_case_22_a_candidate_of_before_that_does_not_fit_any_more_is_not_used() -> None:
    harness = plane("a", "b")
    run(harness, ("x", "a", 10), ("y", "b", 20))
    want(harness, "p")
    assert harness.node_of("p") == "a"
    run(harness, ("w", "a", 5), cpu="0")
    want(harness, "q")
    assert (harness.node_of("q"), left(harness)) == ("b", {"w", "p", "q"})


COUNTS = [
    ("best", 1, {10}),
    ("better", 1, {10}),
    ("random", 4, {10}),
    ("random", 5, {10}),
    ("random", 1, {10, 20, 30, 40}),
]


@pytest.mark.parametrize(("select", "candidates", "may_go"), COUNTS)
def test_case_23_the_policy_limits_the_compared_candidates(
    select: str, candidates: int, may_go: set[int]
) -> None:
    harness = plane(*"abcd", select=select, candidates=candidates)
    run(harness, *((f"p{n}0", node, 10 * n) for n, node in enumerate("cadb", 1)))
    want(harness, "p")
    gone = {10, 20, 30, 40} - {int(name[1:]) for name in left(harness) - {"p"}}
    assert (len(gone), gone <= may_go) == (1, True)


@pytest.mark.parametrize("levels", [1, 6])
def test_case_24_a_cheap_win_and_a_deep_one_are_both_found_without_memory(levels: int) -> None:
    """Upstream goes up the priorities, or halves them, by how the last search went."""
    harness = plane("a", "b", select="better", candidates=1)
    run(harness, *((f"a{n}", "a", n) for n in range(6)), cpu="500m")
    run(harness, ("high", "b", 200), ("mid", "a", 50), cpu="1")
    want(
        harness, "p", cpu=f"{levels * 500}m", spec={"nodeSelector": {"kubernetes.io/hostname": "a"}}
    )
    want(harness, "q", cpu="500m", spec={"nodeSelector": {"kubernetes.io/hostname": "a"}})
    gone = {f"a{n}" for n in range(6)} - left(harness)
    assert (harness.node_of("p"), harness.node_of("q")) == ("a", "a")
    assert gone == {f"a{n}" for n in range(min(levels + 1, 6))}


def test_case_25_if_every_victim_set_violates_a_budget_no_pod_is_evicted() -> None:
    harness = plane("a", "b", budgets="hard")
    run(harness, ("x", "a", 1), ("y", "b", 2), **web())
    budget(harness, 0)
    want(harness, "p")
    assert (harness.node_of("p"), left(harness)) == ("", {"x", "y", "p"})


PAIRS = [
    (0, {"free": 50, "kept": 1}, {"free"}),
    (1, {"free": 50, "kept": 1}, {"kept"}),
    (0, {"kept": 50, "free": 1}, {"free"}),
    (1, {"kept": 50, "free": 1}, {"free"}),
]


@pytest.mark.parametrize(("allowed", "priorities", "gone"), PAIRS)
def test_case_25_the_set_of_victims_keeps_to_the_budget_and_to_importance(
    allowed: int, priorities: dict[str, int], gone: set[str]
) -> None:
    harness = plane("a", budgets="hard")
    budget(harness, allowed)
    for name, priority in priorities.items():
        run(harness, (name, "a", priority), cpu="2", **(web() if name == "kept" else {}))
    want(harness, "p", cpu="2")
    assert {"free", "kept"} - left(harness) == gone


def test_case_26_what_a_budget_has_left_goes_to_one_and_the_next_sees_what_is_left() -> None:
    harness = plane("n2", "n3", budgets="hard")
    for node, app in (("n2", "none"), ("n3", "two")):
        run(harness, (f"{app}-1", node, 1), (f"{app}-2", node, 2), cpu="2", **web(app))
    budget(harness, 0, "none")
    budget(harness, 2, "two")
    want(harness, "p", "q")
    assert left(harness) == {"none-1", "none-2", "p", "q"}
    assert sorted([harness.node_of("p"), harness.node_of("q")]) == ["", "n3"]


# ---------------------------------------------------------------- 28 and 29: units


def test_case_28_a_pod_that_fits_is_placed_without_evictions() -> None:
    harness = plane("a")
    run(harness, ("x", "a", 1), cpu="2")
    want(harness, "p", cpu="2")
    assert (harness.node_of("p"), left(harness)) == ("a", {"x", "p"})


def test_case_28_a_pod_that_needs_capacity_is_nominated_until_its_victim_is_gone() -> None:
    harness = plane("a")
    body = msgspec.json.decode(make_pod("x", cpu="4", priority=1, node="a"))
    body["metadata"] |= HOLD["metadata"]
    harness.submit(msgspec.json.encode(body), make_pod("calm", cpu="0", priority=0, node="a"))
    harness.settle()
    want(harness, "p")
    record = harness.store.get(POD, "default", "p")
    assert record is not None
    assert msgspec.json.decode(record.body)["status"]["nominatedNodeName"] == "a"
    assert (harness.node_of("p"), left(harness)) == ("", {"x", "calm", "p"})
    harness.store.patch(POD, [Patch("default", "x", {"metadata": {"finalizers": None}})])
    harness.settle()
    assert (harness.node_of("p"), left(harness)) == ("a", {"calm", "p"})


def test_case_28_where_only_higher_priorities_run_the_pod_waits() -> None:
    harness = plane("a")
    run(harness, ("x", "a", 200))
    want(harness, "p")
    assert (harness.node_of("p"), left(harness)) == ("", {"x", "p"})


def gang(harness: Harness, *names: str, cpu: str = "4") -> None:
    harness.group("g", len(names))
    want(harness, *names, cpu=cpu, group="g")


@pytest.mark.parametrize("nodes", [("a",), ("a", "b")])
def test_case_29_two_members_preempt_on_one_node_or_on_two(nodes: tuple[str, ...]) -> None:
    harness = plane(*nodes)
    run(harness, ("x", nodes[0], 1), ("y", nodes[-1], 2), cpu="2" if len(nodes) == 1 else "4")
    gang(harness, "p", "q", cpu="2" if len(nodes) == 1 else "4")
    assert left(harness) == {"p", "q"}
    assert {harness.node_of("p"), harness.node_of("q")} == set(nodes)


def test_case_29_a_budget_that_the_first_member_has_spent_fails_the_whole_unit() -> None:
    harness = plane("a", "b", budgets="hard")
    budget(harness, 1)
    run(harness, ("x", "a", 1), ("y", "b", 2), **web())
    gang(harness, "p", "q")
    assert left(harness) == {"x", "y", "p", "q"}
    assert (harness.node_of("p"), harness.node_of("q")) == ("", "")


# ---------------------------------------------------------------- 31 and 32: permitted preemptions


def never_in(where: str, harness: Harness) -> dict[str, Any]:
    if where == "spec":
        return {"spec": {"preemptionPolicy": "Never"}}
    if where == "annotation":
        return {"annotations": {f"{NOTE}preemption-policy": "Never"}}
    body: dict[str, Any] = {"metadata": {"name": "calm"}, "value": 100}
    if where == "class":
        body["preemptionPolicy"] = "Never"
    else:
        body["metadata"]["annotations"] = {f"{NOTE}preemption-policy": "Never"}
    harness.create(PRIORITY_CLASS, msgspec.json.encode(body))
    return {"spec": {"priorityClassName": "calm"}}


@pytest.mark.parametrize("where", ["spec", "annotation", "class", "annotation of the class"])
def test_case_31_a_pod_that_must_not_preempt_stays_pending(where: str) -> None:
    harness = plane("a")
    run(harness, ("x", "a", 1))
    more = never_in(where, harness)
    if "priorityClassName" in more.get("spec", {}):
        harness.submit(make_pod("p", cpu="4", **more))
        harness.settle()
    else:
        want(harness, "p", **more)
    assert (harness.node_of("p"), left(harness)) == ("", {"x", "p"})


AGREES = {f"{NOTE}can-be-preempted": "true"}
FORBIDS = {f"{NOTE}can-be-preempted": "false"}
RECENT = {f"{NOTE}protection-duration-from-preemption": "3600"}
VICTIMS = [
    ("it has not agreed where that is asked", {"optIn": True}, {}, 1, False),
    ("it has agreed", {"optIn": True}, {"annotations": AGREES}, 1, True),
    ("it forbids it", {}, {"annotations": FORBIDS}, 1, False),
    ("its priority is equal", {}, {}, 100, False),
    ("its priority is lower", {}, {}, 99, True),
    ("it has just started", {}, {"annotations": RECENT}, 1, False),
    ("its budget is spent", {"budgets": "hard"}, web("spent"), 1, False),
]


@pytest.mark.parametrize(
    ("why", "rules", "more", "priority", "goes"), VICTIMS, ids=[each[0] for each in VICTIMS]
)
def test_case_32_pods_that_may_be_evicted(
    why: str, rules: dict[str, Any], more: dict[str, Any], priority: int, goes: bool
) -> None:
    del why
    harness = plane("a", **rules)
    budget(harness, 0, "spent")
    run(harness, ("x", "a", priority), **more)
    want(harness, "p")
    assert (harness.node_of("p") == "a", "x" not in left(harness)) == (goes, goes)


BY_MANAGER = {"annotations": {f"{NOTE}pod-launcher": "node-manager"}}


@pytest.mark.parametrize(
    ("running", "wanted"), [(BY_MANAGER, {}), ({}, BY_MANAGER), (BY_MANAGER, BY_MANAGER)]
)
def test_case_32_what_a_node_manager_starts_neither_goes_nor_makes_others_go(
    running: dict[str, Any], wanted: dict[str, Any]
) -> None:
    harness = plane("a")
    harness.create(NM_NODE, b'{"kind": "NMNode", "metadata": {"name": "a"}}')
    run(harness, ("x", "a", 1), **running)
    want(harness, "p", **wanted)
    assert (harness.node_of("p"), left(harness)) == ("", {"x", "p"})


# ---------------------------------------------------------------- 39: victims on other nodes


@pytest.mark.parametrize("order", [("p", "q"), ("q", "p")])
@pytest.mark.parametrize(("is_kept", "goes"), [(True, False), (False, True)])
def test_case_39_two_victims_and_one_disruption_left_reject_the_unit_in_any_order(
    order: tuple[str, str], is_kept: bool, goes: bool
) -> None:
    harness = plane("a", "b", budgets="hard")
    if is_kept:
        budget(harness, 1)
    run(harness, ("x", "a", 1), ("y", "b", 1), **web())
    gang(harness, *order)
    assert ({"x", "y"} & left(harness) == set()) is goes
