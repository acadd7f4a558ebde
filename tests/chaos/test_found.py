"""Faults of the product that the simulator found, each as the few steps that reproduce it."""

import json
from collections.abc import Callable

import pytest

from stretto.api.wire.kinds import NODE, POD_GROUP, QUEUE
from stretto.base.failpoints import Crash
from stretto.control.dispatcher.waiting.delays import DelayedUnits
from stretto.state.work.units import Unit, UnitKind
from stretto.stores.store import Patch
from stretto.testing import make_group, make_node, make_pod
from tests.chaos.rig import Rig
from tests.chaos.test_reliability_cases import in_queue, queue

pytestmark = pytest.mark.chaos


def dies_at(name: str) -> Callable[[str], None]:
    def fail(reached: str) -> None:
        if reached == name:
            raise Crash(name)

    return fail


def crash_binder(rig: Rig, name: str) -> None:
    """Let the binder die at a point, and a new one take over."""
    rig.plane.binder._failpoint = rig.plane._failpoint = dies_at(name)
    with pytest.raises(Crash):
        rig.plane.run_until_idle()
    rig.plane._failpoint = lambda name: None
    rig.plane.restart_binder(rig.clock.monotonic())


POINTS = ["binder.charged", "binder.before-write", "binder.after-write", "binder.answered"]


@pytest.mark.parametrize("point", POINTS)
def test_a_crashed_binder_strands_no_unit_at_a_shard(point: str) -> None:
    rig = Rig(make_node("n1", cpu="2"), batch=1)
    rig.submit(make_pod("first", cpu="1"), make_pod("second", cpu="1"))
    crash_binder(rig, point)
    rig.settle(5.0)
    assert (set(rig.placements().values()), rig.plane.dispatcher.audit()) == ({"n1"}, [])


def test_a_rejection_with_a_lost_reply_is_queued_again() -> None:
    rig = Rig(make_node("n1", cpu="2"))
    rig.submit(make_pod("first", cpu="1"))
    rig.faults(refused_write=1.0)
    crash_binder(rig, "binder.answered")
    rig.faults()
    rig.settle(5.0)
    assert rig.node_of("first") == "n1"


def test_two_deadlines_at_one_time_of_one_unit_do_not_compare_units() -> None:
    delays, unit = DelayedUnits(), Unit("u", UnitKind.POD, 1, "default", 7)
    delays.add(unit, 5.0)
    delays.add(unit, 5.0)
    assert [found for _, found in delays.pop_due(5.0)] == [unit, unit]


def test_a_gate_is_not_forgotten_when_the_row_had_a_bound_pod() -> None:
    rig = Rig(make_node("n1", cpu="2"))
    rig.submit(make_pod("former"))
    rig.plane.step()
    rig.delete("former")
    rig.submit(make_pod("gated", spec={"schedulingGates": [{"name": "g"}]}))
    rig.settle()
    assert rig.plane.dispatcher.audit() == []


def test_a_gang_is_bound_in_one_transaction() -> None:
    rig = Rig(make_node("n1", cpu="4"))
    rig.group("g", 3)
    rig.submit(*(make_pod(f"m{n}", group="g") for n in range(3)))
    rig.during(half_batch=1.0, refused_write=0.4)
    assert len(set(rig.placements().values())) == 1


def test_a_claim_whose_bind_may_still_land_is_kept_though_its_second_try_is_refused() -> None:
    rig = Rig(make_node("n1", cpu="1"))
    rig.submit(make_pod("first", cpu="1"))
    rig.during(late_request=1.0)
    rig.submit(make_pod("second", cpu="1"))
    rig.faults(refused_write=1.0)
    rig.settle(3.0)
    rig.faults()
    rig.settle(20.0)
    assert rig.placements() == {"first": "n1", "second": ""}


def test_the_rest_of_a_gang_in_doubt_is_not_bound_alone() -> None:
    rig = Rig(make_node("n1", cpu="1"), make_node("n2", cpu="1"))
    rig.group("g", 2)
    rig.submit(*(make_pod(f"m{n}", cpu="1", group="g") for n in range(2)))
    rig.during(lost_request=1.0)
    rig.drop(NODE, "n2")
    rig.settle(30.0)
    assert set(rig.placements().values()) == {""}


def test_a_deletion_that_was_lost_does_not_take_the_namesake_along() -> None:
    rig = Rig(make_node("n1", cpu="4"))
    rig.group("g", 1)
    rig.settle()
    rig.drop(POD_GROUP, "g")
    rig.during(drop_event=1.0)
    rig.create(POD_GROUP, make_group("g", 2))
    rig.settle(65.0)
    assert list(rig.plane.cluster.groups) == ["default/g"]


def test_pods_of_several_classes_under_one_owner_are_cured_each_for_itself() -> None:
    owner = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "s", "uid": "s", "controller": True
    }  # fmt: skip
    rig = Rig(make_node("n1", cpu="1"))
    rig.submit(make_pod("large", cpu="64", owner=owner), make_pod("small", cpu="2", owner=owner))
    rig.settle()
    status = {"status": {"allocatable": {"cpu": "3"}}}
    rig.store.patch_status(NODE, [Patch("", "n1", status)])
    rig.settle(15.0)
    assert rig.placements() == {"large": "", "small": "n1"}


