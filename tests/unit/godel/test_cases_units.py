"""Gödel's own test cases about units, queues and the dispatcher, by their numbers in the list."""

import pytest

from stretto.control.dispatcher.waiting.phases import GroupFacts, moves, state_of
from stretto.control.queues.config import QueueConfig
from stretto.control.scheduler.partition import Partitions
from stretto.state.rows.lifecycle import GroupState, UnitState
from stretto.state.rows.slots import SlotMap
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by

PENDING, TRIED = GroupState.PENDING, GroupState.PRE_SCHEDULING
SCHEDULED, TIMEOUT = GroupState.SCHEDULED, GroupState.TIMEOUT


def path(phase: str, least: int, created: int, bound: int = 0, **more: bool) -> list[GroupState]:
    return list(moves(state_of(phase), GroupFacts(least, created, bound, **more)))


# ---------------------------------------------------------------- PodGroups


def test_case_1_too_few_pods_keep_a_group_pending_and_a_retry_changes_nothing() -> None:
    assert path("", 3, created=2) == [PENDING]
    assert path("Pending", 3, created=2) == []


def test_case_2_enough_pods_without_nodes_make_a_group_pre_scheduling() -> None:
    assert path("Pending", 2, created=2) == [TRIED]


def test_case_2_a_group_that_loses_a_pod_is_pending_again() -> None:
    assert path("PreScheduling", 2, created=1) == [PENDING]


@pytest.mark.parametrize(("bound", "expected"), [(2, [SCHEDULED]), (1, []), (0, [])])
def test_case_3_a_group_is_scheduled_once_enough_pods_are_bound(
    bound: int, expected: list[GroupState]
) -> None:
    assert path("PreScheduling", 2, created=2, bound=bound) == expected


@pytest.mark.parametrize("phase", ["Pending", "PreScheduling"])
@pytest.mark.parametrize("late", [False, True])
def test_case_4_one_running_pod_makes_a_group_scheduled_below_its_minimum_and_late(
    phase: str, late: bool
) -> None:
    assert path(phase, 3, created=1, bound=1, ran=True, late=late) == [SCHEDULED]


@pytest.mark.parametrize("phase", ["Pending", "PreScheduling"])
def test_case_5_a_late_group_times_out(phase: str) -> None:
    assert path(phase, 2, created=2, late=True)[-1] is TIMEOUT


def test_case_5_a_scheduled_group_never_times_out_and_one_that_did_is_never_scheduled() -> None:
    assert path("Scheduled", 2, created=2, bound=0, late=True) == []
    assert path("Timeout", 2, created=2, bound=2) == []


def test_case_5_a_group_that_its_binder_is_finishing_does_not_time_out() -> None:
    assert path("PreScheduling", 2, created=2, late=True, locked=True) == []


@pytest.mark.parametrize("phase", ["Running", "Finished", "Failed"])
def test_case_6_phases_of_former_times_mean_scheduled(phase: str) -> None:
    assert (state_of(phase), path(phase, 2, created=0)) == (SCHEDULED, [])


# ---------------------------------------------------------------- units


def test_case_7_a_group_releases_all_that_wait_for_it_once() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c", group="g")
    assert desk.sent() == []
    desk.group("g", 3)
    assert (desk.sent(), desk.sent()) == (["a", "b", "c"], [])


def test_case_7_a_pod_of_a_scheduled_gang_is_released_once_and_to_its_shard() -> None:
    desk = Desk(shards=2)
    desk.group("g", 2)
    desk.arrive("a", "b", group="g")
    desk.arrive("busy", "busier")
    desk.work([10, 10])
    desk.place("a", "b")
    shard = desk.unit("a").shard
    desk.arrive("late", group="g")
    work = desk.work([10, 10])
    assert [desk.names(each.rows) for each in work[shard]] == [["late"]]
    assert desk.work([10, 10]) == [[], []]


def test_case_8_the_least_loaded_shard_is_next_and_its_load_counts_at_once() -> None:
    desk = Desk(shards=3)
    desk.arrive("a", "b", "c", "d")
    work = desk.work([10, 10, 10])
    assert sorted(len(each) for each in work) == [1, 1, 2]
    assert sorted(desk.dispatcher.views.outstanding().values()) == [1, 1, 2]


