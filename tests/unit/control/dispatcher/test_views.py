import pytest

from stretto.control.queues.config import QueueConfig
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Cure
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by


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


def waits(desk: Desk, name: str) -> str:
    return desk.dispatcher.views.waiting_for(desk.unit(name)).what


def test_a_queued_unit_waits_for_its_turn() -> None:
    desk = Desk()
    desk.arrive("a", "b")
    assert waits(desk, "b") == "its turn: 2 of 2 in queue default"


def test_a_blocked_unit_names_the_unit_that_blocks_it() -> None:
    desk = Desk(QueueConfig("default", "FIFO"))
    desk.arrive("head", owner=owned_by("Job", "big"))
    desk.sent()
    desk.no_place("head")
    desk.arrive("b")
    assert waits(desk, "b").endswith("in queue default, which OwnerUnit/Job/ns/big blocks")


def test_a_unit_at_a_shard_waits_for_its_answer() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    assert waits(desk, "a") == "the answer of shard 0 for 1 pod"


def test_an_unschedulable_unit_waits_for_its_class_and_its_cures() -> None:
    desk = Desk()
    desk.arrive("a", class_id=3)
    desk.sent()
    desk.no_place("a")
    found = desk.dispatcher.views.waiting_for(desk.unit("a"))
    assert (found.what, found.class_id, found.cures) == ("capacity for 1 pod", 3, Cure.POD_LEFT)


def test_a_unit_in_back_off_waits_for_a_time() -> None:
    desk = Desk(free_retries=0)
    desk.arrive("a")
    desk.sent()
    desk.refuse("a")
    found = desk.dispatcher.views.waiting_for(desk.unit("a"))
    assert (found.state, found.until) == (UnitState.BACKOFF, 1.0)


@pytest.mark.parametrize(
    ("min_member", "what"),
    [
        (None, "its PodGroup ns/g, which does not exist"),
        (3, "more pods: 1 of the 3 it needs exist"),
        (0, "nothing more: PodGroup ns/g: spec.minMember: got 0"),
    ],
)
def test_a_gang_waits_for_its_group_or_its_members(min_member: int | None, what: str) -> None:
    desk = Desk()
    desk.arrive("a", group="g")
    if min_member is not None:
        desk.group("g", min_member)
    assert waits(desk, "a").startswith(what)
