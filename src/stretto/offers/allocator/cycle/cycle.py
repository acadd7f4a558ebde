"""A cycle over candidate agents: first guarantees, then the surplus."""

from math import inf
from typing import Protocol

from stretto.offers.allocator.cycle.consumption import Consumption
from stretto.offers.allocator.cycle.guarantees import GuaranteePortion
from stretto.offers.allocator.cycle.headroom import CycleHeadroom
from stretto.offers.allocator.cycle.surplus import SurplusPortion
from stretto.offers.allocator.cycle.visit import Visitor
from stretto.offers.allocator.pool.agents import SETTLED, AgentState, Closing
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.grants import CycleStage, OfferGrant


class AgentOrder(Protocol):
    """The order in which a stage visits agents."""

    def arrange(self, stage: CycleStage, agents: list[AgentState]) -> list[AgentState]:
        """The agents in the order of this stage."""
        ...


class ShuffledAgents:
    """A new random order for each stage of each cycle."""

    def __init__(self, pool: OfferPool) -> None:
        """Initialize with the pool's source of random numbers."""
        self._draws = pool.rng.child("agents").numpy()

    def arrange(self, stage: CycleStage, agents: list[AgentState]) -> list[AgentState]:
        """The agents in random order."""
        if len(agents) < 2:
            return agents
        return [agents[each] for each in self._draws.permutation(len(agents)).tolist()]


def run_cycle(
    pool: OfferPool, agents: list[AgentState], visitor: Visitor, order: AgentOrder
) -> list[OfferGrant]:
    """Offer the free capacity of these agents; return the grants in their order."""
    headroom = CycleHeadroom(pool)
    consumption = Consumption(pool.settings.nested_quota)
    guarantees = GuaranteePortion(pool, headroom, consumption)
    if guarantees.roles:
        for agent in order.arrange(CycleStage.GUARANTEES, agents):
            _first_stage(agent, visitor, guarantees)
    surplus = SurplusPortion(pool, headroom, consumption)
    for agent in order.arrange(CycleStage.SURPLUS, agents):
        if agent.available.entries:
            _second_stage(pool, agent, visitor, surplus)
    return visitor.grants


def _first_stage(agent: AgentState, visitor: Visitor, portion: GuaranteePortion) -> None:
    for role in portion.roles:
        if not agent.available:
            break
        visitor.visit(agent, role, portion)


def _second_stage(
    pool: OfferPool, agent: AgentState, visitor: Visitor, portion: SurplusPortion
) -> None:
    before = len(visitor.grants)
    visitor.blocked_until = inf
    if not agent.filters.refusals or not visitor.all_refuse(agent):
        for role in portion.roles(agent):
            visitor.visit(agent, role, portion)
            if not agent.available.entries:
                break
    if len(visitor.grants) == before and not visitor.offered_shared(agent):
        held = visitor.holdings if pool.roles.has_quota else SETTLED
        pool.agents.close(agent, Closing(pool.opened, held, visitor.blocked_until))
