import pytest

from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.claims import ConflictCause
from tests.unit.control.dispatcher.fake_cluster import Desk


def a_gang(desk: Desk, *names: str, min_member: int = 0, timeout: int | None = None) -> None:
    desk.group("g", min_member or len(names), timeout)
    desk.arrive(*names, group="g")


def test_pods_whose_group_is_unknown_wait() -> None:
    desk = Desk()
    desk.arrive("a", "b", group="g")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FORMING)


def test_a_group_that_comes_after_its_pods_releases_them_together() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c", group="g")
    desk.group("g", 2)
    [[dispatch]] = desk.work()
    assert (desk.names(dispatch.rows), dispatch.at_least) == (["a", "b", "c"], 2)
    assert dispatch.unit.key == "PodGroupUnit/ns/g"


def test_a_pod_of_a_scheduled_gang_is_released_once_and_to_its_shard() -> None:
    desk = Desk(shards=2)
    a_gang(desk, "a", "b")
    desk.sent(capacity=[5, 5])
    desk.place("a", "b")
    desk.dispatcher._places.shards.pods[0] = 3
    desk.arrive("c", group="g")
    assert [len(work) for work in desk.work([5, 5])] == [1, 0]
    assert desk.sent(capacity=[5, 5]) == []


def test_a_gang_is_not_sent_below_its_minimum() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", min_member=3)
    assert desk.sent() == []
    desk.arrive("c", group="g")
    assert desk.sent() == ["a", "b", "c"]


def test_a_gang_is_dispatched_as_a_whole_even_with_less_capacity() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", "c")
    assert desk.sent(capacity=1) == ["a", "b", "c"]


def test_a_group_may_be_named_by_label() -> None:
    desk = Desk()
    desk.group("g", 2)
    desk.arrive("a", "b", labels={"godel.bytedance.com/pod-group-name": "g"})
    assert desk.sent() == ["a", "b"]


def test_a_gang_that_loses_a_pod_it_needs_waits_again() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.delete("b")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FORMING)


def test_a_gang_that_loses_a_pod_while_at_its_shard_waits_once_it_is_back() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.sent()
    desk.delete("b")
    desk.refuse("a", cause=ConflictCause.GANG_SHORT)
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FORMING)


def test_what_is_left_of_a_part_bound_gang_must_be_placed_together() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", "c")
    desk.sent()
    desk.assume("a", "b", "c")
    desk.bind("a")
    desk.reject("b", "c")
    desk.pass_time(1.0)
    [[dispatch]] = desk.work()
    assert (desk.names(dispatch.rows), dispatch.at_least) == (["b", "c"], 2)


def test_members_that_come_after_the_gang_ran_are_admitted_one_by_one() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", "c")
    desk.sent()
    desk.place("a", "b", "c")
    desk.delete("a", "b")
    desk.arrive("d", group="g")
    [[dispatch]] = desk.work()
    assert dispatch.at_least == 1


def test_after_a_restart_pods_on_nodes_count_for_their_gang() -> None:
    desk = Desk()
    desk.group("g", 3)
    desk.arrive("a", "b", group="g", state=PodState.BOUND)
    desk.arrive("c", group="g")
    [[dispatch]] = desk.work()
    assert (desk.names(dispatch.rows), dispatch.at_least) == (["c"], 1)


def test_no_order_of_arrival_is_given_twice_after_a_restart() -> None:
    desk = Desk()
    first = desk.born("plain")
    bound = desk.born("a", group="g", state=PodState.BOUND)
    desk.absorb(arrivals=first + bound + desk.born("later"))
    sequences = [unit.sequence for unit in desk.units]
    assert len(set(sequences)) == 3


def test_after_a_restart_single_pods_on_nodes_cost_nothing() -> None:
    desk = Desk()
    desk.arrive("a", state=PodState.BOUND)
    assert list(desk.units) == []


def test_an_elastic_gang_goes_on_with_what_found_no_place() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", "c", min_member=2)
    desk.sent()
    desk.no_place("c")
    desk.place("a", "b")
    assert (desk.unit("c").state, desk.state("c")) == (
        UnitState.UNSCHEDULABLE,
        PodState.UNSCHEDULABLE,
    )
    desk.wake()
    assert desk.sent() == ["c"]


# ---------------------------------------------------------------- time


def test_a_gang_that_is_not_scheduled_in_time_has_failed() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", timeout=60)
    desk.sent()
    desk.no_place("a", "b")
    desk.pass_time(59.0)
    assert desk.failures() == []
    desk.pass_time(1.0)
    assert desk.failures() == ["timed out: no capacity for 2 pods together"]


def test_a_gang_that_was_never_tried_names_its_queue_when_it_fails() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", timeout=60)
    desk.pass_time(60.0)
    assert desk.failures() == ["timed out: held back by a limit or by other units of queue default"]


def test_without_a_time_of_its_own_a_gang_has_300_seconds() -> None:
    desk = Desk()
    a_gang(desk, "a", min_member=2)
    assert desk.dispatcher.next_due() == 300.0
    desk.pass_time(300.0)
    assert desk.failures() == ["timed out: 1 of the 2 pods it needs exist"]


