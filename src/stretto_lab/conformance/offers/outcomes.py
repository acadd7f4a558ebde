"""Counts and gauges at the end of a scenario, in the names of the recordings."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf, nextafter
from typing import Any, Final

from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.values.scalars import MILLI
from stretto_lab.conformance.offers.replay import ScenarioReplay
from stretto_lab.conformance.offers.scenario import RecordedResult

DIGITS: Final = 9
"""Decimals of a recorded share."""
MISSING: Final = "null"
"""A gauge that does not exist, in a list of values."""


def compare_outcomes(
    result: RecordedResult, replay: ScenarioReplay
) -> Iterator[tuple[str, Any, Any]]:
    """Name, recorded value and own value of every differing outcome."""
    got = outcomes(replay)
    for name, want in result.exact.items():
        if got.get(name) != want:
            yield name, want, got.get(name)
    for name, bounds in result.ranges.items():
        if not _is_within(got.get(name), bounds):
            yield name, bounds, got.get(name)


def _is_within(value: Any, bounds: list[Any]) -> bool:
    """True if a value is between two numbers, or among listed texts."""
    if any(isinstance(bound, str) for bound in bounds):
        text = MISSING if value is None else str(value).lower()
        return text in bounds
    return value is not None and bool(bounds[0] <= value <= bounds[-1])


def outcomes(replay: ScenarioReplay) -> dict[str, Any]:
    """All outcomes."""
    found: dict[str, Any] = {
        "rescinds": replay.rescinds,
        "outstanding_offers": len(replay.master.offers),
        "ticks_with_offers": replay.fruitful,
    }
    for name in replay.answerers:
        found[f"offers_total.{name}"] = replay.offers[name]
    found.update(_tasks(replay))
    found.update(_first_cycle(replay))
    found.update(_usage(replay))
    found.update({f"metric.{name}": each for name, each in gauges(replay).items()})
    return found


def _tasks(replay: ScenarioReplay) -> Iterator[tuple[str, int]]:
    """Running tasks, and True for any offers, by framework and role."""
    running = Counter(
        (replay.names[task.holding.framework], task.holding.role)
        for task in replay.master.tasks.values()
    )
    for name, answerer in replay.answerers.items():
        counts = {role: running[name, role] for role in answerer.roles}
        yield f"tasks.{name}", sum(counts.values())
        for role, count in counts.items():
            yield f"tasks.{name}.{role}", count
            yield f"ever_offered.{name}.{role}", (name, role) in replay.offered


def _first_cycle(replay: ScenarioReplay) -> Iterator[tuple[str, float]]:
    """Offers of the first tick by framework."""
    for name in replay.answerers:
        mine = [amounts for framework, amounts in replay.first if framework == name]
        yield f"first_cycle_offers.{name}", len(mine)
        for resource in ("cpus", "mem"):
            total = sum(amounts.get(resource, 0) for amounts in mine)
            yield f"first_cycle_{resource}.{name}", _units(total)


def _usage(replay: ScenarioReplay) -> Iterator[tuple[str, float]]:
    """Scalars of running tasks by role."""
    used: Counter[tuple[str, str]] = Counter()
    for task in replay.master.tasks.values():
        for name, amount in task.resources.quantities:
            used[task.holding.role, name] += amount
    roles = {role for answerer in replay.answerers.values() for role in answerer.roles}
    for role in roles:
        for name in ("cpus", "mem"):
            yield f"used.{role}.{name}", 0
    for (role, name), amount in used.items():
        value = _units(amount)
        yield f"used.{role}.{name}", int(value) if value.is_integer() else value


def gauges(replay: ScenarioReplay) -> Mapping[str, float]:
    """The gauges of Mesos' allocator."""
    pool, now = replay.master.allocator.pool, nextafter(replay.master.now, inf)
    found: dict[str, float] = {}
    for name, total in pool.totals.amounts.items():
        held = sum(
            amount
            for agent in pool.agents
            for resources in agent.held.values()
            for each, amount in resources.quantities
            if each == name
        )
        found[f"resources/{name}/total"] = _units(total)
        found[f"resources/{name}/offered_or_allocated"] = _units(held)
    for role in pool.roles:
        if role.name in pool.role_sorter:
            share = round(pool.role_sorter.share(role.name), DIGITS)
            found[f"roles/{role.name}/shares/dominant"] = share
        active = sum(each.filters.active(now) for each in role.frameworks.values())
        found[f"offer_filters/roles/{role.name}/active"] = active
        own = pool.role_sorter.amounts(role.name)
        found.update(_quota(role, own))
    found.update(_consumption(pool.roles.root))
    for weighted in pool.weights:
        for each in _lineage(weighted):
            found.setdefault(f"offer_filters/roles/{each}/active", 0)
    return found


def _lineage(role: str) -> Iterator[str]:
    """A role and its ancestors; a weight makes all of them known."""
    while role:
        yield role
        role = role.rpartition("/")[0]


def _quota(role: RoleNode, own: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Guarantee, limit and holdings of the role itself, without the roles below it."""
    prefix = f"quota/roles/{role.name}/resources"
    names = role.quota.guarantees.keys() | role.quota.limits.keys()
    for name, amount in role.quota.guarantees.items():
        yield f"{prefix}/{name}/guarantee", _units(amount)
    for name, amount in role.quota.limits.items():
        yield f"{prefix}/{name}/limit", _units(amount)
    for name in names:
        yield f"{prefix}/{name}/offered_or_allocated", _units(own.get(name, 0))
    yield from _consumption(role)


def _consumption(role: RoleNode) -> Iterator[tuple[str, float]]:
    """Reservations and other resources of tasks, without zeros."""
    for name in role.reserved.keys() | role.used.keys():
        amount = role.reserved.get(name, 0) + role.used.get(name, 0)
        if amount:
            yield f"quota/roles/{role.name}/resources/{name}/consumed", _units(amount)


def _units(milli: int) -> float:
    return milli / MILLI
