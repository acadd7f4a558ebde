"""One loop alone: dispatched rows in, a plan out, and every row answered."""

from typing import Any

import numpy as np

from stretto.base.rng import Rng
from stretto.control.scheduler.loop import LoopId, SchedulingLoop
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.state.work.claims import Plan
from stretto.state.work.units import Cure, Dispatch, SetbackReason, Unit
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ClusterFeed
from tests.support.plans import a_unit, wait_for


class Bench(ClusterFeed):
    """A cluster, a loop over it, and pods handed out by name."""

    def __init__(self, *nodes: bytes, profile: str = "default") -> None:
        super().__init__(*nodes)
        engine = CompiledProfile(load_profile(profile), self.cluster)
        runtime = Runtime(engine, Rng(0), "numpy")
        self.loop = SchedulingLoop(LoopId(3), runtime, self.cluster.pods, engine.cures_of)

    def hand(self, *names: str, least: int = 1, blocking: bool = False, **form: Any) -> Unit:
        for name in names:
            self.pod(make_pod(name, **form))
        wait_for(self, *names)
        unit = a_unit("-".join(names), least)
        rows = tuple(self.row(name) for name in names)
        self.loop.accept([Dispatch(unit, rows, least, blocking)])
        return unit

    def plan(self, limit: int = 100) -> Plan:
        plan = self.loop.cycle(limit)
        assert plan is not None
        return plan

    def names(self, rows: Any) -> list[str]:
        return [self.cluster.pods.name[row] for row in rows]


def bench(cpu: str = "4", **more: Any) -> Bench:
    return Bench(make_node("n", cpu=cpu), make_node("m", cpu=cpu), **more)


def test_an_empty_inbox_makes_no_plan() -> None:
    assert bench().loop.cycle() is None


def test_what_fits_becomes_claims_in_order() -> None:
    desk = bench()
    desk.hand("a")
    desk.hand("b")
    plan = desk.plan()
    assert (plan.shard, desk.names(plan.rows), plan.setbacks) == (3, ["a", "b"], [])
    assert [(unit.start, unit.stop) for unit in plan.units] == [(0, 1), (1, 2)]


def test_claims_name_generation_version_and_serial() -> None:
    desk = bench()
    desk.hand("a")
    plan = desk.plan()
    ledger, pods = desk.cluster.ledger, desk.cluster.pods
    assert plan.generations[0] == ledger.slots.generation[plan.slots[0]]
    assert plan.versions[0] == ledger.version[plan.slots[0]]
    assert plan.serials[0] == pods.serial[plan.rows[0]]


def test_a_loop_writes_nothing_but_its_snapshot() -> None:
    desk = bench()
    desk.hand("a")
    head = desk.cluster.ledger.head
    desk.plan()
    assert (desk.cluster.ledger.head, desk.cluster.ledger.used.any()) == (head, False)


def test_the_snapshot_contains_what_was_proposed() -> None:
    desk = bench()
    for name in "abcd":
        desk.hand(name, cpu="4")
    plans = [desk.plan(limit=1) for _ in range(4)]
    assert [len(plan.rows) for plan in plans] == [1, 1, 0, 0]


def test_what_fits_nowhere_comes_back_with_its_cures() -> None:
    desk = bench()
    unit = desk.hand("big", cpu="9")
    (setback,) = desk.plan().setbacks
    assert (setback.unit, desk.names(setback.rows), setback.why) == (
        unit,
        ["big"],
        SetbackReason.NO_PLACE,
    )
    assert setback.cures & Cure.POD_LEFT
    assert setback.class_id == desk.cluster.pods.class_id[desk.row("big")]


def test_a_gang_is_claimed_as_a_whole() -> None:
    desk = bench()
    desk.hand("a", "b", least=2, cpu="4")
    (unit,) = desk.plan().units
    assert (unit.start, unit.stop, unit.at_least) == (0, 2, 2)


def test_a_gang_that_is_short_leaves_no_trace_on_the_snapshot() -> None:
    desk = bench()
    desk.hand("a", "b", "c", least=3, cpu="4")
    plan = desk.plan()
    assert (len(plan.rows), len(plan.setbacks[0].rows)) == (0, 3)
    desk.hand("x", "y", least=2, cpu="4")
    assert len(desk.plan().rows) == 2