def test_a_gang_at_its_shard_may_still_be_placed_when_its_time_is_over() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.sent()
    desk.pass_time(301.0)
    desk.place("a", "b")
    assert (desk.failures(), desk.unit("a").state) == ([], UnitState.PLACED)


def test_a_gang_that_comes_back_after_its_time_has_failed() -> None:
    desk = Desk()
    desk.group("g", 2, 300)
    desk.arrive("a", "b", group="g")
    desk.sent()
    desk.pass_time(301.0)
    desk.refuse("a", "b")
    assert desk.unit("a").state is UnitState.FAILED


def test_a_complete_gang_without_a_time_out_of_its_own_waits_for_capacity() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.sent()
    desk.pass_time(301.0)
    desk.refuse("a", "b")
    desk.pass_time(1000.0)
    assert (desk.sent(), desk.failures()) == (["a", "b"], [])


def test_the_default_time_out_still_applies_to_a_gang_with_missing_members() -> None:
    desk = Desk()
    desk.group("g", 2)
    desk.arrive("a", group="g")
    desk.pass_time(301.0)
    assert desk.unit("a").state is UnitState.FAILED


def test_a_gang_that_was_scheduled_never_times_out() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.sent()
    desk.place("a", "b")
    desk.pass_time(1000.0)
    assert (desk.failures(), desk.unit("a").state) == ([], UnitState.PLACED)


def test_the_end_of_a_time_out_is_final_until_the_group_changes() -> None:
    desk = Desk()
    a_gang(desk, "a", min_member=2)
    desk.pass_time(300.0)
    desk.arrive("b", group="g")
    assert (desk.sent(), desk.unit("b").state) == ([], UnitState.FAILED)
    desk.group("g", 2, uid="another")
    assert desk.sent() == ["a", "b"]


def test_a_group_that_another_component_declares_timed_out_is_not_tried() -> None:
    desk = Desk()
    desk.group("g", 1, phase="Timeout")
    desk.arrive("a", group="g")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FAILED)


def test_a_failed_unit_that_another_client_binds_is_placed() -> None:
    desk = Desk()
    a_gang(desk, "a", min_member=2)
    desk.pass_time(300.0)
    desk.bind("a")
    assert desk.unit("a").state is UnitState.PLACED


# ---------------------------------------------------------------- groups that change


def test_a_lowered_minimum_releases_a_waiting_gang() -> None:
    desk = Desk()
    a_gang(desk, "a", "b", min_member=5)
    desk.group("g", 2)
    assert desk.sent() == ["a", "b"]


def test_a_raised_minimum_takes_a_gang_out_of_its_queue() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.group("g", 3)
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FORMING)


def test_a_lowered_minimum_wakes_a_gang_that_found_no_place() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.sent()
    desk.no_place("a", "b")
    desk.group("g", 1)
    assert desk.sent() == ["a", "b"]


def test_a_deleted_group_stops_its_gang() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.ungroup("g")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.FORMING)


def test_a_changed_status_does_not_restart_the_time() -> None:
    desk = Desk()
    a_gang(desk, "a", min_member=2)
    desk.now = 200.0
    desk.group("g", 2, phase="Pending")
    desk.pass_time(100.0)
    assert desk.unit("a").state is UnitState.FAILED


def test_a_group_may_name_the_queue() -> None:
    desk = Desk()
    desk.arrive("a", group="g")
    desk.group("g", 1, annotations={"stretto.dev/queue": "ml"})
    assert (desk.unit("a").queue, desk.sent()) == ("ml", ["a"])


@pytest.mark.parametrize(
    ("min_member", "more", "message"),
    [
        (0, {}, "PodGroup ns/g: spec.minMember: got 0, expected a number of pods from 1 on"),
        (-3, {}, "PodGroup ns/g: spec.minMember: got -3, expected a number of pods from 1 on"),
        (4, {"annotations": {"stretto.dev/group-size": "3"}}, "got 4, expected at most 3"),
        (4, {"annotations": {"stretto.dev/group-size": "x"}}, "got 'x', expected a number"),
        (4, {"timeout": 0}, "spec.scheduleTimeoutSeconds: got 0, expected a number above 0"),
    ],
)
def test_a_group_that_contradicts_itself_is_abnormal_with_a_clear_message(
    min_member: int, more: dict[str, object], message: str
) -> None:
    desk = Desk()
    desk.arrive("a", group="g")
    desk.group("g", min_member, **more)
    assert message in desk.failures()[0]
    assert desk.state("a") is PodState.ABNORMAL


def test_a_corrected_group_is_retried() -> None:
    desk = Desk()
    desk.group("g", 0)
    desk.arrive("a", group="g")
    desk.group("g", 1)
    assert (desk.sent(), desk.state("a")) == (["a"], PodState.DISPATCHED)


def test_a_group_that_breaks_while_its_gang_is_at_a_shard_fails_once_that_is_back() -> None:
    desk = Desk()
    a_gang(desk, "a", "b")
    desk.sent()
    desk.group("g", 0)
    desk.give_back("a", "b")
    assert desk.unit("a").state is UnitState.FAILED
