"""Measurements of each difference from Mesos: one scenario, with the difference off and on."""

from collections.abc import Callable, Iterator
from math import inf, isfinite
from typing import Final, NamedTuple

import msgspec

from stretto.offers.allocator.subjects.frameworks import FrameworkInfo, ResourceRequest
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import MESOS, AllocatorSettings
from stretto.sim.offers.demand import TaskDemand
from stretto.sim.offers.frameworks import AnswerMode, FrameworkPlan
from stretto.sim.offers.world import OfferWorld
from stretto_lab.studies.offers.questions import node_of

NODES: Final = 60
"""Nodes of 4 CPUs."""
DECLINERS: Final = 20
"""Idle frameworks that decline everything."""

ONE_CPU: Final = TaskDemand.of({"cpus": 1, "mem": 1024})
WHOLE_NODE: Final = TaskDemand.of({"cpus": 4, "mem": 4096})


class DifferenceFigure(msgspec.Struct, frozen=True):
    """One difference."""

    #: The setting.
    setting: str
    #: The measured quantity.
    what: str
    #: Result with the setting as in Mesos; null if nothing was placed.
    mesos: float | None
    #: Result with the setting on; null if nothing was placed.
    better: float | None


class _Scenario(NamedTuple):
    """The measurement of a difference."""

    #: Changes of the settings.
    change: dict[str, object]
    #: The measured quantity.
    what: str
    #: The function that measures.
    measure: Callable[[AllocatorSettings], float]


def differences() -> Iterator[DifferenceFigure]:
    """Yield the figures of all differences."""
    for scenario in _SCENARIOS:
        better = msgspec.structs.replace(MESOS, **scenario.change)
        yield DifferenceFigure(
            next(iter(scenario.change)),
            scenario.what,
            _finite(scenario.measure(MESOS)),
            _finite(scenario.measure(better)),
        )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _world(settings: AllocatorSettings) -> OfferWorld:
    return OfferWorld(settings, [node_of(number) for number in range(NODES)], seed=1)


def _plan(name: str, role: str, weight: float = 1.0) -> FrameworkPlan:
    return FrameworkPlan(FrameworkInfo(name, frozenset({role}), weight=weight), ONE_CPU)


def _cpus_of(world: OfferWorld, framework: str) -> float:
    """Return the CPUs that a framework uses or is offered."""
    return sum(
        amount / 1000
        for agent in world.master.allocator.pool.agents
        for (holder, _), resources in agent.held.items()
        if holder == framework
        for name, amount in resources.quantities
        if name == "cpus"
    )


def _below_a_limit(settings: AllocatorSettings) -> float:
    world = _world(settings)
    world.master.allocator.set_quota("eng", RoleQuota(limits={"cpus": 40_000}))
    world.add(_plan("1", "eng/web"))
    world.master.cycle(batch=True)
    return _cpus_of(world, "1")


def _heavier_share(settings: AllocatorSettings) -> float:
    world = _world(settings)
    world.add(_plan("1", "eng"))
    world.add(_plan("2", "eng", weight=2.0))
    world.master.cycle(batch=True)
    return _cpus_of(world, "2")


def _beside_a_silent_one(settings: AllocatorSettings) -> float:
    world = _world(settings)
    world.add(msgspec.structs.replace(_plan("1", "a"), mode=AnswerMode.HOLD, backlog=0))
    world.add(msgspec.structs.replace(_plan("2", "b"), backlog=4 * NODES))
    return float(world.run(300.0).started)


def _after_a_decline(settings: AllocatorSettings) -> float:
    world = _world(settings)
    world.add(msgspec.structs.replace(_plan("1", "a"), mode=AnswerMode.DECLINE, backlog=0))
    world.add(msgspec.structs.replace(_plan("2", "b"), backlog=4 * NODES))
    return world.run(300.0).placed_s


def _useless_offers(settings: AllocatorSettings) -> float:
    world = _world(settings)
    world.add(msgspec.structs.replace(_plan("1", "a"), mode=AnswerMode.ONE, backlog=NODES))
    large = msgspec.structs.replace(_plan("2", "b"), task=WHOLE_NODE, backlog=inf)
    world.add(large)
    world.master.allocator.request("2", [ResourceRequest(WHOLE_NODE.scalars)])
    return float(world.run(30.0).declined)


def _beside_decliners(settings: AllocatorSettings) -> float:
    world = _world(settings)
    idle = msgspec.structs.replace(_plan("", ""), mode=AnswerMode.DECLINE, backlog=0)
    for number in range(DECLINERS):
        info = FrameworkInfo(f"{number:04d}", frozenset({f"r{number}"}))
        world.add(msgspec.structs.replace(idle, info=info))
    world.add(msgspec.structs.replace(_plan("busy", "busy"), backlog=4 * NODES))
    return world.run(600.0).placed_s


def _slow_decisions(settings: AllocatorSettings) -> float:
    world = _world(settings)
    for name, backlog in (("1", 1), ("2", 180)):
        plan = msgspec.structs.replace(_plan(name, name), backlog=backlog, decision=10.0)
        world.add(plan)
    return world.run(3600.0).placed_s


_SCENARIOS: Final = (
    _Scenario(
        {"nested_quota": True}, "CPUs of eng/web under a limit of 40 for eng", _below_a_limit
    ),
    _Scenario(
        {"framework_weights": True}, "CPUs of 240 for the heavier of two, 1:2", _heavier_share
    ),
    _Scenario(
        {"offer_timeout": 60.0},
        "tasks of 240 started next to a silent framework, 300 s",
        _beside_a_silent_one,
    ),
    _Scenario(
        {"allocate_on_recover": True},
        "seconds until 240 tasks have started next to a decliner",
        _after_a_decline,
    ),
    _Scenario(
        {"honor_requests": True},
        "declined offers while one needs whole nodes, 30 s",
        _useless_offers,
    ),
    _Scenario(
        {"decliners_yield": True},
        f"seconds until 240 tasks have started next to {DECLINERS} decliners",
        _beside_decliners,
    ),
    _Scenario(
        {"holders": 3}, "seconds until 181 tasks have started, decisions of 10 s", _slow_decisions
    ),
)
