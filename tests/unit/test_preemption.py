"""Preemption in a whole plane, in virtual time over a memory store."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import NODE, POD, PRIORITY_CLASS
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionCause, EvictionOrder
from stretto.stores.store import Deletion
from stretto.testing import Harness, make_node, make_pod
from tests.support.preemption_plane import (
    budget,
    clean,
    finish_eviction,
    harness,
    held,
    high,
    low,
    running,
    state,
)

EXACT = {"rules": "exact", "tieRule": "name"}

# ---------------------------------------------------------------- the owner of freed capacity


def test_a_pod_of_higher_priority_takes_the_place_of_a_lower_one() -> None:
    plane = running(low())
    plane.submit(high())
    plane.settle()
    assert plane.placements() == {"high": "n"}
    assert clean(plane)


@pytest.mark.parametrize("priority", [1, 0])
def test_no_pod_of_equal_or_higher_priority_is_evicted(priority: int) -> None:
    plane = running(low())
    plane.submit(high(priority=priority))
    plane.settle()
    assert plane.placements() == {"low": "n", "high": ""}


def test_a_pod_whose_policy_is_never_waits() -> None:
    plane = running(low())
    plane.submit(high(spec={"preemptionPolicy": "Never"}))
    plane.settle()
    assert plane.node_of("low") == "n"


def test_a_priority_class_may_forbid_its_pods_to_preempt() -> None:
    plane = running(low())
    body = {"metadata": {"name": "calm"}, "value": 10, "preemptionPolicy": "Never"}
    plane.create(PRIORITY_CLASS, msgspec.json.encode(body))
    plane.submit(make_pod("high", cpu="3", spec={"priorityClassName": "calm"}))
    plane.settle()
    assert plane.node_of("low") == "n"


def test_no_more_pods_are_evicted_than_necessary() -> None:
    plane = running(*[low(f"low-{i}", cpu="1") for i in range(4)])
    plane.submit(high(cpu="2"))
    plane.settle()
    assert len([n for n in plane.placements().values() if n]) == 3


def test_the_node_whose_victims_matter_least_is_taken() -> None:
    nodes = (make_node("a", cpu="4"), make_node("b", cpu="4"))
    plane = running(low("one", priority=5), low("two", priority=3), nodes=nodes)
    plane.submit(high())
    plane.settle()
    assert set(plane.placements()) == {"one", "high"}


@pytest.mark.parametrize("select", ["best", "better"])
def test_the_lowest_priority_that_will_do_is_taken_whatever_the_policy(select: str) -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "abc")
    pods = [low(f"p{priority}", priority=priority) for priority in (5, 3, 7)]
    plane = running(*pods, nodes=nodes, select=select, candidates=1)
    plane.submit(high())
    plane.settle()
    assert set(plane.placements()) == {"p5", "p7", "high"}


def test_a_drawn_candidate_is_lawful() -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "abc")
    pods = [low(f"p{priority}", priority=priority) for priority in (5, 30, 70)]
    plane = running(*pods, nodes=nodes, select="random", candidates=1)
    plane.submit(high())
    plane.settle()
    assert set(plane.placements()) == {"p30", "p70", "high"}


def test_preemption_can_be_turned_off() -> None:
    plane = running(low(), enabled=False)
    plane.submit(high())
    plane.settle()
    assert plane.node_of("low") == "n"


# ---------------------------------------------------------------- budgets


def test_a_hard_budget_is_never_broken() -> None:
    plane = running(low(labels={"app": "web"}), budgets="hard")
    budget(plane, minAvailable=1)
    plane.submit(high())
    plane.settle(30)
    assert plane.node_of("low") == "n"


def test_a_budget_is_broken_where_nothing_else_would_do() -> None:
    plane = running(low(labels={"app": "web"}))
    budget(plane, minAvailable=1)
    plane.submit(high())
    plane.settle()
    assert plane.node_of("high") == "n"


def test_a_node_without_violations_is_better() -> None:
    nodes = (make_node("a", cpu="4"), make_node("b", cpu="4"))
    plane = running(low(labels={"app": "web"}), low("other", priority=5), nodes=nodes)
    budget(plane, minAvailable=1)
    plane.submit(high())
    plane.settle()
    assert set(plane.placements()) == {"low", "high"}


def test_of_two_preemptors_one_gets_the_last_disruption_of_a_hard_budget() -> None:
    nodes = (make_node("a", cpu="4"), make_node("b", cpu="4"))
    web = {"labels": {"app": "web"}}
    plane = running(low("one", **web), low("two", **web), nodes=nodes, budgets="hard")
    budget(plane, minAvailable=1)
    plane.submit(high("h1"), high("h2"))
    plane.settle(30)
    assert sorted(plane.placements().values()) == ["", "a", "b"]


# ---------------------------------------------------------------- while victims terminate


def test_the_capacity_is_reserved_while_a_victim_terminates() -> None:
    plane = running(held())
    plane.submit(high())
    plane.settle()
    assert state(plane, "high") is PodState.NOMINATED
    plane.submit(make_pod("thief", cpu="1", priority=10))
    finish_eviction(plane)
    plane.settle()
    assert (plane.node_of("high"), plane.node_of("thief")) == ("n", "n")


def test_the_nominated_node_stands_in_the_status() -> None:
    plane = running(held())
    plane.submit(high())
    plane.settle(1)
    record = plane.store.get(POD, "default", "high")
    assert record is not None
    assert msgspec.json.decode(record.body)["status"]["nominatedNodeName"] == "n"


def test_a_pod_of_higher_priority_takes_the_reserved_capacity() -> None:
    plane = running(held())
    plane.submit(high())
    plane.settle()
    plane.submit(high("higher", priority=20))
    plane.settle()
    finish_eviction(plane)
    plane.settle(30)
    assert (plane.node_of("higher"), plane.node_of("high")) == ("n", "")
    assert clean(plane)


def test_a_victim_that_does_not_terminate_blocks_no_pod_for_good() -> None:
    plane = running(held(), waitSeconds=20)
    plane.submit(high())
    plane.settle(60)
    assert state(plane, "high") is not PodState.NOMINATED
    plane.create(NODE, make_node("new", cpu="4"))
    plane.settle(20)
    assert plane.node_of("high") == "new"


def test_reserved_capacity_is_free_again_when_its_pod_is_deleted() -> None:
    plane = running(held())
    plane.submit(high())
    plane.settle()
    plane.store.delete(POD, [Deletion("default", "high")])
    finish_eviction(plane)
    plane.submit(low("next"))
    plane.settle()
    assert plane.node_of("next") == "n"
    assert not plane.plane.cluster.nominations.by_row


def test_a_nomination_is_void_when_its_node_goes() -> None:
    plane = running(held())
    plane.submit(high())
    plane.settle()
    plane.store.delete(NODE, [Deletion("", "n")])
    plane.create(NODE, make_node("m", cpu="4"))
    plane.settle(20)
    assert plane.node_of("high") == "m"


def test_a_new_binder_goes_on_where_the_old_one_stopped() -> None:
    plane = running(held())
    plane.submit(high())
    plane.settle()
    plane.plane.restart_binder(plane.clock.monotonic())
    finish_eviction(plane)
    plane.settle(5)
    assert plane.node_of("high") == "n"
    assert clean(plane)


# ---------------------------------------------------------------- gangs


def gang(plane: Harness, name: str, size: int, **more: Any) -> None:
    plane.group(name, size)
    plane.submit(*[high(f"{name}-{i}", group=name, **more) for i in range(size)])


def test_a_gang_preempts_as_one() -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "abc")
    plane = running(*[low(f"low-{i}") for i in range(3)], nodes=nodes)
    gang(plane, "g", 2)
    plane.settle()
    assert len([n for p, n in plane.placements().items() if p.startswith("g") and n]) == 2
    assert len([p for p in plane.placements() if p.startswith("low")]) == 1


def test_no_pod_is_evicted_for_a_gang_that_would_not_fit_even_then() -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "ab")
    plane = running(low("l1"), low("l2"), nodes=nodes)
    gang(plane, "g", 3)
    plane.settle()
    assert set(plane.placements().values()) == {"a", "b", ""}
    assert clean(plane)


def test_a_gang_is_evicted_whole() -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "ab")
    plane = harness(*nodes)
    gang(plane, "g", 2, priority=1)
    plane.settle()
    plane.submit(high("vip", priority=50))
    plane.settle()
    assert [n for p, n in plane.placements().items() if p.startswith("g")] == []
    assert plane.node_of("vip") in ("a", "b")


def test_a_gang_that_a_hard_budget_lets_leave_in_part_alone_stays() -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "abc")
    plane = harness(*nodes, budgets="hard")
    gang(plane, "g", 2, priority=1, labels={"app": "web"})
    plane.submit(low("other", priority=5))
    plane.settle()
    budget(plane, minAvailable=1)
    plane.submit(high("vip", priority=50))
    plane.settle()
    assert set(plane.placements()) == {"g-0", "g-1", "vip"}


@pytest.mark.parametrize("rules", [{}, EXACT])
def test_a_gang_that_evicts_another_below_its_minimum_evicts_all_of_it(
    rules: dict[str, Any],
) -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "abcd")
    plane = harness(*nodes, profile=rules)
    plane.group("weak", 2)
    plane.submit(*[low(f"weak-{i}", group="weak") for i in range(4)])
    plane.settle()
    gang(plane, "g", 3)
    plane.settle()
    assert set(plane.placements()) == {"g-0", "g-1", "g-2"}


@pytest.mark.parametrize("rules", [{}, EXACT])
def test_what_one_pod_of_a_gang_spends_of_a_hard_budget_is_not_there_for_the_next(
    rules: dict[str, Any],
) -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "abc")
    plane = harness(*nodes, profile=rules, budgets="hard")
    web = {"labels": {"app": "web"}}
    plane.submit(low("web-1", **web), low("web-2", **web), low("other", priority=5))
    plane.settle()
    budget(plane, minAvailable=1)
    gang(plane, "g", 2)
    plane.settle()
    assert sorted(p[:3] for p in plane.placements()) == ["g-0", "g-1", "web"]


def test_a_victim_of_two_pods_of_a_gang_counts_once() -> None:
    nodes = tuple(make_node(name, cpu="4") for name in "ab")
    plane = harness(*nodes, profile=EXACT, budgets="hard")
    gang(plane, "weak", 2, priority=1, labels={"app": "web"})
    plane.settle()
    budget(plane, maxUnavailable=2)
    gang(plane, "g", 2)
    plane.settle()
    assert set(plane.placements()) == {"g-0", "g-1"}


# ---------------------------------------------------------------- orders of others


def test_pods_may_be_evicted_for_another_reason() -> None:
    plane = running(low())
    pods = plane.plane.cluster.pods
    row = int(pods.rows()[0])
    order = EvictionOrder((row,), (int(pods.serial[row]),), EvictionCause.RECLAIM, "owner is back")
    assert plane.plane.evictor.order(order, plane.clock.monotonic()) == (row,)
    plane.settle()
    assert plane.placements() == {}


def test_an_order_omits_protected_pods() -> None:
    plane = running(low(), protect={"fromPriority": 0})
    row = int(plane.plane.cluster.pods.rows()[0])
    serial = int(plane.plane.cluster.pods.serial[row])
    order = EvictionOrder((row,), (serial,), EvictionCause.RESCHEDULE, "moves")
    assert plane.plane.evictor.order(order, plane.clock.monotonic()) == ()
