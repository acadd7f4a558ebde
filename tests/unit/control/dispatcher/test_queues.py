import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.control.queues.config import QueueConfig
from stretto.state.rows.lifecycle import UnitState
from tests.unit.control.dispatcher.fake_cluster import Desk

FIFO, PRIORITY = QueueConfig("default", "FIFO"), QueueConfig("default", "Priority")


def test_units_are_dequeued_in_the_order_of_their_arrival() -> None:
    desk = Desk()
    desk.arrive("a", "b")
    desk.arrive("c")
    assert desk.sent() == ["a", "b", "c"]


def test_no_more_pods_are_dequeued_than_the_capacity_allows() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c")
    assert desk.sent(capacity=2) == ["a", "b"]
    assert desk.sent(capacity=2) == ["c"]


def test_higher_priority_is_dequeued_first_and_equal_priority_by_arrival() -> None:
    desk = Desk(PRIORITY)
    desk.arrive("low", priority=1)
    desk.arrive("high", "high-later", priority=9)
    assert desk.sent() == ["high", "high-later", "low"]


def test_negative_and_huge_priorities_are_ordered_too() -> None:
    desk = Desk(PRIORITY)
    for name, priority in [("least", -(2**31)), ("system", 2_000_001_000), ("zero", 0)]:
        desk.arrive(name, priority=priority)
    assert desk.sent() == ["system", "zero", "least"]


def test_a_queue_without_settings_orders_by_priority() -> None:
    desk = Desk()
    desk.arrive("first", priority=0)
    desk.arrive("second", priority=9)
    assert desk.sent() == ["second", "first"]


def test_priority_does_not_matter_in_a_fifo_queue() -> None:
    desk = Desk(QueueConfig("default", "FifoSkip"))
    desk.arrive("first", priority=0)
    desk.arrive("second", priority=9)
    assert desk.sent() == ["first", "second"]


def test_a_unit_that_comes_back_stands_where_it_stood() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c")
    desk.sent(capacity=2)
    desk.give_back("b", "a")
    assert desk.sent() == ["a", "b", "c"]


def test_giving_back_counts_no_attempt() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.give_back("a")
    assert desk.unit("a").attempts == 0


def test_raised_priority_moves_a_waiting_unit_up() -> None:
    desk = Desk(PRIORITY)
    desk.arrive("a", "b", priority=1)
    desk.pods.priority[desk.rows["b"]] = 5
    desk.change("b")
    assert desk.sent() == ["b", "a"]


def test_a_pod_deleted_in_the_queue_is_not_sent() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c")
    desk.delete("b")
    assert desk.sent() == ["a", "c"]


def test_a_row_used_again_waits_as_the_new_pod() -> None:
    desk = Desk()
    desk.arrive("old", "b")
    gone = desk.died("old")
    desk.absorb(departures=gone, arrivals=desk.born("new"))
    assert desk.sent() == ["b", "new"]


def test_dead_entries_are_swept_so_that_a_stuck_queue_stays_small() -> None:
    desk = Desk()
    for number in range(1000):
        desk.arrive(f"p{number}")
        desk.delete(f"p{number}")
    order = desk.dispatcher._places.queues.get("default").order
    assert (order.live, len(order._line) + len(order._heap) < 100) == (0, True)


def test_queues_take_turns() -> None:
    desk = Desk()
    desk.arrive("a1", "a2", "a3", queue="a")
    desk.arrive("b1", "b2", "b3", queue="b")
    assert desk.sent() == ["a1", "b1", "a2", "b2", "a3", "b3"]


def test_a_queue_of_twice_the_weight_is_served_twice_as_much() -> None:
    desk = Desk(QueueConfig("a", weight=2.0), QueueConfig("b"))
    desk.arrive(*(f"a{i}" for i in range(90)), queue="a")
    desk.arrive(*(f"b{i}" for i in range(90)), queue="b")
    sent = desk.sent(capacity=60)
    assert sum(name.startswith("a") for name in sent) == 40


def test_a_unit_of_many_pods_uses_up_as_many_turns() -> None:
    desk = Desk()
    desk.group("g", 3)
    desk.arrive("g1", "g2", "g3", group="g", queue="a")
    desk.arrive("a4", queue="a")
    desk.arrive("b1", "b2", "b3", "b4", queue="b")
    assert desk.sent() == ["g1", "g2", "g3", "b1", "b2", "b3", "a4", "b4"]


def test_an_idle_queue_saves_up_no_turns() -> None:
    desk = Desk()
    desk.arrive(*(f"a{i}" for i in range(50)), queue="a")
    assert len(desk.sent(capacity=40)) == 40
    desk.arrive(*(f"b{i}" for i in range(10)), queue="b")
    assert desk.sent(capacity=4) == ["a40", "b0", "a41", "b1"]


