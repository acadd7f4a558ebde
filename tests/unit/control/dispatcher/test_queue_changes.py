"""Queue objects that are added, changed and deleted while pods wait and run."""

from typing import Any

import pytest

from stretto.api.types.godel import Queue, QueueSpec
from stretto.api.wire.meta import ObjectMeta
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.changes import QueueChange
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by


def put(desk: Desk, name: str, **spec: Any) -> None:
    queue = Queue(ObjectMeta(name=name), QueueSpec(**{"policy": "FifoSkip", **spec}))
    desk.absorb(queues=[QueueChange(name, queue)])


def drop(desk: Desk, name: str) -> None:
    desk.absorb(queues=[QueueChange(name, None)])


def state_of(desk: Desk, name: str) -> str:
    usage = desk.dispatcher._places.usage
    assert usage is not None
    branch = usage.tree.find(name)
    return "" if branch is None else branch.state.value


def test_a_limit_that_comes_later_counts_what_runs_already() -> None:
    desk = Desk()
    desk.group("g", 2)
    desk.arrive("a", "b", queue="q", group="g")
    desk.place(*desk.sent())
    put(desk, "q", limit={"cpu": "3m"})
    desk.arrive("c", "d", queue="q")
    assert (desk.sent(), desk.dispatcher.audit()) == (["c"], [])


def test_what_is_at_a_shard_when_a_limit_comes_counts_too() -> None:
    desk = Desk()
    desk.arrive("a", queue="q")
    desk.sent()
    put(desk, "q", limit={"cpu": "1m"})
    desk.arrive("b", queue="q")
    assert (desk.sent(), desk.dispatcher.audit()) == ([], [])


def test_a_raised_limit_releases_pending_pods() -> None:
    desk = Desk()
    put(desk, "q", limit={"cpu": "1m"})
    desk.arrive("a", "b", queue="q")
    desk.place(*desk.sent())
    put(desk, "q", limit={"cpu": "2m"})
    assert desk.sent() == ["b"]


def test_a_lowered_limit_evicts_no_pod_and_is_applied() -> None:
    desk = Desk()
    put(desk, "q", limit={"cpu": "2m"})
    desk.arrive("a", "b", queue="q")
    desk.place(*desk.sent())
    put(desk, "q", limit={"cpu": "1m"})
    assert (desk.over_limits(), desk.sent()) == ({("q", 0): 1}, [])


@pytest.mark.parametrize("policy", ["FifoSkip", "Priority", "Easy"])
def test_a_service_whose_last_pod_ends_is_one_more_unit_again(policy: str) -> None:
    """The requests of its other pod were recorded while it ran; then the limit was lowered."""
    desk = Desk()
    put(desk, "q", policy=policy, limit={"cpu": "4m"}, max_running_units=3)
    service = owned_by("ReplicaSet", "s")
    desk.arrive("s0", queue="q", class_id=1, owner=service)
    desk.arrive("x", "y", queue="q")
    desk.place(*desk.sent())
    desk.arrive("s1", queue="q", class_id=1, owner=service)
    assert desk.sent() == []
    put(desk, "q", policy=policy, limit={"cpu": "4m"}, max_running_units=1)
    assert desk.sent() == []
    desk.delete("s0")
    assert (desk.sent(), desk.dispatcher.audit()) == ([], [])
    desk.delete("x", "y")
    assert (desk.sent(), desk.dispatcher.audit()) == (["s1"], [])


def test_a_queue_deleted_while_it_is_used_starts_nothing_more() -> None:
    desk = Desk()
    put(desk, "q", limit={"cpu": "9m"})
    desk.arrive("a", queue="q")
    desk.place(*desk.sent())
    drop(desk, "q")
    desk.arrive("b", queue="q")
    assert (desk.sent(), desk.unit("b").state) == ([], UnitState.QUEUED)
    assert state_of(desk, "q") == "Draining"