def test_a_unit_behind_the_loser_of_a_conflict_does_not_sleep_while_capacity_is_free() -> None:
    rig = Rig(make_node("n1", cpu="4"), shards=2, partition=False)
    rig.group("g", 3)
    rig.settle()
    rig.submit(make_pod("first", cpu="2", priority=9))
    rig.submit(*(make_pod(f"m{n}", cpu="1", group="g", priority=8) for n in range(3)))
    rig.submit(*(make_pod(f"small{n}", cpu="1") for n in range(4)))
    rig.settle(5.0)
    assert rig.used("n1") == 4000


def test_pods_that_an_old_list_lacks_count_for_a_queue_that_comes_late() -> None:
    rig = Rig(make_node("n1", cpu="4"))
    rig.settle()
    rig.submit(in_queue("first", "team"))
    rig.settle()
    rig.create(QUEUE, queue("team", limit={"cpu": "1500m"}))
    rig.during(stale_list=1.0)
    rig.submit(in_queue("second", "team"))
    rig.settle()
    assert rig.placements() == {"first": "n1", "second": ""}


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_a_pod_with_a_lost_deletion_frees_its_capacity_though_a_namesake_runs(profile: str) -> None:
    rig = Rig(make_node("n1", cpu="1"), make_node("n2", cpu="1"), profile=profile)
    former = rig.placed(make_pod("first", cpu="1"))["first"]
    rig.delete("first")
    rig.during(drop_event=1.0)
    rig.placed(make_pod("first", cpu="1"), make_pod("second", cpu="1"))
    rig.settle(65.0)
    assert rig.node_of("second") == former != rig.node_of("first")


def test_a_gang_evicted_from_several_nodes_frees_its_usage_on_each() -> None:
    rig = Rig(*(make_node(name, gpus=2) for name in ("n1", "n2")))
    rig.group("weak", 2)
    rig.placed(make_pod("b", gpus=1, node="n2", priority=9))
    rig.placed(*(make_pod(f"w{n}", gpus=1, node=f"n{n}", group="weak") for n in (1, 2)))
    rig.placed(make_pod("a", gpus=1, node="n1", priority=9))
    rig.group("strong", 2)
    rig.submit(*(make_pod(f"s{n}", gpus=1, priority=9, group="strong") for n in (1, 2)))
    rig.settle(30.0)
    assert {rig.node_of(f"s{n}") for n in (1, 2)} == {"n1", "n2"}


def test_a_later_pod_of_a_gang_waits_for_the_evictions_of_the_rest() -> None:
    rig = Rig(*(make_node(name, cpu="2") for name in ("n1", "n2")))
    slow = json.loads(make_pod("slow", cpu="2", node="n1"))
    slow["metadata"]["finalizers"] = ["example.com/slow"]
    rig.submit(json.dumps(slow).encode(), make_pod("fast", cpu="2", node="n2"))
    rig.group("g", 2)
    pinned = lambda name, node: make_pod(
        name,
        cpu="1",
        priority=9,
        group="g",
        spec={"nodeSelector": {"kubernetes.io/hostname": node}},
    )
    rig.submit(pinned("m0", "n1"), pinned("m1", "n1"))
    rig.settle(1.0)
    rig.submit(pinned("m2", "n2"))
    rig.settle(3.0)
    assert rig.placements() == {"slow": "n1", "m0": "", "m1": "", "m2": ""}


def test_a_later_pod_that_fits_at_once_waits_for_the_minimum_of_its_gang() -> None:
    rig = Rig(*(make_node(name, cpu="2") for name in ("n1", "n2")))
    slow = json.loads(make_pod("slow", cpu="2", node="n1"))
    slow["metadata"]["finalizers"] = ["example.com/slow"]
    rig.submit(json.dumps(slow).encode())
    rig.group("g", 2)
    pinned = lambda name, node: make_pod(
        name,
        cpu="1",
        priority=9,
        group="g",
        spec={"nodeSelector": {"kubernetes.io/hostname": node}},
    )
    rig.submit(pinned("m0", "n1"), pinned("m1", "n1"))
    rig.settle(1.0)
    rig.submit(pinned("m2", "n2"))
    rig.settle(3.0)
    assert rig.placements() == {"slow": "n1", "m0": "", "m1": "", "m2": ""}


def test_no_node_is_claimed_where_a_pod_that_stays_holds_the_host_port_of_a_victim() -> None:
    rig = Rig(make_node("n1", cpu="4"), profile="kube-parity")
    rig.submit(make_pod("weak", node="n1", ports=(80,)))
    rig.submit(make_pod("peer", node="n1", priority=5, ports=(80,)))
    rig.submit(make_pod("wants", priority=5, ports=(80,)))
    rig.settle(30.0)
    assert (rig.node_of("wants"), +rig.plane.evictor.counts) == ("", {})
