"""One shard and its loops: which loop places which pod, and how sub-clusters interact."""

from typing import Any

import numpy as np
import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.scheduler.loop import LoopId, SchedulingLoop
from stretto.control.scheduler.shard import MOST_LOOPS, Shard
from stretto.control.scheduler.sub_clusters import sub_clusters_of
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.rows.slots import BLOCK
from stretto.state.work.claims import Plan
from stretto.state.work.units import Dispatch, SetbackReason, Unit
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ADDED, MODIFIED, ClusterFeed
from tests.support.plans import a_unit, wait_for


def with_sub_clusters(**args: Any) -> Profile:
    plugins = {"filter": {"enabled": [{"name": "SubCluster"}]}}
    config = [{"name": "SubCluster", "args": {"key": "sub", **args}}]
    return load_profile({"profiles": [{"plugins": plugins, "pluginConfig": config}]})


def of(sub: str, name: str = "", cpu: str = "8") -> bytes:
    return make_node(name or f"n-{sub or 'none'}", cpu=cpu, labels={"sub": sub} if sub else {})


class Bench(ClusterFeed):
    """A shard over a cluster in parts, and pods handed out by name."""

    def __init__(self, *subs: str, profile: Profile | None = None) -> None:
        super().__init__(of(""), *(of(sub) for sub in subs))
        self.clock = ManualClock()
        self.engine = CompiledProfile(profile or with_sub_clusters(), self.cluster)
        routes = sub_clusters_of(self.engine.profile, self.cluster)
        self.shard = Shard(0, self.make_loop, routes, self.clock)

    def make_loop(self, sub_cluster: str) -> SchedulingLoop:
        runtime = Runtime(self.engine, Rng(0), "numpy")
        loop = SchedulingLoop(LoopId(0), runtime, self.cluster.pods, self.engine.cures_of)
        loop.sub_cluster = sub_cluster
        return loop

    def ready(self, name: str, sub: str = "", **form: Any) -> int:
        selector = {"nodeSelector": {"sub": sub}} if sub else {}
        self.pod(make_pod(name, spec=selector, **form))
        wait_for(self, name)
        return self.row(name)

    def hand(self, name: str, sub: str = "", blocking: bool = False, **form: Any) -> Unit:
        rows, unit = (self.ready(name, sub, **form),), a_unit(name, 1)
        self.shard.accept([Dispatch(unit, rows, 1, blocking)])
        return unit

    def waiting(self) -> dict[str, int]:
        return {loop.sub_cluster: len(loop.rows) for loop in self.shard.loops}

    def placed(self, plans: list[Plan]) -> dict[str, str]:
        names, cluster = self.cluster.pods.name, self.cluster
        node = {slot: name for name, slot in cluster.nodes.by_name.items()}
        return {
            names[row]: node[slot]
            for plan in plans
            for row, slot in zip(plan.rows.tolist(), plan.slots.tolist(), strict=True)
        }


# ---------------------------------------------------------------- which loop places which pod


def test_each_unit_goes_to_the_loop_of_the_sub_cluster_that_it_names() -> None:
    desk = Bench("x", "y")
    for name, sub in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "")):
        desk.hand(name, sub)
    assert desk.waiting() == {"": 1, "x": 2, "y": 1}
    assert desk.shard.waiting == 4


def test_work_of_one_batch_is_ordered() -> None:
    desk = Bench("x", "y")
    rows = [desk.ready(f"p{i}", sub, cpu="3") for i, sub in enumerate(("x", "y", "x", "x"))]
    desk.shard.accept([Dispatch(a_unit(str(row), 1), (row,), 1) for row in rows])
    assert sorted(desk.placed(desk.shard.cycle())) == ["p0", "p1", "p2"]


def test_a_unit_that_names_several_is_for_the_loop_that_sees_everything() -> None:
    desk = Bench("x", "y")
    rows = (desk.ready("a", "x"), desk.ready("b", "y"))
    desk.shard.accept([Dispatch(a_unit("g", 2), rows, 2)])
    assert desk.waiting() == {"": 2}
    assert desk.placed(desk.shard.cycle()) == {"a": "n-x", "b": "n-y"}


