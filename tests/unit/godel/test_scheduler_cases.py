"""Gödel's cases about a shard's decisions, by their number in the inventory.

Cases about sampling (17) have no counterpart: every node is looked at, so a better node is never
missed, and the number that upstream computes is not needed.
"""

import json
from collections.abc import Sequence

import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, MOVEMENT, POD, RESERVATION
from stretto.base.errors import InputError
from stretto.control.controllers.movements import Movements
from stretto.control.controllers.packing import PackingPlanner
from stretto.control.controllers.rescheduler import Rescheduler
from stretto.framework.profile.profile import load_profile
from stretto.state.classes.annotations import HARD_CONSTRAINTS, SOFT_CONSTRAINTS, read_annotations
from stretto.state.work.evictions import EvictionOrder
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

PLAIN = {"tier": "numpy"}
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web",
    "uid": "u",
    "controller": True,
}
KEEP = {
    "godel.bytedance.com/reservation": "true",
    "godel.bytedance.com/reservation-ttl": "30",
}


def constraints(text: str) -> dict[str, int]:
    return dict(read_annotations({HARD_CONSTRAINTS: text}, "pod p").hard)


# ---------------------------------------------------------------- 11: the grammar of constraints


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a:2,b", {"a": 2, "b": 1}), ("a:2,b, c, a", {"a": 1, "b": 1, "c": 1}), ("", {})],
)
def test_case_11_names_have_weights_and_the_last_one_counts(text, expected) -> None:
    assert constraints(text) == expected


@pytest.mark.parametrize("text", [",a", ":2", "a:1:2", "a:0", "a:-1"])
def test_case_11_what_cannot_be_read_is_an_error_of_the_pod(text) -> None:
    with pytest.raises(InputError, match=r"annotation godel\.bytedance\.com/hard-constraints"):
        constraints(text)


def test_case_11_a_pod_with_bad_constraints_fails_alone() -> None:
    harness = Harness([make_node("n")], config=PLAIN)
    bad = make_pod("bad", annotations={HARD_CONSTRAINTS: "a:0"})
    harness.submit(bad, make_pod("good"))
    harness.settle()
    assert harness.placements() == {"bad": "", "good": "n"}
    assert "expected names with weights" in harness.plane.cluster.abnormal["pod default/bad"]


# ---------------------------------------------------------------- 18: the host


def test_case_18_the_one_best_node_is_taken() -> None:
    harness = Harness([make_node("small", cpu="2"), make_node("large", cpu="64")], config=PLAIN)
    harness.submit(make_pod("p", cpu="1"))
    harness.settle()
    assert harness.node_of("p") == "large"


def test_case_18_of_equal_nodes_any_is_taken_and_of_none_none() -> None:
    harness = Harness([make_node("a"), make_node("b")], config=PLAIN)
    harness.submit(make_pod("p"), make_pod("huge", cpu="1k"))
    harness.settle()
    assert (harness.node_of("p") in ("a", "b"), harness.node_of("huge")) == (True, "")


# ---------------------------------------------------------------- 19 and 30: preferred nodes


def test_case_19_a_place_that_is_kept_is_used_before_any_other() -> None:
    harness = Harness([make_node("a", cpu="4")], config=PLAIN)
    harness.submit(make_pod("old", cpu="3", annotations=KEEP, owner=OWNER))
    harness.settle()
    harness.create_nodes(make_node("b", cpu="64"))
    harness.store.delete(POD, [Deletion("default", "old")])
    harness.settle()
    harness.submit(make_pod("new", cpu="3", annotations=KEEP, owner=OWNER))
    harness.settle()
    assert (harness.node_of("new"), len(harness.store.list(RESERVATION).records)) == ("a", 0)


def test_a_reserved_place_is_exclusive_until_it_expires() -> None:
    harness = Harness([make_node("a", cpu="4")], config=PLAIN)
    harness.submit(make_pod("old", cpu="3", annotations=KEEP, owner=OWNER))
    harness.settle()
    harness.store.delete(POD, [Deletion("default", "old")])
    harness.submit(make_pod("thief", cpu="2"))
    harness.settle()
    assert (harness.node_of("thief"), harness.breaches()) == ("", [])
    harness.clock.advance(31)
    harness.settle()
    assert (harness.node_of("thief"), harness.breaches()) == ("a", [])


def test_a_restart_keeps_what_was_kept() -> None:
    first = Harness([make_node("a", cpu="4")], config=PLAIN)
    first.submit(make_pod("old", cpu="3", annotations=KEEP, owner=OWNER))
    first.settle()
    first.store.delete(POD, [Deletion("default", "old")])
    first.settle()
    again = Harness(store=first.store, config=PLAIN)
    again.submit(
        make_pod("thief", cpu="2"), make_pod("new", cpu="3", annotations=KEEP, owner=OWNER)
    )
    again.settle()
    assert (again.node_of("thief"), again.node_of("new"), again.breaches()) == ("", "a", [])


