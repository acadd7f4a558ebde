"""Laws over a pool of offers, checked after every step."""

from collections.abc import Iterator
from typing import Final

from stretto.offers.allocator.allocator import Allocator
from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.values.resources import NOTHING, Resources
from stretto.offers.allocator.values.scalars import add_to
from stretto_lab.chaos.offers.steps import OfferSteps

SETTLING: Final = 8
"""Cycles after which a pool without events usually has nothing left to offer."""


class OfferLaws:
    """Checks of one pool."""

    def __init__(self, steps: OfferSteps) -> None:
        """Start with the consumption of all roles."""
        self._steps = steps
        self._allocator: Allocator = steps.master.allocator
        self._before: dict[str, int] = {}

    def breaches(self) -> Iterator[str]:
        """Violated laws, each with details."""
        for agent in self._allocator.pool.agents:
            yield from self._agent(agent)
        yield from self._tasks()
        yield from self._quota()
        yield from self._ledger()
        yield from self._order()

    def _agent(self, agent: AgentState) -> Iterator[str]:
        """Law 1: held and free amounts add up to the total of the agent."""
        held = NOTHING
        for resources in agent.held.values():
            held += resources
        alone = held - held.shared
        total = agent.info.resources
        if not agent.is_overcommitted and alone + agent.available != total:
            yield f"agents: {agent.info.id} has {total}, held {alone}, free {agent.available}"
        if agent.is_overcommitted and not total.contains(agent.available):
            yield f"agents: {agent.info.id} offers more than it has"

    def _tasks(self) -> Iterator[str]:
        """Law 3: every task holds its resources, and no two tasks hold the same ones."""
        used: dict[tuple[str, str, str], Resources] = {}
        for task in self._steps.master.tasks.values():
            used[task.holding] = used.get(task.holding, NOTHING) + task.resources
        for (framework, holder, name), resources in used.items():
            agent = self._allocator.pool.agents.find(name)
            held = agent.held.get((framework, holder), NOTHING) if agent is not None else NOTHING
            if not held.contains(resources):
                yield f"tasks: {framework} uses {resources} of {name} and holds {held}"

    def _quota(self) -> Iterator[str]:
        """Law 5: no grant exceeds the limit of a role."""
        for role in self._allocator.pool.roles:
            for name, limit in role.quota.limits.items():
                consumed, key = role.consumed(name), f"{role.name} {name}"
                before = self._before.get(key, consumed)
                counts_later = not self._steps.settings.nested_quota and role.children
                is_reserved = role.reserved.get(name, 0) > 0
                if consumed > max(limit, before) and not counts_later and not is_reserved:
                    yield f"quota: {role.name} consumes {consumed} of {limit} {name}"
                self._before[key] = consumed

    def _ledger(self) -> Iterator[str]:
        """Check that the roles and the sorter count the holdings of the agents."""
        pool = self._allocator.pool
        sums: dict[str, dict[str, int]] = {}
        for agent in pool.agents:
            for (_, holder), resources in agent.held.items():
                if not resources.has_shared:
                    add_to(sums.setdefault(holder, {}), resources.quantities)
        for role in self._allocator.pool.roles:
            counted = {n: each for n, each in pool.role_sorter.amounts(role.name).items() if each}
            summed = {n: each for n, each in sums.get(role.name, {}).items() if each}
            counted.pop("disk", None)
            summed.pop("disk", None)
            if counted != summed and not self._has_shared(role.name):
                yield f"ledger: {role.name} counts {counted}, agents hold {summed}"

    def _has_shared(self, role: str) -> bool:
        return any(
            resources.has_shared
            for agent in self._allocator.pool.agents
            for (_, holder), resources in agent.held.items()
            if holder == role
        )

    def _order(self) -> Iterator[str]:
        """Check that the maintained order equals a full sort."""
        sorter = self._allocator.pool.role_sorter
        if sorter.is_random:
            return
        kept = [role.name for role in sorter.order()]
        sorter.resort()
        if kept != [role.name for role in sorter.order()]:
            yield f"order: {kept} is not sorted"

    def closed(self) -> Iterator[str]:
        """Check that after an empty cycle no closed agent has anything to offer."""
        for _ in range(SETTLING):
            if not self._steps.master.cycle(batch=True).offers:
                break
        else:
            return
        self._allocator.pool.reopen()
        again = self._steps.master.cycle(batch=True)
        for offer in again.offers:
            if not offer.resources.has_shared:
                yield f"closed: {offer.agent} still had {offer.resources} for {offer.framework}"
