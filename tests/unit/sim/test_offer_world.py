"""Frameworks over the allocator of offers in virtual time."""

import msgspec

from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS
from stretto.offers.allocator.values.resources import scalars
from stretto.sim.offers.demand import TaskDemand, fill
from stretto.sim.offers.frameworks import (
    AnswerMode,
    FrameworkPlan,
    jenkins_like,
    marathon_like,
    spark_like,
)
from stretto.sim.offers.world import OfferWorld

ONE = TaskDemand.of({"cpus": 1, "mem": 1})


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
        pool.add(marathon_like("0", "services", 40))
        for number in range(1, 12):
            kind = jenkins_like if number % 2 else spark_like
            pool.add(kind(f"{number:02d}", f"role{number}", 5))
        took.append(pool.run(600.0).placed_s)
    assert took[1] < took[0]
