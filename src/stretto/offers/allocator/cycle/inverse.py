"""Inverse offers: requests to release agents before their maintenance."""

from collections.abc import Iterable, Iterator

from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.grants import InverseOffer


def inverse_offers(
    pool: OfferPool, agents: Iterable[AgentState], now: float
) -> Iterator[InverseOffer]:
    """One inverse offer to each active framework that holds resources on an agent.

    A framework has at most one unanswered inverse offer per agent, and none while its filter is
    active.
    """
    for agent in agents:
        planned, name = agent.unavailability, agent.info.id
        if planned is None or not agent.is_active:
            continue
        for holder in dict.fromkeys(framework for framework, _ in agent.held):
            framework = pool.frameworks.get(holder)
            if framework is None or not framework.is_active or name in framework.inverse_offers:
                continue
            if framework.inverse_filters.get(name, 0.0) > now:
                continue
            framework.inverse_offers.add(name)
            yield InverseOffer(holder, name, planned)
