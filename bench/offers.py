"""Time of a cycle of the allocator of offers, over agents, frameworks, roles and quota.

``python bench/offers.py [--json PATH] [--scale PART] [--rounds N]``

Every offer is declined with a filter of a year before the next cycle. The shapes are those of
Mesos' own benchmarks; an agent has 24 CPUs, of which 16 are used in 16 fragments of its ports. The
time is CPU time, so that other processes have little effect. ``--scale`` makes all shapes smaller.
"""

import argparse
import json
import resource
import statistics
import sys
from collections.abc import Iterator
from time import process_time

from stretto.base import collector
from stretto.base.rng import Rng
from stretto.offers.allocator.allocator import Allocator
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.subjects.agents import AgentInfo
from stretto.offers.allocator.subjects.frameworks import FrameworkInfo
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS, AllocatorSettings
from stretto.offers.allocator.values.kinds import ResourceIdentity
from stretto.offers.allocator.values.resources import resources_of, scalars
from stretto.sim.offers.demand import TaskDemand
from stretto.sim.offers.frameworks import AnswerMode, FrameworkPlan
from stretto.sim.offers.world import OfferWorld

YEAR = 365 * 24 * 3600.0
"""Seconds of a filter."""


def add_agents(allocator: Allocator, count: int) -> None:
    """Agents in use, of which a third is free."""
    ports = ResourceIdentity("ports")
    whole = scalars(cpus=24_000, mem=4_096_000, disk=4_096_000)
    whole += resources_of([(ports, ((31_000, 32_000),))])
    fragments = tuple((31_000 + 2 * i, 31_000 + 2 * i) for i in range(16))
    used = scalars(cpus=16_000, mem=1_024_000) + resources_of([(ports, fragments)])
    for number in range(count):
        name = f"a{number}"
        holder = Holding("other", "other", name)
        allocator.add_agent(AgentInfo(name, f"host{number}", whole), {holder: used})


def pool_of(settings: AllocatorSettings, agents: int, frameworks: int, roles: int) -> Allocator:
    """A pool in which the frameworks are spread over the roles."""
    allocator = make_allocator(Rng(1), settings)
    for number in range(frameworks):
        roles_of = frozenset({f"r{number % roles}"})
        allocator.add_framework(FrameworkInfo(f"{number:04d}", roles_of))
    add_agents(allocator, agents)
    return allocator


def cycles(allocator: Allocator, rounds: int) -> Iterator[tuple[int, float]]:
    """Offers and milliseconds of each cycle; all offers are declined before the next one."""
    now = 0.0
    for _ in range(rounds):
        now += 1.0
        began = process_time()
        offers = allocator.cycle(now, batch=True).offers
        yield len(offers), (process_time() - began) * 1000
        for offer in offers:
            holding = Holding(offer.framework, offer.role, offer.agent)
            allocator.recover(holding, offer.resources, now, YEAR)


def quota_pool(count: int) -> Allocator:
    """As many roles as agents: small and large guarantees in turn, equal to their limits."""
    allocator = make_allocator(Rng(1), MESOS)
    for number in range(count):
        large = number % 2
        amounts = {"cpus": 7_000 if large else 1_000, "mem": 3_000_000 if large else 72_000}
        allocator.set_quota(f"r{number}", RoleQuota(amounts, amounts))
        allocator.add_framework(FrameworkInfo(f"{number:04d}", frozenset({f"r{number}"})))
    add_agents(allocator, count)
    return allocator


def measure(name: str, allocator: Allocator, rounds: int) -> dict[str, float]:
    """Median and maximum of the cycles with offers, and of the empty ones after them."""
    collector.settle()
    times = [ms for offers, ms in cycles(allocator, rounds) if offers]
    found = {f"{name}_p50_ms": statistics.median(times), f"{name}_max_ms": max(times)}
    for number in range(3):
        began = process_time()
        allocator.cycle(1e6 + number, batch=True)
        found[f"{name}_idle_ms"] = (process_time() - began) * 1000
    return found


def exhausted(agents: int, frameworks: int) -> dict[str, float]:
    """Cycles in which every framework refuses every agent: the first one, and the next."""
    allocator = pool_of(MESOS, agents, frameworks, 1)
    for _ in cycles(allocator, frameworks):
        pass
    collector.settle()
    (_, first), (_, later) = cycles(allocator, 2)
    return {"refused_first_ms": first, "refused_later_ms": later}


def services(name: str, tasks: int) -> FrameworkPlan:
    """A framework with many small tasks that never end, and quick answers."""
    demand = TaskDemand.of({"cpus": 0.2, "mem": 128})
    return FrameworkPlan(FrameworkInfo(name, frozenset({"services"})), demand, backlog=tasks)


def builds(name: str) -> FrameworkPlan:
    """A framework with a few short tasks, one for each offer."""
    demand = TaskDemand.of({"cpus": 0.5, "mem": 512})
    info = FrameworkInfo(name, frozenset({"builds"}))
    return FrameworkPlan(info, demand, AnswerMode.ONE, backlog=5, duration=60.0)


def batch(name: str) -> FrameworkPlan:
    """A framework with larger tasks of minutes, as many as an offer holds."""
    demand = TaskDemand.of({"cpus": 1, "mem": 1024})
    info = FrameworkInfo(name, frozenset({"batch"}))
    return FrameworkPlan(info, demand, backlog=20, duration=300.0)


def mix(settings: AllocatorSettings, part: float) -> tuple[float, float]:
    """CPU seconds and virtual seconds until 19,500 tasks of services, builds and batch start."""
    node = scalars(cpus=64_000, mem=488_000_000)
    agents = [AgentInfo(f"a{i}", f"h{i}", node) for i in range(max(2, int(80 * part)))]
    world = OfferWorld(settings, agents, seed=1)
    names = (f"{number:04d}" for number in range(1_000))
    for _ in range(4):
        world.add(services(next(names), int(4_000 * part)))
    for _ in range(int(50 * part)):
        world.add(batch(next(names)))
    for _ in range(int(500 * part)):
        world.add(builds(next(names)))
    began = process_time()
    placed = world.run(3_600.0).placed_s
    return process_time() - began, placed


def main(words: list[str]) -> None:
    """Measure and print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="", help="write the figures to a file")
    parser.add_argument("--scale", type=float, default=1.0, help="part of each shape")
    parser.add_argument("--rounds", type=int, default=20, help="cycles of each shape")
    given = parser.parse_args(words)
    collector.set_thresholds()

    def size(count: int) -> int:
        return max(2, int(count * given.scale))

    figures: dict[str, float] = {}
    for name, settings in (("declined", MESOS), ("declined_default", DEFAULTS)):
        pool = pool_of(settings, size(10_000), size(1_000), 1)
        figures |= measure(name, pool, given.rounds)
    figures |= measure("roles", pool_of(MESOS, size(2_000), size(1_000), size(1_000)), given.rounds)
    figures |= measure("quota", quota_pool(size(3_000)), 3)
    figures |= exhausted(size(10_000) // 10, size(1_000) // 10)
    for name, settings in (("mix", MESOS), ("mix_default", DEFAULTS)):
        figures[f"{name}_cpu_s"], figures[f"{name}_virtual_s"] = mix(settings, given.scale)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures["peak_memory_mb"] = peak / 1024
    for name, figure in figures.items():
        print(f"{name:28} {figure:10.1f}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main(sys.argv[1:])