def test_a_gang_of_one_sub_cluster_is_placed_whole_by_its_loop() -> None:
    desk = Bench("x")
    rows = tuple(desk.ready(f"p{i}", "x", cpu="4") for i in range(2))
    desk.shard.accept([Dispatch(a_unit("g", 2), rows, 2)])
    assert desk.waiting() == {"": 0, "x": 2}
    assert set(desk.placed(desk.shard.cycle()).values()) == {"n-x"}


def test_a_name_without_a_node_gets_no_loop() -> None:
    desk = Bench("x")
    desk.hand("a", "typo")
    assert desk.waiting() == {"": 1}
    (plan,) = desk.shard.cycle()
    assert [setback.why for setback in plan.setbacks] == [SetbackReason.NO_PLACE]


def test_without_a_key_there_is_one_loop() -> None:
    desk = Bench("x", profile=load_profile("default"))
    desk.hand("a", "x")
    assert desk.waiting() == {"": 1}


def test_a_node_that_changes_its_sub_cluster_is_found_by_the_other_loop() -> None:
    desk = Bench("x", "y")
    desk.node(of("y", "n-x"), MODIFIED)
    desk.hand("a", "x")
    for name in "bc":
        desk.hand(name, "y", cpu="8")
    assert set(desk.placed(desk.shard.cycle()).values()) == {"n-x", "n-y"}


# ---------------------------------------------------------------- what one is to another


def test_a_blocking_failure_gives_up_the_inbox_of_its_own_loop_only() -> None:
    desk = Bench("x", "y")
    desk.hand("big", "x", cpu="9", blocking=True)
    desk.hand("behind", "x")
    desk.hand("other", "y")
    plans = desk.shard.cycle(limit=2)
    back = {desk.cluster.pods.name[r]: s.why for p in plans for s in p.setbacks for r in s.rows}
    assert back == {"big": SetbackReason.NO_PLACE, "behind": SetbackReason.GIVEN_BACK}
    assert desk.placed(plans) == {"other": "n-y"}


def test_what_a_blocking_queue_sends_stays_in_one_loop() -> None:
    desk = Bench("x", "y")
    names = (("big", "x", "9"), ("small", "y", "1"))
    rows = [desk.ready(name, sub, cpu=cpu) for name, sub, cpu in names]
    desk.shard.accept([Dispatch(a_unit(str(row), 1), (row,), 1, True) for row in rows])
    assert desk.placed(desk.shard.cycle()) == {}


def test_a_flood_takes_no_more_of_a_step_than_its_part() -> None:
    desk = Bench("x", "y")
    for i in range(40):
        desk.hand(f"flood{i}", "x", cpu="10m")
    for i in range(4):
        desk.hand(f"p{i}", "y", cpu="10m")
    placed = desk.placed(desk.shard.cycle(limit=8))
    assert sorted(placed.values()) == ["n-x"] * 4 + ["n-y"] * 4


def test_other_loops_use_the_part_of_a_step_that_one_does_not_need() -> None:
    desk = Bench("x", "y")
    for i in range(40):
        desk.hand(f"flood{i}", "x", cpu="10m")
    desk.hand("p", "y")
    assert len(desk.placed(desk.shard.cycle(limit=8))) == 8


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_every_loop_with_work_makes_a_plan_however_small_the_step(limit: int) -> None:
    desk = Bench("x", "y")
    for name, sub in (("a", "x"), ("b", "y"), ("c", "")):
        desk.hand(name, sub)
    assert len(desk.placed(desk.shard.cycle(limit))) == 3


def test_another_loop_goes_first_each_time() -> None:
    desk = Bench("x", "y")
    first = set()
    for turn in range(3):
        for sub in ("x", "y", ""):
            desk.hand(f"p{turn}{sub}", sub, cpu="10m")
        first.add(desk.cluster.pods.name[int(desk.shard.cycle()[0].rows[0])][2:])
    assert first == {"x", "y", ""}


# ---------------------------------------------------------------- loops are added and removed


