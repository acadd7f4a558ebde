"""Planned maintenance: the answers of frameworks to inverse offers."""

from collections.abc import Mapping

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.pool.filters import lifetime
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.agents import Unavailability
from stretto.offers.allocator.subjects.grants import InverseOfferStatus


def set_unavailability(pool: OfferPool, name: str, planned: Unavailability | None) -> None:
    """Plan or cancel the maintenance of an agent; earlier inverse offers and answers end."""
    agent = pool.agents.find(name)
    if agent is None:
        return
    agent.plan(planned)
    for framework in pool.frameworks.values():
        framework.inverse_offers.discard(name)
        framework.inverse_filters.pop(name, None)


def note_answer(
    pool: OfferPool, holding: Holding, status: InverseOfferStatus, refuse: float | None
) -> None:
    """Record an answer to an inverse offer; its filter delays the next one, even after a yes."""
    framework = pool.frameworks.get(holding.framework)
    agent = pool.agents.find(holding.agent)
    if framework is None or agent is None or agent.unavailability is None:
        return
    framework.inverse_offers.discard(holding.agent)
    agent.inverse_statuses[holding.framework] = status
    if refuse is not None and refuse != 0:
        length = max(lifetime(refuse), pool.settings.interval)
        framework.inverse_filters[holding.agent] = status.at + length


def statuses(pool: OfferPool, name: str) -> Mapping[str, InverseOfferStatus]:
    """Last answers of frameworks to inverse offers of an agent."""
    agent = pool.agents.find(name)
    return dict(agent.inverse_statuses) if agent is not None else {}
