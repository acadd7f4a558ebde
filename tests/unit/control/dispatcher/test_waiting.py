from collections import Counter
from math import inf

from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.units import Cure
from tests.unit.control.dispatcher.fake_cluster import LEFT, Desk, owned_by


def asleep(desk: Desk, *names: str, class_id: int = 0, **notes: object) -> None:
    """Pods that were tried and found no place."""
    desk.arrive(*names, class_id=class_id, **notes)
    for name in desk.sent():
        desk.no_place(name)


def test_an_unschedulable_unit_is_not_tried_before_an_event() -> None:
    desk = Desk()
    asleep(desk, "a")
    assert (desk.sent(), desk.state("a")) == ([], PodState.UNSCHEDULABLE)


def test_an_event_that_cannot_cure_a_failure_wakes_and_probes_nothing() -> None:
    desk, probed = Desk(), []
    asleep(desk, "a")
    assert desk.wake(Cure.NODE_LABELS, lambda c: probed.append(c) or 1) == 0
    assert probed == []


def test_a_class_is_probed_once_however_many_sleep() -> None:
    desk, probed = Desk(), Counter[int]()
    asleep(desk, *(f"p{i}" for i in range(100)), class_id=7)
    desk.wake(fits=lambda class_id: probed.update([class_id]) or 0)
    assert probed == {7: 1}


def test_as_many_wake_as_could_fit_the_oldest_first() -> None:
    desk = Desk()
    asleep(desk, "a", "b", "c")
    assert desk.wake(fits=2) == 2
    assert desk.sent() == ["a", "b"]


def test_a_class_without_capacity_stays_asleep() -> None:
    desk = Desk()
    asleep(desk, "a", class_id=1)
    desk.arrive("b", class_id=2)
    desk.sent()
    desk.no_place("b")
    desk.wake(fits=lambda class_id: int(class_id == 2))
    assert desk.sent() == ["b"]


def test_later_pods_of_a_class_that_fits_nowhere_sleep_untried() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.arrive("b", "c")
    assert desk.sent() == []
    assert [desk.state(name) for name in "bc"] == [PodState.UNSCHEDULABLE] * 2


def test_pods_that_slept_untried_wake_like_the_others() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.arrive("b")
    desk.sent()
    desk.wake()
    assert desk.sent() == ["a", "b"]


def test_a_class_that_may_have_been_cured_is_tried_again() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.wake(fits=1)
    desk.arrive("b")
    assert desk.sent() == ["a", "b"]


def test_a_probe_without_capacity_keeps_a_class_closed() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.wake(fits=0)
    desk.arrive("b")
    assert desk.sent() == []


def test_a_pod_of_higher_priority_is_tried_although_its_class_fits_nowhere() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.arrive("important", priority=5)
    assert desk.sent() == ["important"]


def test_a_gang_of_a_class_that_fits_nowhere_is_tried_by_itself() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.group("g", 2)
    desk.arrive("b", "c", group="g")
    assert desk.sent() == ["b", "c"]


def test_a_failed_gang_closes_no_class_for_single_pods() -> None:
    desk = Desk()
    desk.group("g", 2)
    desk.arrive("b", "c", group="g")
    desk.sent()
    desk.no_place("b", "c")
    desk.arrive("a")
    assert desk.sent() == ["a"]


def test_an_owner_of_several_classes_is_tried_though_one_class_fits_nowhere() -> None:
    desk = Desk()
    asleep(desk, "a", class_id=1)
    arrivals = desk.born("b", class_id=1, owner=owned_by("Job", "j"))
    desk.absorb(arrivals=arrivals + desk.born("c", class_id=2, owner=owned_by("Job", "j")))
    assert desk.sent() == ["b", "c"]


def test_a_gang_wakes_only_when_all_it_needs_may_fit() -> None:
    desk = Desk()
    desk.group("g", 3)
    desk.arrive("a", "b", "c", group="g")
    desk.sent()
    desk.no_place("a", "b", "c")
    assert (desk.wake(fits=2), desk.wake(fits=3)) == (0, 1)


def test_a_gang_that_must_wait_does_not_hold_up_smaller_ones_of_its_class() -> None:
    desk = Desk()
    desk.group("g", 3)
    asleep(desk, "small")
    desk.arrive("a", "b", "c", group="g")
    desk.sent()
    desk.no_place("a", "b", "c")
    assert desk.wake(fits=2) == 1
    assert desk.sent() == ["small"]


def test_of_a_gang_of_two_classes_only_the_blamed_pods_must_fit() -> None:
    desk = Desk()
    desk.group("g", 3)
    arrivals = desk.born("launcher", class_id=1, group="g")
    desk.absorb(arrivals=arrivals + desk.born("w1", "w2", class_id=2, group="g"))
    desk.sent()
    desk.no_place("launcher", "w1", "w2", class_id=2)
    assert desk.wake(fits=lambda class_id: {1: 1, 2: 2}[class_id]) == 1


def test_classes_of_several_queues_wake_in_the_order_of_their_ranks() -> None:
    desk = Desk()
    asleep(desk, "a1", queue="a")
    asleep(desk, "b1", queue="b")
    desk.sent()
    desk.wake(fits=1)
    assert desk.sent() == ["a1"]


def test_a_deleted_unschedulable_unit_is_forgotten() -> None:
    desk = Desk()
    asleep(desk, "a", "b")
    desk.delete("a", "b")
    assert (desk.wake(), desk.sent(), desk.dispatcher.next_due()) == (0, [], inf)