def test_case_30_the_recommended_node_is_used_if_it_has_capacity() -> None:
    nodes = [make_node("a", cpu="4"), make_node("b", cpu="64")]
    harness = Harness(nodes, config=PLAIN)
    harness.plane.cluster.recommended["OwnerUnit/ReplicaSet/default/web"] = ["a"]
    harness.submit(make_pod("one", cpu="3", owner=OWNER), make_pod("two", cpu="3", owner=OWNER))
    harness.settle()
    assert sorted(harness.placements().values()) == ["a", "b"]


def test_case_30_a_full_recommended_node_is_no_obstacle() -> None:
    harness = Harness([make_node("a", cpu="1"), make_node("b", cpu="64")], config=PLAIN)
    harness.plane.cluster.recommended["OwnerUnit/ReplicaSet/default/web"] = ["a", "gone"]
    harness.submit(make_pod("p", cpu="3", owner=OWNER))
    harness.settle()
    assert harness.node_of("p") == "b"


# ---------------------------------------------------------------- moves


def fragmented() -> Harness:
    """Two nodes of GPUs, each with half a GPU in use on one of them."""
    nodes = [make_node(name, cpu="16", gpus=2) for name in ("a", "b")]
    harness = Harness(nodes, config=PLAIN)
    for name, node in (("p", "a"), ("q", "b")):
        pod = make_pod(name, gpus=1, gpu_milli=500, node=node, owner={**OWNER, "uid": name})
        harness.submit(pod)
    harness.settle()
    return harness


def planner(harness: Harness) -> PackingPlanner:
    plane = harness.plane
    return PackingPlanner(
        plane.cluster, plane.units, harness.store, plane.budgets, plane.is_protected
    )


def rescheduler(harness: Harness) -> Rescheduler:
    movements = Movements(harness.plane.cluster, harness.plane.units, harness.store)
    return Rescheduler(harness.plane.cluster, harness.store, planner(harness), movements)


class RefusingLane:
    """Permits no eviction."""

    def permits(self, rows: Sequence[int], serials: Sequence[int], now: float) -> bool:
        return False

    def order(self, order: EvictionOrder, now: float) -> tuple[int, ...]:
        raise AssertionError("a pod is evicted that may not be evicted")


def test_moving_one_half_frees_a_whole_gpu_and_a_whole_node() -> None:
    harness = fragmented()
    plan = planner(harness).plan(ReschedulingGoal.GPUS, 10, "numpy")
    assert (len(plan.moves), plan.before.free_gpus, plan.after.free_gpus) == (1, 2, 3)
    plan = planner(harness).plan(ReschedulingGoal.NODES, 10, "numpy")
    assert (plan.before.empty_nodes, plan.after.empty_nodes) == (0, 1)
    assert harness.placements() == {"p": "a", "q": "b"}


def test_a_plan_keeps_its_budget_and_moves_no_pod_without_a_controller() -> None:
    harness = fragmented()
    assert planner(harness).plan(ReschedulingGoal.NODES, 0, "numpy").moves == ()
    harness = Harness([make_node("a"), make_node("b")], config=PLAIN)
    harness.submit(make_pod("p", node="a"), make_pod("q", node="b"))
    harness.settle()
    assert planner(harness).plan(ReschedulingGoal.NODES, 9, "numpy").moves == ()


def test_a_node_that_receives_a_pod_is_not_vacated_by_the_same_plan() -> None:
    harness = Harness([make_node(name, cpu="8") for name in "abc"], config=PLAIN)
    harness.submit(*(make_pod(f"p{n}", cpu="2", node=n, owner=OWNER) for n in "abc"))
    harness.settle()
    moves = planner(harness).plan(ReschedulingGoal.NODES, 9, "numpy").moves
    assert moves
    assert not {move.source for move in moves} & {move.target for move in moves}


@pytest.mark.parametrize("goal", ReschedulingGoal)
def test_no_pod_moves_to_a_node_or_gpu_whose_pods_are_all_terminating(
    goal: ReschedulingGoal,
) -> None:
    harness = fragmented()
    harness.store.patch(POD, [Patch("default", "p", {"metadata": {"finalizers": ["a.com/held"]}})])
    harness.store.delete(POD, [Deletion("default", "p")])
    harness.settle()
    assert planner(harness).plan(goal, 9, "numpy").moves == ()


def test_a_node_keeps_all_its_pods_if_one_may_not_be_evicted() -> None:
    harness = fragmented()
    plan = planner(harness).plan(ReschedulingGoal.NODES, 10, "numpy")
    begun = rescheduler(harness).carry_out(plan, RefusingLane(), 0.0)
    assert (len(plan.moves), begun) == (1, ())