def test_case_8_a_shard_that_has_answered_is_preferred_again() -> None:
    desk = Desk(shards=2)
    desk.arrive("a", "b", "c")
    desk.work([10, 10])
    desk.place("b")
    desk.arrive("d")
    assert [len(each) for each in desk.work([10, 10])] == [0, 1]


def test_case_9_twenty_pods_of_one_owner_go_to_one_shard_and_those_of_none_to_any() -> None:
    desk = Desk(shards=3)
    desk.arrive(*(f"o{i}" for i in range(20)), owner=owned_by("ReplicaSet", "r"))
    desk.arrive(*(f"p{i}" for i in range(20)))
    work = desk.work([100, 100, 100])
    shards = [n for n, each in enumerate(work) for d in each if desk.names(d.rows)[0][0] == "o"]
    assert (len(set(shards)), all(work)) == (1, True)


def test_case_10_nodes_of_the_fullest_partition_move_to_the_emptiest() -> None:
    slots = SlotMap()
    for _ in range(64 * 6):
        slots.add("zone")
    partitions = Partitions()
    partitions.update(slots, [0])
    owners = partitions.update(slots, [0, 1, 2])
    assert [int((owners == number).sum()) for number in range(3)] == [2, 2, 2]


# ---------------------------------------------------------------- queues


def test_case_13_higher_priority_is_first_and_equal_priority_by_arrival() -> None:
    desk = Desk(QueueConfig("default", "Priority"))
    desk.arrive("early", priority=5)
    desk.arrive("high", priority=9)
    desk.arrive("late", priority=5)
    assert desk.sent() == ["high", "early", "late"]


def test_case_13_first_come_first_served_ignores_priority() -> None:
    desk = Desk(QueueConfig("default", "FIFO"))
    desk.arrive("early", priority=1)
    desk.arrive("late", priority=9)
    assert desk.sent() == ["early", "late"]


def fail_repeatedly(desk: Desk, name: str) -> None:
    for _ in range(5):
        desk.sent()
        desk.no_place(name)
        desk.wake()
    desk.sent()
    desk.no_place(name)


def test_case_14_a_pod_that_fails_again_and_again_does_not_block_a_newer_one() -> None:
    desk = Desk(QueueConfig("default", "Priority"))
    desk.arrive("old", priority=5)
    fail_repeatedly(desk, "old")
    desk.arrive("new", priority=5, class_id=1)
    assert desk.sent() == ["new"]


def test_case_15_in_a_blocking_queue_the_old_pod_stays_the_head() -> None:
    desk = Desk(QueueConfig("default", "Priority", blocking=True))
    desk.arrive("old", priority=5)
    fail_repeatedly(desk, "old")
    desk.arrive("new", priority=5, class_id=1)
    assert desk.sent() == []


def test_case_16_the_delay_doubles_with_each_attempt_up_to_its_bound() -> None:
    desk = Desk(first_delay=10.0, longest_delay=300.0, free_retries=0)
    desk.arrive("a")
    delays = []
    for _ in range(7):
        desk.sent()
        desk.refuse("a")
        delays.append(desk.unit("a").not_before - desk.now)
        desk.pass_time(delays[-1])
    assert delays == [10, 20, 40, 80, 160, 300, 300]


# ---------------------------------------------------------------- end to end, at the dispatcher


def test_case_40_below_its_minimum_a_group_waits_and_then_runs_as_a_whole() -> None:
    desk = Desk()
    desk.group("g", 3)
    desk.arrive("a", "b", group="g")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FORMING)
    desk.arrive("c", group="g")
    assert desk.sent() == ["a", "b", "c"]


def test_case_40_a_group_that_timed_out_stays_pending() -> None:
    desk = Desk()
    desk.group("g", 3, timeout=10)
    desk.arrive("a", "b", group="g")
    desk.pass_time(11)
    desk.arrive("c", group="g")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FAILED)
