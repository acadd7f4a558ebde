"""Replies that were lost or said no: cases 1 to 7 of those that other schedulers taught.

A whole plane, the real server, a wire that is cut at the named moment; after each the laws hold.
"""

from threading import Timer

import pytest

from stretto.api.wire.kinds import POD_GROUP
from stretto.stores.store import Bind, Patch, WriteOutcome
from tests.e2e.daemon import PODS, SPACE, group, item, member, put
from tests.e2e.plane import GROUPS, Ground

pytestmark = pytest.mark.kube


def at(ground: Ground, place: str, sets: str, *, once: bool = True) -> list[str]:
    """Inject a connection fault once a component reaches a failpoint."""
    seen: list[str] = []

    def fail(name: str) -> None:
        if name == place and not (once and seen):
            seen.append(name)
            setattr(ground.wire, sets, True)
            if sets == "is_down":
                ground.wire.cut()

    ground.failpoint = fail
    return seen


def test_case_1_an_unanswered_bind_keeps_its_capacity(ground: Ground) -> None:
    ground.nodes("n0", cpu="1")
    ground.synced()
    ground.pods("first")
    seen = at(ground, "binder.before-write", "loses_replies")
    ground.go(lambda: bool(seen))
    ground.pods("second")
    Timer(1.0, ground.wire.heal).start()  # reads wait for it
    ground.go_for(1.5)
    ground.go(lambda: "Insufficient cpu" in ground.why("second"))
    assert ground.bound() == {"first": "n0"}
    ground.laws_hold()


def test_case_2_a_bind_that_got_lost_is_retried_and_charged_once(ground: Ground) -> None:
    ground.nodes("n0", cpu="2")
    ground.synced()
    ground.pods("web")
    seen = at(ground, "binder.before-write", "is_down")
    ground.go(lambda: bool(seen))
    Timer(0.5, ground.wire.heal).start()
    ground.go(ground.all_bound(1))
    ground.pods("beside")
    ground.go(ground.all_bound(2))
    ground.laws_hold()


def test_case_3_already_bound_to_the_same_node_is_success(ground: Ground) -> None:
    ground.nodes("n0")
    ground.synced()
    ground.pods("web")
    uid = item(ground.site, f"{PODS}/web")["metadata"]["uid"]
    assert ground.near.bind([Bind(SPACE, "web", uid, "n0")])[0].outcome is WriteOutcome.OK
    assert ground.far.bind([Bind(SPACE, "web", uid, "n0")])[0].outcome is WriteOutcome.OK
    ground.go_for(0.5)
    ground.laws_hold()


def test_case_4_a_bind_that_fails_and_then_succeeds_leaves_nothing_behind(ground: Ground) -> None:
    ground.nodes("n0", cpu="1")
    ground.synced()
    for name in ("a", "b", "c"):  # each has the whole node: a leak would keep the next one off
        seen = at(ground, "binder.before-write", "is_down")
        ground.pods(name)
        ground.go(lambda seen=seen: bool(seen))
        ground.wire.heal()
        ground.go(lambda name=name: name in ground.bound())
        ground.remove(name)
    ground.pods("last")
    ground.go(lambda: "last" in ground.bound())
    ground.laws_hold()


def test_case_5_a_pod_that_another_scheduler_bound_is_on_one_node_only(ground: Ground) -> None:
    ground.nodes("n0", cpu="1")
    ground.synced()
    ground.nodes("n1", cpu="1")
    ground.pods("web")
    uid = item(ground.site, f"{PODS}/web")["metadata"]["uid"]
    taken: list[str] = []

    def steal(name: str) -> None:
        if name == "binder.before-write" and not taken:
            there = next(iter({"n0", "n1"} - {ground.plane.cluster.node_of(row_of(ground, uid))}))
            taken.append(there)
            assert ground.near.bind([Bind(SPACE, "web", uid, there)])[0].outcome is WriteOutcome.OK

    ground.failpoint = steal
    ground.go(lambda: bool(taken))
    ground.pods("next")
    ground.go(ground.all_bound(2))
    assert ground.bound()["web"] == taken[0]
    assert set(ground.bound().values()) == {"n0", "n1"}
    ground.laws_hold()


def row_of(ground: Ground, uid: str) -> int:
    row = ground.plane.cluster.pods.row(uid)
    assert row is not None
    return row


def test_case_6_the_status_of_a_group_follows_its_binds(ground: Ground) -> None:
    ground.nodes("n0")
    put(ground.site, GROUPS, group("ring", 2))
    put(ground.site, PODS, member("a", "ring"), member("b", "ring"))
    seen = at(ground, "binder.before-write", "is_down")
    ground.go(lambda: bool(seen))
    status = item(ground.site, f"{GROUPS}/ring").get("status", {})
    assert status.get("running", 0) == 0
    assert status.get("phase") != "Running"
    ground.wire.heal()
    ground.go(ground.all_bound(2))
    ground.go(lambda: item(ground.site, f"{GROUPS}/ring").get("status", {}).get("running") == 2)
    ground.laws_hold()


def test_case_7_a_status_that_met_a_conflict_is_written_again(ground: Ground) -> None:
    ground.nodes("n0")
    put(ground.site, GROUPS, group("ring", 2))
    put(ground.site, PODS, member("a", "ring"), member("b", "ring"))
    ground.go(lambda: "status" in item(ground.site, f"{GROUPS}/ring") or bool(ground.bound()))
    for number in range(20):  # another client writes continuously
        note = {"metadata": {"annotations": {"note": str(number)}}}
        reply = ground.near.patch(POD_GROUP, [Patch(SPACE, "ring", note)])[0]
        assert reply.outcome is WriteOutcome.OK
        ground.plane.step()
    ground.go(lambda: item(ground.site, f"{GROUPS}/ring").get("status", {}).get("running") == 2)
    ground.laws_hold()
