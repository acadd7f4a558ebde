from stretto.control.queues.config import QueueConfig
from tests.unit.control.dispatcher.fake_cluster import Desk


def test_the_position_counts_from_one_in_the_order_of_leaving() -> None:
    desk = Desk(QueueConfig("default", "Priority"))
    desk.arrive("low", priority=1)
    desk.arrive("high", priority=2)
    assert desk.dispatcher.views.position(desk.unit("low")) == ("default", 2, 2)


def test_a_unit_outside_a_queue_has_no_position() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    assert desk.dispatcher.views.position(desk.unit("a")) == ("default", 0, 0)


def test_units_are_counted_by_where_they_are() -> None:
    desk = Desk()
    desk.arrive("forming", group="g")
    desk.arrive("asleep", "late", "away")
    desk.sent()
    desk.no_place("asleep", class_id=9)
    desk.refuse("late")
    counts = desk.dispatcher.views.counts()
    assert {state.name: count for state, count in counts.items() if count} == {
        "FORMING": 1,
        "QUEUED": 1,
        "DISPATCHED": 1,
        "UNSCHEDULABLE": 1,
    }


def test_queue_lengths_and_unschedulable_units_are_reported_by_name_and_class() -> None:
    desk = Desk()
    desk.arrive("a", class_id=4)
    desk.sent()
    desk.no_place("a")
    desk.arrive("b", queue="ml")
    assert desk.dispatcher.views.queue_lengths() == {"default": 0, "ml": 1}
    assert desk.dispatcher.views.unschedulable() == {4: 1}
