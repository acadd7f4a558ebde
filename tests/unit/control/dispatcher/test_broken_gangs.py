"""Gangs that are on nodes in part when their time is over."""

from tests.unit.control.dispatcher.fake_cluster import Desk
from tests.unit.control.dispatcher.test_reclaimer import FakeNodes, requested


def in_part(timeout: int = 5) -> tuple[Desk, FakeNodes]:
    """Two of a gang of three are on nodes, and the third was deleted."""
    desk = Desk()
    desk.group("g", 3, timeout)
    desk.arrive("m0", "m1", "m2", group="g")
    desk.assume(*desk.sent())
    desk.bind("m0", "m1")
    desk.delete("m2")
    return desk, FakeNodes(desk)


def test_what_is_on_nodes_is_released_when_the_time_is_over_and_not_before() -> None:
    desk, nodes = in_part()
    desk.pass_time(4.0)
    assert requested(desk, nodes) == []
    desk.pass_time(2.0)
    assert requested(desk, nodes) == ["m0", "m1"]


def test_the_time_of_a_gang_that_was_claimed_whole_is_not_forgotten() -> None:
    desk, _ = in_part()
    assert desk.dispatcher.next_due() <= 5.0


def test_a_gang_that_is_completed_in_time_is_left_alone() -> None:
    desk, nodes = in_part()
    desk.arrive("m3", group="g")
    desk.place(*desk.sent())
    desk.pass_time(60.0)
    assert requested(desk, nodes) == []


def test_an_eviction_without_effect_is_retried_later() -> None:
    desk, nodes = in_part()
    desk.pass_time(6.0)
    requested(desk, nodes)
    assert requested(desk, nodes) == []
    desk.pass_time(10.0)
    assert requested(desk, nodes) == ["m0", "m1"]
