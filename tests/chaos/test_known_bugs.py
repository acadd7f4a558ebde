"""Known faults of other schedulers, each as one precise fault on the real plane."""

import msgspec
import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.plane.work import StepWork
from stretto.state.work.claims import ConflictCause
from stretto.stores.store import EventType, Replies, WatchEvent
from stretto.testing import make_node, make_pod
from tests.chaos.rig import Rig

pytestmark = pytest.mark.chaos


def one_node(**more: object) -> Rig:
    return Rig(make_node("n1", cpu="1", **more))  # type: ignore[arg-type]


# ------------------------------------------------------------ ambiguous replies


def test_an_unknown_bind_keeps_its_claim_until_it_has_been_read_back() -> None:
    """k/k#100140: the bind was stored, its reply lost; the claim was forgotten."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"), make_pod("second", cpu="1"))
    rig.faults(lost_reply=1.0)
    rig.plane.step()
    rig.during(delay_event=1.0)
    rig.settle(20.0)
    assert (rig.node_of("first"), rig.node_of("second")) == ("n1", "")


def test_a_pod_whose_reply_was_lost_can_be_forgotten_and_others_assumed() -> None:
    """k/k#101877: after a lost reply Forget was rejected, and so was every later Assume."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"))
    rig.during(lost_reply=1.0)
    rig.settle(5.0)
    rig.delete("first")
    rig.submit(make_pod("second", cpu="1"))
    rig.settle(5.0)
    assert (rig.node_of("second"), rig.booked(), rig.breaches()) == ("n1", 1000, [])


def test_a_bind_that_exists_already_is_success_and_not_retried_without_end() -> None:
    """k/k#96579: bound, but the reply timed out; the bind was retried without end."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"))
    rig.during(lost_reply=1.0)
    rig.settle(60.0)
    counts = rig.plane.binder.counts
    assert (counts["unknown"], counts["granted"], rig.plane.binder.in_doubt) == (1, 1, {})


def test_a_bind_that_fails_and_then_succeeds_is_booked_once() -> None:
    """koordinator#2673: bind errors, then succeeds; the reservation leaked."""
    rig = Rig(make_node("n1", cpu="4", gpus=2, model="A100"))
    rig.submit(make_pod("first", cpu="1", gpus=1))
    rig.during(refused_write=1.0)
    rig.settle(20.0)
    assert (rig.node_of("first"), rig.booked(), rig.breaches()) == ("n1", 1000, [])


def test_a_pod_that_was_refused_and_placed_elsewhere_is_booked_on_one_node() -> None:
    """k/k#28883, k/k#49314: bind refused, placed elsewhere; two nodes were charged."""
    rig = Rig(make_node("n1", cpu="1"), make_node("n2", cpu="1"))
    rig.submit(make_pod("first", cpu="1"))
    rig.during(refused_write=1.0)
    rig.submit(make_pod("second", cpu="1"))
    rig.settle(20.0)
    assert sorted(rig.placements().values()) == ["n1", "n2"]
    assert (rig.used("n1"), rig.used("n2")) == (1000, 1000)


# ------------------------------------------------------------ lost, late and stale events


def test_a_fresh_list_frees_the_capacity_of_a_pod_with_a_lost_deletion() -> None:
    """k/k#55587, k/k#51313: a pod's deletion was lost; its node looked full permanently."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"))
    rig.settle()
    rig.delete("first")
    rig.during(cut_event=1.0)
    rig.submit(make_pod("second", cpu="1"))
    rig.settle()
    assert rig.node_of("second") == "n1"


def test_a_node_with_a_lost_deletion_does_not_hold_pods_indefinitely() -> None:
    """k/k#56261, k/k#94437: a node's deletion was lost; pods were bound to a ghost without end."""
    rig = Rig(make_node("ghost", cpu="4"), make_node("small", cpu="2"))
    rig.settle()
    rig.drop(NODE, "ghost")
    rig.during(drop_event=1.0)
    rig.submit(make_pod("first", cpu="1"))
    rig.settle(60.0)
    assert (rig.node_of("first"), rig.booked()) == ("small", 1000)


def test_a_claim_on_a_node_that_went_and_came_back_is_refused() -> None:
    """k/k#63262: a node was added again and its generation restarted; stale snapshots passed."""
    rig = one_node()
    rig.settle()
    rig.submit(make_pod("first", cpu="1"))
    plane = rig.plane
    plane.pump.poll(0.0)
    plane.absorb(StepWork(0.0))
    work = StepWork(0.0)
    plane.schedule(work)
    (plan,) = work.plans
    rig.drop(NODE, "n1")
    rig.create(NODE, make_node("n1", cpu="1"))
    plane.pump.poll(0.0)
    verdict = plane._commit(plan, 0.0)
    assert [cause for _, _, cause in verdict.refused] == [ConflictCause.NODE_DELETED]


