"""Answers of shards, binder and store; numbers in names are of the collected bug reports."""

import pytest

from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.claims import ConflictCause
from stretto.state.work.units import Cure
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by

CONFLICT = ConflictCause.STORE_CONFLICT
REFUSED = ConflictCause.STORE_REFUSED


def refused_times(desk: Desk, times: int, cause: ConflictCause = REFUSED) -> list[float]:
    """Delays after this number of rejections in a row."""
    delays = []
    for _ in range(times):
        desk.sent()
        desk.refuse("a", cause=cause)
        until = desk.unit("a").not_before if desk.unit("a").state is UnitState.BACKOFF else desk.now
        delays.append(until - desk.now)
        desk.pass_time(until - desk.now)
    return delays


def test_a_pod_that_lost_to_another_claim_is_tried_again_at_once() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.refuse("a")
    assert desk.sent() == ["a"]


def test_back_off_doubles_from_one_to_ten_seconds() -> None:
    desk = Desk()
    desk.arrive("a")
    assert refused_times(desk, 6) == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_conflicts_are_retried_at_once_three_times_and_then_back_off() -> None:
    desk = Desk()
    desk.arrive("a")
    assert refused_times(desk, 6, CONFLICT) == [0.0, 0.0, 0.0, 1.0, 2.0, 4.0]


def test_a_success_ends_the_count_of_failures() -> None:
    desk = Desk()
    desk.arrive("a", "b", owner=owned_by("StatefulSet", "db"))
    desk.sent()
    desk.refuse("a", "b", cause=REFUSED)
    desk.pass_time(1.0)
    desk.sent()
    desk.assume("a", "b")
    desk.bind("b")
    assert desk.unit("a").attempts == 0


def test_a_pod_in_back_off_is_not_sent_before_its_time() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.refuse("a", cause=REFUSED)
    desk.pass_time(0.999)
    assert (desk.sent(), desk.state("a"), desk.dispatcher.next_due()) == ([], PodState.BACKOFF, 1.0)


def test_a_rejected_assumption_goes_back_over_a_delay() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.assume("a")
    desk.reject("a")
    assert (desk.unit("a").state, desk.sent()) == (UnitState.BACKOFF, [])
    desk.pass_time(1.0)
    assert desk.sent() == ["a"]


def test_a_rejected_assumption_after_a_conflict_is_tried_at_once() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.assume("a")
    desk.reject("a", cause=CONFLICT)
    assert desk.sent() == ["a"]


def test_a_refusal_that_comes_during_a_delay_does_not_lose_the_unit() -> None:
    desk = Desk()
    desk.arrive("a", "b", owner=owned_by("StatefulSet", "db"))
    desk.sent()
    desk.assume("a")
    desk.refuse("b", cause=REFUSED)
    desk.reject("a")
    desk.pass_time(1.0)
    assert desk.sent() == ["b", "a"]


def test_a_refusal_and_a_setback_of_one_unit_are_one_retry() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c", owner=owned_by("ReplicaSet", "web"))
    desk.sent()
    desk.no_place("c")
    desk.refuse("b")
    desk.assume("a")
    assert desk.sent() == ["b", "c"]


def test_a_unit_moves_only_after_the_last_answer() -> None:
    desk = Desk()
    desk.arrive("a", "b", owner=owned_by("ReplicaSet", "web"))
    desk.sent()
    desk.no_place("b")
    assert desk.unit("b").state is UnitState.DISPATCHED
    desk.assume("a")
    assert desk.unit("b").state is UnitState.UNSCHEDULABLE


def test_without_retry_a_unit_without_place_is_dropped_and_reported() -> None:
    desk = Desk(retry=False)
    desk.arrive("a")
    desk.sent()
    desk.no_place("a")
    assert desk.failures() == ["fits on no node"]
    assert (desk.wake(), desk.sent(), desk.failures()) == (0, [], [])


def test_without_retry_conflicts_are_still_retried() -> None:
    desk = Desk(retry=False)
    desk.arrive("a")
    desk.sent()
    desk.refuse("a")
    assert desk.sent() == ["a"]


