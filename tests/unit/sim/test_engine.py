"""The engine of virtual time: order at one instant, gangs, waiting, rejecting, interruption."""

import msgspec
import numpy as np
import pytest

from stretto.base.errors import InvariantBrokenError
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.sim.engine import NEVER, PodWork, WorkRecord, WorkRunner
from stretto.sim.usage import usage
from stretto.sim.world import World, WorldConfig, build_world
from stretto.sim.writes import require_accepted
from stretto.stores.store import Reply, StatusReason, WriteOutcome

NODE = FleetNode("n", 4000, 8192)


def world(*nodes: FleetNode, retry: bool = True, queue: str = "FifoSkip") -> World:
    config = WorldConfig(load_profile("default"), queue=queue, retry=retry, tier="numpy")
    return build_world(config, nodes or (NODE,))


def work(name: str, at: int, cores: int, life: int | None = None, **more: object) -> PodWork:
    pod = FleetPod(name, 1000 * cores, 64, group=str(more.pop("group", "")))
    return msgspec.structs.replace(PodWork(pod, at, life), **more)


def run(*items: PodWork, retry: bool = True) -> WorkRecord:
    return WorkRunner(world(retry=retry), items).run()


def test_work_starts_on_arrival_and_ends_after_its_lifetime() -> None:
    record = run(work("a", 3, 1, 5))
    assert (record.started.tolist(), record.ended.tolist()) == ([3], [8])


def test_finished_work_frees_capacity_for_arrivals_of_the_same_instant() -> None:
    record = run(work("a", 0, 4, 7), work("b", 7, 4, 1), retry=False)
    assert record.started.tolist() == [0, 7]


def test_pending_work_starts_when_capacity_is_freed() -> None:
    record = run(work("a", 0, 4, 10), work("b", 1, 3, 1), work("c", 2, 1, 1))
    assert record.started.tolist() == [0, 10, 10]


def test_rejected_work_never_comes_back() -> None:
    record = run(work("a", 0, 4, 10), work("b", 1, 3, 1), work("c", 11, 3, 1), retry=False)
    assert record.rejected.tolist() == [False, True, False]
    assert record.started.tolist() == [0, NEVER, 11]


def test_work_that_can_never_start_is_rejected_in_the_end() -> None:
    record = run(work("a", 0, 5, 1), work("b", 0, 1, 1))
    assert record.rejected.tolist() == [True, False]


def test_work_without_a_lifetime_ends_at_the_instant_of_its_start() -> None:
    record = run(work("a", 4, 4, 0), work("b", 4, 4, 2))
    assert record.started.tolist() == [4, 4]
    assert record.ended.tolist() == [4, 6]
    assert usage(record, np.array([4, 4])).peak == 4


def test_a_departure_rules_whether_the_work_has_started_or_not() -> None:
    record = run(work("a", 0, 4, departure=9), work("b", 1, 4, departure=5))
    assert record.ended.tolist() == [9, NEVER]
    assert record.rejected.tolist() == [False, True]


def test_a_gang_starts_as_one_and_its_members_end_one_by_one() -> None:
    gang = [work(f"g{i}", 1, 2, 5 + i, group="g") for i in range(2)]
    record = run(work("a", 0, 1, 3), *gang)
    assert (record.started.tolist(), record.ended.tolist()) == ([0, 3, 3], [3, 8, 9])


def test_a_gang_that_is_rejected_leaves_no_trace() -> None:
    here = world(retry=False)
    record = WorkRunner(here, [work(f"g{i}", 1, 3, 5, group="g") for i in range(2)]).run()
    assert record.rejected.all()
    assert here.plane.cluster.ledger.used.sum() == 0


def test_equal_instants_are_served_in_the_order_of_the_work() -> None:
    record = run(work("z", 0, 4, 1), work("a", 0, 4, 1))
    assert record.started.tolist() == [0, 1]


def test_more_pods_than_a_watch_hands_over_at_once_are_one_instant() -> None:
    here = build_world(
        WorldConfig(load_profile("default"), tier="numpy"), [FleetNode("n", 9_000_000, 1 << 20)]
    )
    record = WorkRunner(here, [work(f"p{i}", 0, 1, 1) for i in range(4_500)]).run()
    assert set(record.started.tolist()) == {0}
    assert len(record.ticks) == 2


def test_the_same_work_gives_the_same_record_twice() -> None:
    items = [work(f"p{i}", i % 7, 1 + i % 3, i % 5) for i in range(60)]
    first, second = run(*items), run(*items)
    assert (first.started == second.started).all()
    assert (first.end_round == second.end_round).all()


def test_an_interruption_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(arrived: int) -> None:
        if arrived == 2:
            raise KeyboardInterrupt

    items = [work(f"p{i}", i, 1, 9) for i in range(4)]
    record = WorkRunner(world(), items, on_arrivals=stop).run()
    assert record.partial
    assert record.started.tolist() == [0, 1, NEVER, NEVER]
    assert not record.rejected.any()


def test_ticks_are_any_part_of_a_second() -> None:
    here = world()
    WorkRunner(here, [work("a", 25, 1, 5)], tick_s=0.1).run()
    assert here.clock.monotonic() == pytest.approx(3.0)


def test_no_work_is_an_empty_record() -> None:
    record = run()
    assert usage(record, np.zeros(0, np.int64)).peak == 0
    assert len(record.ticks) == 0


def test_an_unexpected_refusal_of_the_store_is_a_bug_and_is_reported() -> None:
    with pytest.raises(InvariantBrokenError, match="disk on fire"):
        require_accepted([Reply(WriteOutcome.REFUSED, StatusReason.INTERNAL, "disk on fire")])
