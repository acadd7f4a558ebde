"""Evictions that restore a queue's guarantee, and the time that other queues wait."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from stretto.state.queues.guarantees import ReclaimRight
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionOrder, PlannedPlace
from stretto.state.work.units import Unit
from tests.unit.control.dispatcher.fake_cluster import Desk
from tests.unit.control.dispatcher.test_queue_changes import drop, put


class FakeNodes:
    """Nodes on which each evicted pod frees the capacity for one pod."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.budget, self.required = desk, 1 << 30, True

    def begin(self) -> None:
        return

    def leaving(self) -> list[int]:
        return []

    def places(
        self, unit: Unit, right: ReclaimRight, ahead: Sequence[PlannedPlace]
    ) -> list[PlannedPlace]:
        used = {row for each in ahead for row in each.victims}
        needed = unit.pending[: max(1, unit.still_needed)]
        found, gone = [], list[int]()
        for row in needed:
            part = self._part(unit, right, used.union(gone))
            if not part:
                return []
            gone += part
            serial = int(self.desk.pods.serial[row])
            found.append(PlannedPlace(row, serial, 0, 0, tuple(part)))
        return found if self.required and len(gone) <= self.budget else []

    def _part(self, unit: Unit, right: ReclaimRight, used: set[int]) -> list[int]:
        """A running pod that may be evicted, with the rest of its gang."""
        for row in sorted(self.desk.rows.values()):
            gang = self.desk.units.of_row(row)
            if row in used or not self.may_evict(unit, row, right, self.desk.now):
                continue
            if gang is None or not gang.is_gang or len(gang.bound) > gang.min_member:
                return [row]
            if not gang.away:
                return sorted(gang.bound)
        return []

    def may_evict(self, unit: Unit, row: int, right: ReclaimRight, now: float) -> bool:
        return int(self.desk.pods.state[row]) == PodState.BOUND and right.may_evict(row)


def borrowing(*borrowers: str, **more: Any) -> tuple[Desk, FakeNodes]:
    """Pods of b run on what a is guaranteed, and one of a has found no place."""
    desk = Desk()
    put(desk, "a", guarantee={"cpu": "2m"})
    put(desk, "b", **more)
    if borrowers:
        desk.arrive(*borrowers, queue="b")
        desk.place(*desk.sent())
    desk.arrive("owner", queue="a")
    desk.sent()
    desk.no_place("owner")
    return desk, FakeNodes(desk)


def requested(desk: Desk, nodes: FakeNodes) -> list[str]:
    found: list[EvictionOrder] = desk.dispatcher.reclaim(nodes, desk.now)
    return sorted(name for order in found for name in desk.names(order.rows))


def group_of(desk: Desk, *names: str) -> None:
    desk.group("g", len(names))
    desk.arrive(*names, queue="b", group="g")


def test_one_pod_is_evicted_for_one_with_a_guarantee_and_no_second_meanwhile() -> None:
    desk, nodes = borrowing("b1", "b2")
    first = requested(desk, nodes)
    desk.now += 1.0
    assert (len(first), requested(desk, nodes)) == (1, [])


def test_the_next_pod_of_a_unit_reclaims_at_once_after_the_first() -> None:
    desk, nodes = borrowing("b1", "b2")
    desk.group("g", 1)
    desk.arrive("m1", "m2", queue="a", group="g")
    desk.delete("owner")
    desk.no_place(*desk.sent())
    (first,) = requested(desk, nodes)
    desk.delete(first)
    desk.wake()
    one, other = desk.sent()
    desk.place(one)
    desk.no_place(other)
    desk.now += 1.0
    assert len(requested(desk, nodes)) == 1


def test_those_that_give_start_nothing_until_the_owner_has_started() -> None:
    desk, nodes = borrowing("b1", "b2")
    requested(desk, nodes)
    desk.arrive("b3", queue="b", class_id=1)
    assert desk.sent() == []
    desk.delete("owner")
    requested(desk, nodes)
    assert "b3" in desk.sent()


@pytest.mark.parametrize("gone", [put, drop], ids=["guarantee", "queue"])
def test_a_guarantee_or_queue_that_goes_meanwhile_frees_those_that_gave(
    gone: Callable[[Desk, str], None],
) -> None:
    desk, nodes = borrowing("b1", "b2")
    requested(desk, nodes)
    gone(desk, "a")
    desk.arrive("b3", queue="b", class_id=1)
    requested(desk, nodes)
    assert "b3" in desk.sent()


def test_victims_that_do_not_end_in_time_are_replaced_by_others() -> None:
    desk, nodes = borrowing("b1", "b2")
    first = requested(desk, nodes)
    desk.now += 121.0
    second = requested(desk, nodes)
    assert (len(first), len(second)) == (1, 1)


def test_an_owner_that_found_no_place_without_its_victims_soon_lets_others_go_on() -> None:
    desk, nodes = borrowing("b1", "b2", "b3")
    for _ in range(2):  # it retries with growing delays, and the others need not wait
        (victim,) = requested(desk, nodes)
        desk.delete(victim)
        desk.wake()
        desk.no_place(*desk.sent())
        assert requested(desk, nodes) == []
        desk.now += 5.0
    assert requested(desk, nodes) == []
    desk.arrive("b4", queue="b", class_id=1)
    assert desk.sent() == ["b4"]


def test_no_further_eviction_before_the_owner_was_tried_even_with_slow_victims() -> None:
    desk, nodes = borrowing("b1", "b2")
    (victim,) = requested(desk, nodes)
    desk.now += 20.0
    desk.delete(victim)
    assert requested(desk, nodes) == []
    desk.arrive("b3", queue="b", class_id=1)
    assert "b3" not in desk.sent()


def test_no_pod_is_evicted_if_other_pods_would_block_the_newcomer_anyway() -> None:
    desk, nodes = borrowing("b1", "b2")
    nodes.required = False
    assert requested(desk, nodes) == []


def test_a_reclaim_without_victims_is_retried_with_back_off() -> None:
    desk, nodes = borrowing("b1")
    nodes.budget = 0
    times = []
    for _ in range(400):
        before = desk.dispatcher.reclaimer._retries.copy()
        requested(desk, nodes)
        if desk.dispatcher.reclaimer._retries != before:
            times.append(desk.now)
        desk.now += 1.0
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps[:5] == [5.0, 10.0, 20.0, 40.0, 80.0]


def test_an_attempt_in_between_does_not_shorten_the_back_off() -> None:
    desk, nodes = borrowing("b1")
    nodes.budget = 0
    requested(desk, nodes)
    before = desk.dispatcher.reclaimer._retries.copy()
    desk.wake()
    assert desk.sent() == ["owner"]
    desk.now += 1.0
    requested(desk, nodes)
    desk.no_place("owner")
    desk.now += 1.0
    requested(desk, nodes)
    assert desk.dispatcher.reclaimer._retries == before != {}


def test_a_gang_with_pods_on_their_way_is_not_taken_apart() -> None:
    desk, nodes = borrowing()
    group_of(desk, "c1", "c2")
    desk.place(*desk.sent())
    desk.arrive("c3", queue="b", group="g")
    desk.sent()
    assert requested(desk, nodes) == []
    desk.no_place("c3")
    desk.now += 6.0
    assert requested(desk, nodes) == ["c1", "c2"]


def test_without_guarantees_no_pod_is_evicted() -> None:
    desk, nodes = borrowing("b1")
    put(desk, "a")
    assert requested(desk, nodes) == []