def test_without_waiting_units_a_class_is_tried_again() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.delete("a")
    desk.arrive("b")
    assert desk.sent() == ["b"]


def test_an_unschedulable_pod_that_another_client_binds_is_placed() -> None:
    desk = Desk()
    asleep(desk, "a", "b")
    desk.bind("a")
    assert desk.wake() == 1
    assert desk.sent() == ["b"]


def test_a_sleeping_owner_that_gets_another_pod_is_not_sent_while_its_class_is_closed() -> None:
    desk = Desk()
    asleep(desk, "a", owner=owned_by("ReplicaSet", "web"))
    desk.arrive("b", owner=owned_by("ReplicaSet", "web"))
    assert (desk.sent(), desk.state("b")) == ([], PodState.UNSCHEDULABLE)


# ---------------------------------------------------------------- nothing is missed


def test_a_cure_that_came_while_the_pod_was_at_its_shard_is_not_missed() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.wake(Cure.POD_LEFT)
    desk.no_place("a", cures=Cure.POD_LEFT)
    assert desk.dispatcher.next_due() == -inf
    assert (desk.wake(Cure.NONE), desk.sent()) == (1, ["a"])


def test_another_event_that_came_meanwhile_is_no_reason_to_try_again() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.wake(Cure.NODE_LABELS)
    desk.no_place("a", cures=Cure.POD_LEFT)
    assert desk.wake(Cure.NONE) == 0


def test_capacity_meant_for_a_deleted_pod_serves_the_next_unit() -> None:
    desk = Desk()
    asleep(desk, "a", "b")
    desk.wake(fits=1)
    desk.delete("a")
    assert desk.wake(Cure.NONE, fits=1) == 1
    assert desk.sent() == ["b"]


def test_capacity_that_a_woken_gang_could_not_use_serves_those_behind_it() -> None:
    desk = Desk()
    for name in ("g", "h"):
        desk.group(name, 2)
        desk.arrive(f"{name}1", f"{name}2", group=name)
    desk.sent()
    desk.no_place("g1", "g2")
    desk.no_place("h1", "h2")
    desk.wake(fits=2)
    assert desk.sent() == ["g1", "g2"]
    desk.no_place("g1", "g2")
    desk.wake(Cure.NONE, fits=2)
    assert desk.sent() == ["h1", "h2"]


def test_a_unit_tried_since_the_last_event_is_not_retried_for_unused_capacity() -> None:
    desk = Desk()
    for name in ("g", "h"):
        desk.group(name, 2)
        desk.arrive(f"{name}1", f"{name}2", group=name)
    for name in ("g", "h"):
        desk.sent()
        desk.no_place(f"{name}1", f"{name}2")
    for name, cures in (("g", LEFT), ("h", Cure.NONE)):
        desk.wake(cures, fits=2)
        desk.sent()
        desk.no_place(f"{name}1", f"{name}2")
    assert (desk.wake(Cure.NONE, fits=2), desk.dispatcher.next_due()) == (0, 300.0)


def test_a_gang_of_several_classes_consumes_no_capacity_of_the_class_it_blames() -> None:
    desk = Desk()
    desk.group("g", 2)
    mixed = desk.born("g1", class_id=1, group="g") + desk.born("g2", class_id=2, group="g")
    desk.absorb(arrivals=mixed + desk.born("single", class_id=1))
    desk.sent()
    desk.no_place("g1", "g2", class_id=1)
    desk.no_place("single")
    desk.wake(fits=lambda class_id: int(class_id == 1))
    assert desk.sent() == ["g1", "g2", "single"]


def test_where_no_class_is_to_blame_an_event_starts_a_delay_first() -> None:
    desk = Desk()
    desk.arrive("pinned")
    desk.sent()
    desk.no_place("pinned", class_id=-1)
    desk.wake(fits=0)
    assert (desk.sent(), desk.unit("pinned").state) == ([], UnitState.BACKOFF)
    desk.pass_time(1.0)
    assert desk.sent() == ["pinned"]


def test_the_safety_net_tries_the_first_of_each_wait_group_without_an_event() -> None:
    desk = Desk()
    asleep(desk, "a", "b", class_id=1)
    asleep(desk, "c", class_id=2)
    assert desk.dispatcher.next_due() == 300.0
    desk.pass_time(300.0)
    assert desk.sent() == ["a", "c"]


def test_when_the_safety_net_finds_a_place_all_of_the_class_are_tried() -> None:
    desk = Desk()
    asleep(desk, "a", "b", "c")
    desk.pass_time(300.0)
    desk.sent()
    desk.place("a")
    assert desk.wake(Cure.NONE, fits=0) == 2


def test_a_probe_puts_the_safety_net_off() -> None:
    desk = Desk()
    asleep(desk, "a")
    desk.now = 200.0
    desk.wake(fits=0)
    desk.pass_time(200.0)
    assert desk.sent() == []
    desk.pass_time(100.0)
    assert desk.sent() == ["a"]


def test_a_unit_that_wakes_out_of_turn_is_tried_once() -> None:
    desk = Desk()
    for gang in "gh":
        desk.group(gang, 2)
        desk.arrive(f"{gang}0", f"{gang}1", group=gang, priority=5)
    for name in desk.sent():
        desk.no_place(name)
    asleep(desk, "low")
    desk.wake(fits=1)
    tried = []
    for _ in range(9):
        tried += (names := desk.sent())
        for name in names:
            desk.no_place(name)
        desk.wake(Cure.NONE, fits=1)
    assert Counter(tried).most_common(1)[0][1] == 1