def test_what_runs_in_a_deleted_queue_counts_for_its_parent() -> None:
    desk = Desk()
    put(desk, "top", limit={"cpu": "2m"})
    for name in ("a", "b"):
        put(desk, name, parent="top")
    desk.arrive("a1", "a2", queue="a")
    desk.place(*desk.sent())
    drop(desk, "a")
    desk.arrive("b1", queue="b")
    assert desk.sent() == []
    desk.delete("a1")
    assert desk.sent() == ["b1"]


def test_a_queue_made_again_goes_on() -> None:
    desk = Desk()
    put(desk, "q", limit={"cpu": "9m"})
    desk.arrive("a", queue="q")
    drop(desk, "q")
    assert desk.sent() == []
    put(desk, "q", limit={"cpu": "9m"})
    assert desk.sent() == ["a"]


def test_a_deleted_queue_of_which_nothing_is_left_is_forgotten() -> None:
    desk = Desk()
    put(desk, "q", limit={"cpu": "1m"})
    desk.arrive("a", queue="q")
    desk.place(*desk.sent())
    drop(desk, "q")
    desk.delete("a")
    put(desk, "other")
    desk.arrive("b", "c", queue="q")
    assert desk.sent() == ["b", "c"]


def test_a_deleted_parent_closes_no_queue_below_it() -> None:
    desk = Desk()
    put(desk, "top", limit={"cpu": "1m"})
    put(desk, "a", parent="top")
    drop(desk, "top")
    desk.arrive("t", queue="top")
    desk.arrive("a1", "a2", queue="a")
    assert (desk.sent(), state_of(desk, "top")) == (["a1"], "Draining")


@pytest.mark.parametrize("policy", ["FIFO", "Easy", "ShortestFirst", "Priority"])
def test_a_policy_that_changes_reorders_pending_units(policy: str) -> None:
    desk = Desk()
    put(desk, "q")
    desk.arrive("low", queue="q", priority=1, duration=9)
    desk.arrive("high", queue="q", priority=5, duration=3)
    put(desk, "q", policy=policy)
    first = "low" if policy in ("FIFO", "Easy") else "high"
    assert (desk.sent(capacity=1)[0], desk.dispatcher.audit()) == (first, [])


def test_a_failed_head_of_a_queue_that_blocks_no_longer_is_passed() -> None:
    desk = Desk()
    put(desk, "q", policy="FIFO")
    desk.arrive("head", queue="q", class_id=1)
    desk.sent()
    desk.no_place("head")
    desk.arrive("second", queue="q")
    assert desk.sent() == []
    put(desk, "q", policy="FifoSkip")
    assert (desk.sent(), desk.dispatcher.audit()) == (["head", "second"], [])


def test_a_queue_that_begins_to_block_waits_for_what_is_away() -> None:
    desk = Desk()
    put(desk, "q")
    desk.arrive("a", queue="q")
    desk.sent()
    put(desk, "q", policy="FIFO")
    desk.arrive("b", queue="q")
    assert desk.sent() == []
    desk.place("a")
    assert (desk.sent(), desk.dispatcher.audit()) == (["b"], [])


def test_turns_follow_the_policy_of_the_root() -> None:
    desk = Desk()
    put(desk, "root", policy="DRF")
    desk.arrive("a1", "a2", "a3", queue="a", class_id=1)
    desk.arrive("b1", "b2", "b3", queue="b")
    assert desk.sent(capacity=3) == ["a1", "b1", "b2"]


def test_a_cycle_is_reported_and_both_queues_continue() -> None:
    desk = Desk()
    put(desk, "a", parent="b")
    put(desk, "b", parent="a")
    usage = desk.dispatcher._places.usage
    assert usage is not None
    desk.arrive("a1", queue="a")
    desk.arrive("b1", queue="b")
    assert "is a cycle" in usage.tree.faults["a"][0]
    assert sorted(desk.sent()) == ["a1", "b1"]


def test_weights_of_single_resources_count_for_those() -> None:
    desk = Desk()
    put(desk, "root", policy="DRF")
    put(desk, "a", resource_weights={"cpu": 2})
    desk.arrive(*(f"a{i}" for i in range(9)), queue="a")
    desk.arrive(*(f"b{i}" for i in range(9)), queue="b")
    assert sum(name[0] == "a" for name in desk.sent(capacity=6)) == 4