def test_without_retry_a_unit_that_gets_new_pods_is_tried_again() -> None:
    desk = Desk(retry=False)
    desk.arrive("a", owner=owned_by("ReplicaSet", "web"))
    desk.sent()
    desk.no_place("a")
    desk.arrive("b", owner=owned_by("ReplicaSet", "web"))
    assert desk.sent() == ["a", "b"]


def test_a_no_that_nothing_cures_backs_off() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.no_place("a", cures=Cure.NONE)
    assert (desk.unit("a").state, desk.unit("a").not_before) == (UnitState.BACKOFF, 1.0)


def test_an_answer_that_comes_twice_counts_once() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.no_place("a")
    desk.no_place("a")
    desk.refuse("a")
    assert (desk.unit("a").state, desk.dispatcher.audit()) == (UnitState.UNSCHEDULABLE, [])


# ---------------------------------------------------------------- reports


def test_case_6_a_unit_is_not_placed_before_its_claims_are() -> None:
    desk = Desk()
    desk.arrive("a", "b", owner=owned_by("StatefulSet", "db"))
    desk.sent()
    desk.assume("a")
    desk.refuse("b", cause=REFUSED)
    assert desk.unit("b").state is UnitState.BACKOFF


@pytest.mark.parametrize("cause", list(ConflictCause))
def test_case_7_every_failure_queues_again(cause: ConflictCause) -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.refuse("a", cause=cause)
    desk.pass_time(10.0)
    assert desk.sent() == ["a"]


def test_case_17_a_gang_waits_for_its_group_even_if_the_pods_come_first() -> None:
    desk = Desk()
    desk.arrive("a", "b", group="g")
    desk.pass_time(10_000.0)
    assert (desk.sent(), desk.failures()) == ([], [])


def test_case_22_nothing_is_kept_for_a_pod_that_is_deleted_at_its_shard() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.delete("a")
    assert (desk.dispatcher.views.outstanding(), list(desk.units)) == ({0: 0}, [])


def test_case_23_a_pod_deleted_while_its_failure_is_on_the_way_is_not_queued_again() -> None:
    desk = Desk()
    desk.arrive("a")
    [[dispatch]] = desk.work()
    gone = desk.died("a")
    desk.dispatcher.answers.settle([(dispatch.unit, dispatch.rows, CONFLICT)], desk.now)
    desk.absorb(departures=gone)
    assert (desk.sent(), desk.dispatcher.audit()) == ([], [])


def test_case_23_nor_is_the_pod_that_has_its_row_now() -> None:
    desk = Desk()
    desk.arrive("old")
    [[dispatch]] = desk.work()
    desk.absorb(departures=desk.died("old"), arrivals=desk.born("new"))
    desk.sent()
    desk.dispatcher.answers.settle([(dispatch.unit, dispatch.rows, CONFLICT)], desk.now)
    assert (desk.sent(), desk.state("new")) == ([], PodState.DISPATCHED)


def test_case_30_any_event_that_may_cure_queues_again() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.no_place("a", cures=Cure.NODE_ADDED | Cure.POD_LEFT)
    desk.wake(Cure.NODE_ADDED)
    assert desk.sent() == ["a"]


def test_case_40_many_events_of_one_unit_are_one_attempt() -> None:
    desk = Desk()
    names = [f"p{i}" for i in range(50)]
    desk.arrive(*names, owner=owned_by("ReplicaSet", "crashing"))
    desk.sent()
    unit = desk.unit("p0")
    row = {name: (desk.rows[name],) for name in names}
    desk.dispatcher.answers.settle([(unit, row[name], CONFLICT) for name in names], desk.now)
    assert (unit.attempts, len(desk.work()[0])) == (1, 1)


def test_a_refusal_of_a_pod_whose_row_has_another_pod_is_not_reported() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    unit, row = desk.unit("a"), desk.rows["a"]
    desk.died("a")
    desk.born("b")
    assert desk.rows["b"] == row
    assert desk.dispatcher.answers.settle([(unit, (row,), CONFLICT)], desk.now) == []


def test_a_refusal_of_a_pending_pod_is_reported() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    refusal = desk.unit("a"), (desk.rows["a"],), CONFLICT
    assert desk.dispatcher.answers.settle([refusal], desk.now) == [refusal]
