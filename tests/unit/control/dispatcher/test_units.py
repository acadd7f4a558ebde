import pytest

from stretto.base.errors import InputError
from stretto.control.queues.config import ALL, DispatcherConfig, QueueConfig
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.work.units import UnitKind
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by

MIN_MEMBER = "stretto.dev/min-member"


def job(**notes: object) -> dict[str, object]:
    return {"owner": owned_by("Job", "j"), **notes}


def test_a_pod_without_owner_or_group_is_a_unit_of_its_own() -> None:
    desk = Desk()
    desk.arrive("a")
    unit = desk.unit("a")
    assert (unit.kind, unit.key, unit.min_member) == (UnitKind.POD, desk.metas["a"].uid, 1)


def test_the_pods_of_one_owner_are_one_unit_and_go_one_by_one() -> None:
    desk = Desk()
    desk.arrive("a", "b", owner=owned_by("ReplicaSet", "web"))
    [[dispatch]] = desk.work()
    assert (dispatch.unit.key, dispatch.at_least) == ("OwnerUnit/ReplicaSet/ns/web", 1)
    assert desk.names(dispatch.rows) == ["a", "b"]


def test_owners_of_one_name_are_distinguished_by_uid() -> None:
    desk = Desk()
    desk.arrive("a", owner=owned_by("ReplicaSet", "web", "first"))
    desk.arrive("b", owner=owned_by("ReplicaSet", "web", "second"))
    assert desk.unit("a") is not desk.unit("b")


def test_an_owner_that_does_not_control_the_pod_makes_no_unit() -> None:
    desk = Desk()
    owner = owned_by("ReplicaSet", "web")
    desk.arrive("a", owner=type(owner)(bytes(owner).replace(b"true", b"false")))
    assert desk.unit("a").kind is UnitKind.POD


def test_a_job_states_by_annotation_how_many_pods_must_fit_together() -> None:
    desk = Desk()
    desk.arrive("a", "b", **job(annotations={MIN_MEMBER: "3"}))
    assert desk.sent() == []
    desk.arrive("c", **job(annotations={MIN_MEMBER: "3"}))
    [[dispatch]] = desk.work()
    assert (desk.names(dispatch.rows), dispatch.at_least) == (["a", "b", "c"], 3)


def test_the_table_states_how_many_pods_of_a_kind_must_fit_together() -> None:
    desk = Desk(min_members={"Job": 2})
    desk.arrive("a", **job())
    assert desk.unit("a").state is UnitState.FORMING
    desk.arrive("b", **job())
    assert desk.sent() == ["a", "b"]


@pytest.mark.parametrize("written", [ALL, None])
def test_all_means_every_pod_that_exists(written: str | None) -> None:
    desk = Desk(min_members={} if written else {"Job": ALL})
    notes = {"annotations": {MIN_MEMBER: written}} if written else {}
    desk.arrive("a", "b", **job(**notes))
    [[dispatch]] = desk.work()
    assert dispatch.at_least == 2


@pytest.mark.parametrize("written", ["0", "-1", "two", "1.5", ""])
def test_an_absurd_min_member_breaks_the_pod_with_a_clear_message(written: str) -> None:
    desk = Desk()
    desk.arrive("a", **job(annotations={MIN_MEMBER: written, "stretto.dev/queue": "q"}))
    if written == "":
        assert desk.failures() == []
        return
    [message] = desk.failures()
    assert message.startswith(f"annotation {MIN_MEMBER}: got '{written}', expected a number of")
    assert desk.state("a") is PodState.ABNORMAL


def test_a_corrected_pod_is_retried() -> None:
    desk = Desk()
    desk.arrive("a", **job(annotations={MIN_MEMBER: "0"}))
    desk.change("a", **job(annotations={MIN_MEMBER: "1"}))
    assert (desk.state("a"), desk.sent()) == (PodState.PENDING, ["a"])


def test_one_poison_pod_fails_alone() -> None:
    desk = Desk()
    desk.arrive("bad", labels={"stretto.dev/queue": 5})
    desk.arrive("good")
    assert desk.sent() == ["good"]
    assert desk.failures()[0].startswith("labels or annotations: expected texts by name")


def test_an_absurd_table_of_min_members_is_refused() -> None:
    with pytest.raises(InputError, match="min_members: Job"):
        DispatcherConfig(min_members={"Job": 0})


# ---------------------------------------------------------------- gates


def test_a_gated_pod_waits_without_a_place_in_the_queue() -> None:
    desk = Desk()
    desk.arrive("a", gated=True)
    assert (desk.sent(), desk.state("a")) == ([], PodState.GATED)