def test_of_more_sub_clusters_than_there_are_loops_the_last_share_the_default_one() -> None:
    names = [f"s{i}" for i in range(MOST_LOOPS + 2)]
    desk = Bench(*names)
    for name in names:
        desk.hand(f"p-{name}", name)
    assert (len(desk.shard.loops), len(desk.shard.default.rows)) == (MOST_LOOPS + 1, 2)
    assert desk.shard.sharing == set(names[-2:])
    placed = desk.placed(desk.shard.cycle())
    assert placed == {f"p-{name}": f"n-{name}" for name in names}


def test_a_loop_without_work_for_long_ends_and_comes_back_when_there_is_some() -> None:
    desk = Bench("x", profile=with_sub_clusters(recycleAfter=60))
    desk.hand("a", "x")
    desk.shard.cycle()
    desk.clock.advance(61.0)
    desk.shard.cycle()
    assert desk.waiting() == {"": 0}
    desk.hand("b", "x")
    assert desk.placed(desk.shard.cycle()) == {"b": "n-x"}


def test_a_loop_with_work_in_its_inbox_does_not_end() -> None:
    desk = Bench("x", profile=with_sub_clusters(recycleAfter=60))
    desk.hand("a", "x")
    desk.clock.advance(61.0)
    assert desk.placed(desk.shard.cycle()) == {"a": "n-x"}


def test_a_loop_that_ends_gives_its_slot_to_a_sub_cluster_that_shared() -> None:
    names = [f"s{i}" for i in range(MOST_LOOPS + 1)]
    desk = Bench(*names, profile=with_sub_clusters(recycleAfter=60))
    for name in names:
        desk.hand(f"p-{name}", name)
    desk.shard.cycle()
    desk.clock.advance(61.0)
    desk.shard.cycle()
    desk.hand("again", names[-1])
    assert (desk.waiting(), desk.shard.sharing) == ({"": 0, names[-1]: 1}, set())


def test_a_name_whose_nodes_have_all_left_gets_no_loop() -> None:
    desk = Bench("x")
    desk.lose("n-x")
    desk.hand("a", "x")
    assert desk.waiting() == {"": 1}


# ---------------------------------------------------------------- nodes of its own first


def own_blocks(desk: Bench, sub: str) -> list[int]:
    (loop,) = (loop for loop in desk.shard.loops if loop.sub_cluster == sub)
    return np.flatnonzero(loop.runtime.own_block).tolist()


def in_three_blocks() -> Bench:
    """Blocks 0 and 2 hold nodes of ``x``, block 1 none."""
    desk = Bench()
    for i in range(1, 3 * BLOCK):
        sub = "x" if i // BLOCK != 1 else "y"
        desk.node(of(sub, f"n{i}"), ADDED)
    desk.hand("a", "x")
    return desk


def test_a_loop_tries_the_blocks_of_its_sub_cluster_first() -> None:
    desk = in_three_blocks()
    desk.shard.cycle()
    assert own_blocks(desk, "x") == [0, 2]


def test_within_a_partition_a_loop_tries_the_blocks_that_are_in_both() -> None:
    desk = in_three_blocks()
    desk.shard.follow(np.array([False, True, True]))
    desk.shard.cycle()
    assert (own_blocks(desk, "x"), own_blocks(desk, "")) == ([2], [1, 2])


def test_a_loop_whose_nodes_are_all_in_other_partitions_tries_those() -> None:
    desk = in_three_blocks()
    desk.shard.follow(np.array([False, True, False]))
    assert desk.placed(desk.shard.cycle())["a"] != ""
    assert own_blocks(desk, "x") == [0, 2]


# ---------------------------------------------------------------- capacity


def test_the_capacity_for_a_class_comes_from_its_own_loop() -> None:
    desk = Bench("x")
    desk.hand("a", "x", cpu="8")
    class_id = int(desk.cluster.pods.class_id[desk.row("a")])
    before = desk.shard.capacity(class_id)
    desk.shard.cycle()
    assert (before, desk.shard.capacity(class_id)) == (1, 0)


@pytest.mark.parametrize("wrong", [-1, "soon", True, 1e12])
def test_a_time_without_work_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(Exception, match="recycleAfter"):
        with_sub_clusters(recycleAfter=wrong)