def test_a_queue_may_be_named_by_label_too() -> None:
    desk = Desk()
    desk.arrive("a", labels={"stretto.dev/queue": "ml"})
    assert desk.unit("a").queue == "ml"


def test_a_pod_that_names_another_queue_moves_there() -> None:
    desk = Desk()
    desk.arrive("a", "b", queue="x")
    desk.change("a", queue="y")
    assert (desk.unit("a").queue, desk.dispatcher._places.queues.get("x").order.live) == ("y", 1)
    assert sorted(desk.sent()) == ["a", "b"]


def test_an_unknown_policy_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean Priority"):
        Desk(QueueConfig("q", "Priorty"))


def test_a_queue_without_weight_is_refused() -> None:
    with pytest.raises(InputError, match="queue q: weight"):
        QueueConfig("q", weight=0.0)


# ---------------------------------------------------------------- the head blocks


def test_nothing_passes_the_failed_head_of_a_blocking_queue() -> None:
    desk = Desk(FIFO)
    desk.arrive("head", "second")
    desk.sent()
    desk.no_place("head")
    desk.give_back("second")
    assert desk.sent() == []


def test_a_cured_head_goes_on_and_the_queue_with_it() -> None:
    desk = Desk(FIFO)
    desk.arrive("head", "second")
    desk.sent()
    desk.no_place("head")
    desk.give_back("second")
    desk.wake()
    assert desk.sent() == ["head", "second"]


def test_a_deleted_head_blocks_no_longer() -> None:
    desk = Desk(FIFO)
    desk.arrive("head", "second")
    desk.sent()
    desk.no_place("head")
    desk.give_back("second")
    desk.delete("head")
    assert desk.sent() == ["second"]


def test_a_head_in_back_off_blocks_too() -> None:
    desk = Desk(FIFO, free_retries=0)
    desk.arrive("head", "second")
    desk.sent()
    desk.refuse("head")
    desk.give_back("second")
    assert desk.sent() == []
    desk.pass_time(1.0)
    assert desk.sent() == ["head", "second"]


def test_a_blocking_queue_is_at_one_shard_only_and_reports_it() -> None:
    desk = Desk(FIFO, shards=3)
    desk.arrive("a", "b", "c")
    work = desk.work([10, 10, 10])
    assert [len(each) for each in work] == [3, 0, 0]
    assert all(each.blocking for each in work[0])


def test_a_blocking_queue_waits_for_all_answers_before_it_sends_more() -> None:
    desk = Desk(FIFO)
    desk.arrive("a")
    desk.sent()
    desk.arrive("b")
    assert desk.sent() == []
    desk.place("a")
    assert desk.sent() == ["b"]


def test_another_queue_is_not_blocked() -> None:
    desk = Desk(FIFO)
    desk.arrive("head")
    desk.sent()
    desk.no_place("head")
    desk.arrive("other", queue="other", class_id=1)
    assert desk.sent() == ["other"]


def test_what_outranks_a_failed_head_may_pass_it() -> None:
    desk = Desk(QueueConfig("default", "Priority", blocking=True))
    desk.arrive("head", priority=5)
    desk.sent()
    desk.no_place("head")
    desk.arrive("lower", priority=1)
    desk.arrive("higher", priority=9)
    assert desk.sent() == ["higher"]


def test_a_blocking_queue_throws_back_a_window_at_most() -> None:
    desk = Desk(FIFO, blocking_window=2)
    desk.arrive("a", "b", "c")
    assert desk.sent() == ["a", "b"]


def test_without_retry_a_failed_head_is_dropped_and_the_next_one_goes() -> None:
    desk = Desk(FIFO, retry=False)
    desk.arrive("head", "second")
    desk.sent()
    desk.no_place("head")
    desk.give_back("second")
    assert (desk.unit("head").state, desk.sent()) == (UnitState.FAILED, ["second"])


# ---------------------------------------------------------------- as Gödel's own tests have it


def test_a_pod_that_keeps_failing_does_not_block_newer_pods() -> None:
    desk = Desk()
    desk.arrive("old")
    for _ in range(3):
        desk.sent()
        desk.no_place("old")
        desk.wake()
    desk.sent()
    desk.no_place("old")
    desk.arrive("new", class_id=1)
    assert desk.sent() == ["new"]


def test_in_a_blocking_queue_a_pod_that_keeps_failing_stays_the_head() -> None:
    desk = Desk(QueueConfig("default", "Priority", blocking=True))
    desk.arrive("old")
    desk.sent()
    desk.no_place("old")
    desk.arrive("new", class_id=1)
    desk.wake()
    assert desk.sent() == ["old", "new"]