def test_an_opened_gate_lets_the_pod_into_the_queue_behind_those_there() -> None:
    desk = Desk()
    desk.arrive("gated", gated=True)
    desk.arrive("b")
    desk.change("gated")
    assert desk.sent() == ["b", "gated"]


def test_a_gated_pod_that_is_deleted_leaves_nothing() -> None:
    desk = Desk()
    desk.arrive("a", gated=True)
    desk.delete("a")
    assert desk.dispatcher._intake.gated == set()


def test_a_pod_that_gets_a_gate_is_removed_from_the_queue() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.change("a", gated=True)
    assert (desk.sent(), desk.state("a")) == ([], PodState.GATED)


# ---------------------------------------------------------------- later members


def test_pods_that_come_while_their_unit_is_at_a_shard_wait_for_its_answer() -> None:
    desk = Desk()
    desk.arrive("a", owner=owned_by("ReplicaSet", "web"))
    desk.sent()
    desk.arrive("b", owner=owned_by("ReplicaSet", "web"))
    assert desk.sent() == []
    desk.place("a")
    assert desk.sent() == ["b"]


def test_a_unit_larger_than_the_capacity_is_dispatched_in_parts() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c", owner=owned_by("ReplicaSet", "web"))
    assert desk.sent(capacity=2) == ["a", "b"]
    desk.place("a", "b")
    assert desk.sent(capacity=2) == ["c"]


def test_a_service_that_grows_again_queues_behind_those_that_wait() -> None:
    desk = Desk(min_members={"StatefulSet": 2})
    desk.arrive("a", "b", owner=owned_by("StatefulSet", "db"))
    desk.sent()
    desk.place("a", "b")
    desk.arrive("other")
    desk.arrive("c", owner=owned_by("StatefulSet", "db"))
    assert sorted(desk.sent()) == ["c", "other"]


def test_a_unit_all_of_whose_pods_run_and_go_one_by_one_costs_nothing() -> None:
    desk = Desk()
    desk.arrive("a", "b", owner=owned_by("ReplicaSet", "web"))
    desk.sent()
    desk.place("a", "b")
    assert (list(desk.units), desk.units.by_identity, desk.units.identity) == ([], {}, {})


def test_a_pod_that_changes_its_owner_changes_its_unit() -> None:
    desk = Desk()
    desk.arrive("a", owner=owned_by("ReplicaSet", "web"))
    desk.change("a")
    assert desk.unit("a").kind is UnitKind.POD
    assert (desk.sent(), desk.units.by_identity) == (["a"], {})


def test_a_pod_that_changes_its_unit_while_at_a_shard_is_tried_again_as_what_it_is() -> None:
    desk = Desk()
    desk.arrive("a", owner=owned_by("ReplicaSet", "web"))
    desk.sent()
    desk.change("a")
    assert (desk.sent(), desk.dispatcher._places.shards.pods) == (["a"], [1])


def test_the_same_arrival_twice_is_one_pod() -> None:
    desk = Desk()
    arrivals = desk.born("a")
    desk.absorb(arrivals=arrivals)
    desk.absorb(arrivals=arrivals)
    assert (desk.sent(), desk.sent()) == (["a"], [])


def test_a_pod_deleted_before_it_was_reported_makes_no_unit() -> None:
    desk = Desk()
    arrivals = desk.born("a")
    gone = desk.died("a")
    desk.absorb(departures=gone, arrivals=arrivals)
    assert (list(desk.units), desk.sent()) == ([], [])


def test_an_unreported_deletion_is_noticed_when_the_row_is_reused() -> None:
    desk = Desk()
    desk.arrive("old")
    desk.died("old")
    desk.arrive("new")
    assert desk.sent() == ["new"]


def test_a_pod_bound_by_another_client_is_removed_from_the_queue() -> None:
    desk = Desk()
    desk.arrive("a", "b")
    desk.bind("a")
    assert desk.sent() == ["b"]


def test_a_released_pod_needs_a_node_again() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.assume("a")
    desk.pods.state[desk.rows["a"]] = PodState.PENDING
    desk.absorb(released=[desk.rows["a"]])
    assert desk.sent() == ["a"]


def test_a_pod_released_after_it_ran_is_known_by_its_row() -> None:
    desk = Desk()
    desk.arrive("a")
    desk.sent()
    desk.place("a")
    desk.pods.state[desk.rows["a"]] = PodState.PENDING
    desk.absorb(released=[desk.rows["a"]])
    assert desk.sent() == ["a"]


def test_queues_of_a_config_are_made_once() -> None:
    desk = Desk(QueueConfig("ml", "Priority"))
    desk.arrive("low", queue="ml", priority=1)
    desk.arrive("high", queue="ml", priority=2)
    assert desk.sent() == ["high", "low"]
