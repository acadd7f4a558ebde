"""Units that may start before a blocked head, and the use of run times."""

from math import inf

import pytest

from stretto.control.queues.backfill import BackfillReservation
from stretto.control.queues.config import QueueConfig
from stretto.state.queues.demand import UnitDemand
from stretto.state.queues.end_times import NEVER, EndTimes, micros
from stretto.state.rows.lifecycle import UnitState
from tests.unit.control.dispatcher.fake_cluster import Desk

EASY = QueueConfig("default", "Easy")
SJF = QueueConfig("default", "ShortestFirst")


def one(amount: int) -> UnitDemand:
    return UnitDemand(((0, amount),), ((0, amount),))


def kept(head: int, free: int, *ends: tuple[int, int], now: int = 0) -> BackfillReservation:
    running = EndTimes()
    for end, amount in ends:
        running.add(end, ((0, amount),))
    return BackfillReservation(((0, head),), {0: free}, running, now)


def blocked_desk(free: int = 1, head: int = 4) -> Desk:
    """A unit of 3 runs until 10, and the head, which requests ``head``, has failed."""
    desk = Desk(EASY)
    desk.arrive("runs", class_id=2, duration=10)
    desk.sent()
    desk.place("runs")
    desk.arrive("head", class_id=head - 1, duration=5)
    desk.sent()
    desk.pool.left = free
    desk.no_place("head")
    return desk


# ---------------------------------------------------------------- the reservation


def test_the_shadow_time_is_the_first_end_with_enough_capacity() -> None:
    found = kept(4, 1, (10, 1), (20, 2), (30, 5))
    assert (found.shadow, found.extra) == (20, {0: 0})


def test_all_that_ends_at_the_shadow_time_is_left_over() -> None:
    assert kept(4, 1, (10, 3), (10, 2), (11, 1)).extra == {0: 2}


def test_what_should_have_ended_ends_now() -> None:
    assert kept(4, 1, (10, 3), now=25).shadow == 25


def test_a_head_that_never_fits_has_no_shadow_time() -> None:
    assert kept(9, 1, (10, 3)).shadow == NEVER


def test_what_states_no_run_time_is_not_expected_to_end() -> None:
    assert kept(4, 1, (NEVER, 3)).shadow == NEVER


@pytest.mark.parametrize(
    ("amount", "longest"), [(1, NEVER), (2, 10), (3, -1)], ids=["extra", "by shadow", "no capacity"]
)
def test_how_long_units_behind_the_head_may_run(amount: int, longest: int) -> None:
    assert kept(4, 2, (10, 3)).longest(one(amount)) == longest


def test_a_unit_that_ends_by_the_shadow_time_uses_no_extra_capacity() -> None:
    found = kept(4, 2, (10, 3))
    found.take(one(1), 10)
    assert (found.free, found.extra) == ({0: 1}, {0: 1})
    found.take(one(1), 11)
    assert (found.free, found.extra) == ({0: 0}, {0: 0})


def test_ends_that_are_taken_back_are_forgotten() -> None:
    ends = EndTimes()
    ends.add(5, ((0, 1),))
    ends.add(5, ((0, 2),))
    ends.remove(5, ((0, 1),))
    assert list(ends) == [(5, {0: 2})]
    ends.remove(5, ((0, 2),))
    assert list(ends) == []


def test_times_are_compared_in_microseconds() -> None:
    assert micros(0.1 + 0.2) == micros(0.3)
    assert micros(inf) == NEVER


# ---------------------------------------------------------------- in a queue


def test_a_unit_that_ends_by_the_shadow_time_passes_the_head() -> None:
    desk = blocked_desk()
    desk.arrive("short", duration=10)
    assert desk.sent() == ["short"]


def test_a_unit_that_would_delay_the_head_waits() -> None:
    desk = blocked_desk()
    desk.arrive("long", duration=10.1)
    desk.arrive("endless")
    assert desk.sent() == []


def test_capacity_beyond_the_heads_need_has_no_time_limit() -> None:
    desk = blocked_desk(free=2)
    desk.arrive("a")
    desk.arrive("b")
    assert desk.sent() == ["a"]


def test_a_waiting_unit_that_turns_out_shorter_may_pass() -> None:
    desk = blocked_desk()
    desk.arrive("long", duration=99)
    assert desk.sent() == []
    desk.change("long", duration=3)
    assert desk.sent() == ["long"]


def test_the_head_goes_first_once_it_may() -> None:
    desk = blocked_desk()
    desk.arrive("long", duration=99)
    desk.delete("runs")
    desk.pool.left = 4
    desk.wake()
    assert desk.sent() == ["head", "long"]


def test_a_unit_that_passed_and_failed_sleeps_like_any_other() -> None:
    desk = blocked_desk()
    desk.arrive("short", duration=1)
    desk.sent()
    desk.no_place("short")
    assert desk.unit("short").state is UnitState.UNSCHEDULABLE
    assert desk.dispatcher.audit() == []


# ---------------------------------------------------------------- run times


def test_the_shortest_is_first_and_what_states_nothing_last() -> None:
    desk = Desk(SJF)
    desk.arrive("unknown")
    desk.arrive("long", duration=60)
    desk.arrive("short", duration=0.5)
    assert desk.sent() == ["short", "long", "unknown"]


@pytest.mark.parametrize("written", ["-1", "soon", "nan", "1e11"])
def test_an_impossible_run_time_is_reported(written: str) -> None:
    desk = Desk(SJF)
    desk.arrive("a", duration=written)
    found = f"annotation stretto.dev/duration: got {written!r}, expected seconds from 0 to"
    assert found in desk.failures()[0]


def test_a_gang_runs_as_long_as_its_longest_pod() -> None:
    desk = Desk(SJF)
    desk.group("g", 2)
    desk.arrive("a", group="g", duration=3)
    desk.arrive("b", group="g", duration=7)
    assert desk.unit("a").duration == 7


def test_a_pod_group_may_state_it_for_its_pods() -> None:
    desk = Desk(SJF)
    desk.group("g", 1, annotations={"stretto.dev/duration": "42"})
    desk.arrive("a", group="g")
    assert desk.unit("a").duration == 42


def test_a_pod_group_with_an_impossible_run_time_is_refused() -> None:
    desk = Desk(SJF)
    desk.group("g", 1, annotations={"stretto.dev/duration": "-5"})
    desk.arrive("a", group="g")
    assert "PodGroup ns/g: annotation stretto.dev/duration: got '-5'" in desk.failures()[0]


def test_backfill_without_a_pool_is_an_error_of_the_caller() -> None:
    from stretto.control.dispatcher.dispatcher import Dispatcher
    from stretto.control.queues.config import DispatcherConfig

    desk = Desk()
    with pytest.raises(ValueError, match="need the pool"):
        Dispatcher(desk.pods, desk.units, DispatcherConfig(other_queues=EASY))


def test_capacity_of_a_unit_behind_a_failed_head_serves_another_queue() -> None:
    desk = Desk(QueueConfig("strict", "Priority", blocking=True))
    for name, queue, priority, class_id in [
        ("late", "strict", 0, 0),
        ("head", "strict", 5, 5),
        ("other", "default", 0, 0),
    ]:
        desk.arrive(name, queue=queue, priority=priority, class_id=class_id)
        desk.sent()
        if desk.unit(name).away:
            desk.no_place(name)
    desk.wake(fits=lambda class_id: int(class_id == 0))
    assert desk.sent() == ["other"]