def test_a_tombstone_is_only_an_identity() -> None:
    """k/k#106102: the last state that came with a deletion was old; the process ended."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"))
    rig.settle()
    last = msgspec.structs.replace(rig.record("first"), body=b"\x00 nothing", version=99)
    rig.plane.pump._ingest.pods([WatchEvent(EventType.DELETED, last)], 0.0)
    rig.plane.run_until_idle()
    assert (rig.booked(), rig.breaches()) == (0, [])


def test_a_pod_whose_coming_was_lost_is_found_by_the_periodic_comparison() -> None:
    """k/k#102790: an add was lost; the pod was pending for hours."""
    rig = one_node()
    rig.settle()
    rig.submit(make_pod("first", cpu="1"))
    rig.during(drop_event=1.0)
    rig.settle(31.0)
    assert rig.node_of("first") == "n1"


def test_a_namesake_made_during_a_reconnect_does_not_keep_the_former_one_charged() -> None:
    """koordinator#3059: reconnect while a pod of the same name is made; the old one stayed."""
    rig = one_node()
    rig.submit(make_pod("twin", cpu="900m"))
    rig.settle()
    rig.delete("twin")
    rig.submit(make_pod("twin", cpu="200m"))
    rig.during(cut_event=1.0)
    rig.settle()
    assert (rig.node_of("twin"), rig.booked(), rig.breaches()) == ("n1", 200, [])


def test_a_pod_is_not_scheduled_again_while_the_echo_of_its_bind_is_late() -> None:
    """k/k#129795: the cache lagged behind own writes; the same work was done again and again."""
    rig = Rig(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    rig.settle()
    rig.submit(make_pod("first", cpu="1"))
    rig.plane.step()
    rig.faults(delay_event=1.0)
    rig.settle(20.0)
    assert (rig.plane.binder.counts["granted"], rig.booked()) == (1, 1000)


def test_a_node_that_an_old_list_does_not_show_is_not_dropped() -> None:
    """volcano#4888: a lagging cache said NotFound; node and tasks were dropped: over-commit."""
    rig = one_node()
    rig.settle()
    rig.create(NODE, make_node("n2", cpu="1"))
    rig.submit(make_pod("first", cpu="1"), make_pod("second", cpu="1"))
    rig.settle()
    rig.faults(stale_list=1.0)
    rig.clock.advance(31.0)
    rig.plane.step()
    assert (sorted(rig.plane.cluster.nodes.by_name), rig.booked()) == (["n1", "n2"], 2000)


# ------------------------------------------------------------ ledger and queue


def test_a_claim_is_charged_before_its_bind_is_sent() -> None:
    """volcano#1383: the binder was slower than the cycle; nodes ran out of CPU."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"))
    booked, send = [], rig.face.bind

    def spy(binds: object) -> Replies:
        booked.append(rig.booked())
        return send(binds)  # type: ignore[arg-type]

    rig.face.bind = spy  # type: ignore[method-assign, assignment]
    rig.settle()
    assert booked == [1000]


def test_a_record_that_a_caller_holds_never_changes() -> None:
    """k/k#56730: a shared pod was changed in place; the scheduler panicked."""
    rig = one_node()
    rig.submit(make_pod("first", cpu="1"))
    before = rig.record("first")
    rig.settle()
    with pytest.raises(AttributeError):
        before.node = "n2"  # type: ignore[misc]
    assert (before.node, rig.node_of("first")) == ("", "n1")


def test_a_pod_deleted_while_its_failure_is_handled_is_not_queued_again() -> None:
    """koordinator#3185: a pod deleted while its failure was handled was re-queued without end."""
    rig = one_node()
    rig.submit(make_pod("large", cpu="8"))
    plane = rig.plane
    plane.pump.poll(0.0)
    plane.absorb(StepWork(0.0))
    work = StepWork(0.0)
    plane.schedule(work)
    (plan,) = work.plans
    rig.delete("large")
    plane.pump.poll(0.0)
    plane.absorb(StepWork(0.0))
    plane._commit(plan, 0.0)
    assert (list(plane.units), plane.dispatcher.audit()) == ([], [])


def test_a_node_may_shrink_below_what_it_carries() -> None:
    """volcano#3301, volcano#2999: allocatable fell below used; panic, or the node locked out."""
    rig = Rig(make_node("n1", cpu="4"))
    rig.submit(make_pod("first", cpu="3"))
    rig.settle()
    rig.shrink("n1", cpu="1")
    rig.submit(make_pod("second", cpu="500m"))
    rig.settle()
    assert (rig.node_of("second"), rig.used("n1")) == ("", 3000)
    rig.shrink("n1", cpu="4")
    rig.settle()
    assert (rig.node_of("second"), rig.breaches()) == ("n1", [])


def test_a_pod_deletion_makes_the_shrunken_node_schedulable_again() -> None:
    """volcano#3301, the other half: negative free capacity recovers when pods are deleted."""
    rig = Rig(make_node("n1", cpu="4"))
    rig.submit(make_pod("first", cpu="3"))
    rig.settle()
    rig.shrink("n1", cpu="1")
    rig.drop(POD, "first")
    rig.submit(make_pod("second", cpu="1"))
    rig.settle()
    assert (rig.node_of("second"), rig.used("n1")) == ("n1", 1000)
