"""Frameworks over the allocator of offers in virtual time."""

import msgspec

from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS
from stretto.offers.allocator.values.resources import scalars
from stretto.sim.offers.demand import TaskDemand, fill
from stretto.sim.offers.frameworks import AnswerMode, FrameworkPlan
from stretto.sim.offers.world import OfferWorld

ONE = TaskDemand.of({"cpus": 1, "mem": 1})
SERVICES = {"task": TaskDemand.of({"cpus": 0.2, "mem": 128}), "backlog": 40}
BUILDS = {
    "task": TaskDemand.of({"cpus": 0.5, "mem": 512}),
    "mode": AnswerMode.ONE,
    "backlog": 5,
    "duration": 60.0,
}
BATCH = {"task": TaskDemand.of({"cpus": 1, "mem": 1024}), "backlog": 5, "duration": 300.0}


def world(settings: object = MESOS, agents: int = 4) -> OfferWorld:
    nodes = [AgentInfo(f"a{i}", f"h{i}", scalars(cpus=4000, mem=4_096_000)) for i in range(agents)]
    return OfferWorld(settings, nodes)  # type: ignore[arg-type]


def plan(name: str, **changes: object) -> FrameworkPlan:
    return msgspec.structs.replace(
        FrameworkPlan(FrameworkInfo(name, frozenset({name})), ONE), **changes
    )


def test_an_offer_is_filled_with_as_many_tasks_as_it_holds() -> None:
    assert len(fill(scalars(cpus=3500, mem=10_000), ONE, most=9)) == 3


def test_a_greedy_framework_starts_all_its_tasks_after_its_decision_time() -> None:
    pool = world()
    pool.add(plan("1", backlog=16, decision=7.0))
    assert pool.run(100.0).placed_s == 7.0


def test_a_framework_that_starts_one_task_per_offer_needs_several_cycles() -> None:
    pool = world(agents=1)
    pool.add(plan("1", backlog=3, mode=AnswerMode.ONE, refuse=0.0))
    assert pool.run(100.0).placed_s == 2.0


def test_silent_and_declining_frameworks_start_nothing() -> None:
    for mode in (AnswerMode.HOLD, AnswerMode.DECLINE):
        pool = world()
        pool.add(plan("1", mode=mode, backlog=1))
        assert pool.run(30.0).started == 0


def test_ended_tasks_make_place_for_others() -> None:
    pool = world(agents=1)
    pool.add(plan("1", backlog=8, duration=10.0))
    assert pool.run(100.0).placed_s == 10.0


def test_services_builds_and_batch_share_a_pool_faster_by_default_than_in_mesos() -> None:
    took = []
    for settings in (MESOS, DEFAULTS):
        pool = world(settings, agents=20)
        pool.add(plan("00", **SERVICES, requests=True))
        for number in range(1, 12):
            kind = BUILDS if number % 2 else BATCH
            pool.add(plan(f"{number:02d}", **kind, requests=True))
        took.append(pool.run(600.0).placed_s)
    assert took[1] < took[0]