def test_moves_go_through_the_lane_of_evictions_and_recommend_their_targets() -> None:
    harness = fragmented()
    plane, mover = harness.plane, rescheduler(harness)
    plan = planner(harness).plan(ReschedulingGoal.GPUS, 10, "numpy")
    begun = mover.carry_out(plan, plane.evictor, harness.clock.monotonic())
    assert [move.target for move in begun] == [plan.moves[0].target]
    assert plane.cluster.recommended == {"OwnerUnit/ReplicaSet/default/web": [begun[0].target]}
    (record,) = harness.store.list(MOVEMENT).records
    reported = json.loads(record.body)["spec"]["deletedTasks"][0]
    assert (reported["name"], reported["node"]) == (begun[0].pod.split("/")[1], begun[0].source)


# ---------------------------------------------------------------- constraints that are followed


def test_soft_constraints_pack_the_pods_that_request_it() -> None:
    harness = Harness([make_node(f"n{i}", cpu="8") for i in range(4)], config=PLAIN)
    notes = {SOFT_CONSTRAINTS: "NodeResourcesMostAllocated:10"}
    harness.submit(*(make_pod(f"p{i}", cpu="1", annotations=notes) for i in range(4)))
    harness.settle()
    assert len(set(harness.placements().values())) == 1


def test_an_unknown_hard_constraint_is_refused_by_name_and_not_ignored() -> None:
    harness = Harness([make_node("n")], config=PLAIN)
    harness.submit(make_pod("p", annotations={HARD_CONSTRAINTS: "Nope"}))
    harness.settle()
    chosen = harness.plane.config.profile.chosen
    pod = harness.plane.cluster.classes[0]
    view, slots = (
        harness.plane.shards[0].default.runtime.view,
        harness.plane.cluster.nodes.live_slots(),
    )
    (refusal,) = chosen.refusals(pod, view, slots)
    assert (harness.node_of("p"), refusal.reason) == (
        "",
        "hard constraint Nope names no plugin of this profile",
    )


# ---------------------------------------------------------------- switches: a loop for each part


def test_schedule_unit_multi_schedule_switch_each_part_has_its_loop_and_all_are_placed() -> None:
    rule = {"name": "SubCluster", "args": {"key": "sub"}}
    plugins = {"filter": {"enabled": [{"name": "SubCluster"}]}}
    profile = load_profile({"profiles": [{"plugins": plugins, "pluginConfig": [rule]}]})
    nodes = [make_node(f"n{sub}", cpu="8", labels={"sub": sub}) for sub in "ab"]
    harness = Harness(nodes, profile=profile, config=PLAIN)
    harness.submit(*(make_pod(f"p{sub}", spec={"nodeSelector": {"sub": sub}}) for sub in "ab"))
    harness.settle()
    loops = {loop.sub_cluster for loop in harness.plane.shards[0].loops}
    assert (loops, harness.placements()) == ({"", "a", "b"}, {"pa": "na", "pb": "nb"})


# ---------------------------------------------------------------- promises under fault


def test_case_27_a_report_that_shrinks_below_its_usage_evicts_no_running_pod() -> None:
    harness = Harness([make_node("n", cpu="16", memory="32Gi")], config=PLAIN)
    zone = {"cpu": "8", "memory": "16Gi"}
    harness.create(CUSTOM_NODE_RESOURCE, make_report("n", [zone, zone]))
    harness.submit(make_pod("p", cpu="6", annotations=numa_notes()))
    harness.settle()
    small = json.loads(make_report("n", [{"cpu": "4", "memory": "16Gi"}, zone]))
    harness.replace(CUSTOM_NODE_RESOURCE, json.dumps(small).encode())
    harness.submit(make_pod("q", cpu="6", annotations=numa_notes()))
    harness.settle()
    assert harness.placements() == {"p": "n", "q": "n"}
    assert harness.notes_of("q")["godel.bytedance.com/micro-topology"].startswith("1:")


def test_case_29_what_an_agent_still_reports_is_not_given_to_another_pod() -> None:
    harness = Harness([make_node("n", cpu="16", memory="32Gi")], config=PLAIN)
    zone = {"cpu": "8", "memory": "16Gi"}
    held = [{"default/gone/uid-of-gone": {"cpu": "8"}}, {}]
    harness.create(CUSTOM_NODE_RESOURCE, make_report("n", [zone, zone], held=held))
    harness.submit(make_pod("p", cpu="4", annotations=numa_notes()))
    harness.settle()
    assert harness.notes_of("p")["godel.bytedance.com/micro-topology"].startswith("1:")