def test_of_a_larger_unit_the_rest_comes_back() -> None:
    desk = bench()
    desk.hand("a", "b", "c", least=2, cpu="4")
    plan = desk.plan()
    assert (len(plan.rows), desk.names(plan.setbacks[0].rows)) == (2, ["c"])


def test_a_pod_that_has_gone_is_neither_claimed_nor_answered() -> None:
    desk = bench()
    desk.hand("a")
    desk.ingest.end(desk.row("a"))
    plan = desk.plan()
    assert (len(plan.rows), plan.setbacks) == (0, [])


def test_the_other_pods_of_its_unit_are_given_back_untried() -> None:
    desk = bench()
    desk.hand("a", "b", least=2)
    desk.ingest.end(desk.row("a"))
    (setback,) = desk.plan().setbacks
    assert (setback.rows, setback.why) == ((desk.row("b"),), SetbackReason.GIVEN_BACK)


def test_a_deleted_pod_is_not_answered_for_the_pod_that_has_its_row() -> None:
    desk = bench()
    desk.hand("a")
    desk.ingest.end(desk.row("a"))
    desk.hand("b")
    plan = desk.plan()
    assert (desk.names(plan.rows), plan.setbacks) == (["b"], [])


def test_after_a_blocking_unit_failed_no_deleted_pod_is_answered() -> None:
    desk = bench()
    desk.hand("big", cpu="9", blocking=True)
    desk.hand("a", blocking=True)
    desk.ingest.end(desk.row("a"))
    assert [desk.names(setback.rows) for setback in desk.plan(limit=1).setbacks] == [["big"]]


def test_a_pod_that_is_sent_again_is_claimed_once() -> None:
    desk = bench()
    unit = desk.hand("a")
    desk.loop.accept([Dispatch(unit, (desk.row("a"),), 1)])
    plan = desk.plan()
    assert (desk.names(plan.rows), plan.setbacks) == (["a"], [])


def test_work_behind_deleted_pods_is_taken_in_the_next_cycle() -> None:
    desk = bench()
    desk.hand("a")
    desk.hand("b")
    desk.ingest.end(desk.row("a"))
    assert [len(desk.plan(limit=1).rows) for _ in range(2)] == [0, 1]


def test_a_row_that_is_used_again_is_not_mistaken() -> None:
    desk = bench()
    desk.hand("a")
    desk.ingest.end(desk.row("a"))
    desk.pod(make_pod("b"))
    wait_for(desk, "b")
    assert len(desk.plan().rows) == 0


def test_after_a_blocking_unit_failed_nothing_is_tried() -> None:
    desk = bench()
    desk.hand("big", cpu="9", blocking=True)
    desk.hand("small", blocking=True)
    plan = desk.plan()
    assert [setback.why for setback in plan.setbacks] == [
        SetbackReason.NO_PLACE,
        SetbackReason.GIVEN_BACK,
    ]


def test_a_cycle_takes_about_as_many_as_configured() -> None:
    desk = bench()
    for name in "abcd":
        desk.hand(name)
    assert (len(desk.plan(limit=3).rows), len(desk.loop.rows)) == (3, 1)


def test_each_row_handed_out_is_answered_once() -> None:
    desk = bench()
    desk.hand("a", "b", least=1, cpu="3")
    desk.hand("c", "d", "e", least=3, cpu="3")
    desk.hand("f", cpu="100m")
    plan = desk.plan()
    back = [row for setback in plan.setbacks for row in setback.rows]
    assert sorted([*plan.rows.tolist(), *back]) == list(range(6))


def test_chosen_devices_are_part_of_the_claim() -> None:
    desk = Bench(make_node("n", gpus=4))
    desk.hand("a", gpus=2)
    desk.hand("b", gpus=1)
    masks = desk.plan().devices
    assert [mask.bit_count() for mask in masks.tolist()] == [2, 1]
    assert not np.bitwise_and.reduce(masks)
