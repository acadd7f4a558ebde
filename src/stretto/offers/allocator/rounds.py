"""One round of the allocator: a cycle with its merged, contested and inverse offers."""

from stretto.offers.allocator.cycle.contest import contested_offers, merged
from stretto.offers.allocator.cycle.cycle import AgentOrder, run_cycle
from stretto.offers.allocator.cycle.inverse import inverse_offers
from stretto.offers.allocator.cycle.visit import Visitor
from stretto.offers.allocator.ledger import HoldingLedger
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.grants import CycleResult


class Round:
    """Runs cycles over a pool."""

    def __init__(self, pool: OfferPool, ledger: HoldingLedger, order: AgentOrder) -> None:
        """Initialize with the order in which agents are visited."""
        self._pool = pool
        self._ledger = ledger
        self._order = order

    def names(self, now: float, batch: bool) -> list[str]:
        """The agents with capacity to offer, or with inverse offers for maintenance."""
        pool = self._pool
        if pool.maintained:
            return [agent.info.id for agent in pool.agents]
        time = Visitor(pool, now, batch).filter_time
        open_now = pool.agents.candidates(time, pool.opened, pool.holdings)
        return [agent.info.id for agent in open_now]

    def run(self, named: list[str] | None, now: float, batch: bool) -> CycleResult:
        """Decide about the named agents, or about all for ``None``."""
        pool = self._pool
        self._ledger.lateness.expire(now)
        visitor = Visitor(pool, now, batch)
        agents = pool.agents
        if named is None:
            everyone = agents.candidates(visitor.filter_time, pool.opened, pool.holdings)
            maintained = list(agents)
        else:
            maintained = [agent for each in named if (agent := agents.find(each)) is not None]
            everyone = [agent for agent in maintained if agent.is_offerable]
        grants = run_cycle(pool, everyone, visitor, self._order) if everyone else []
        offers = merged(grants)
        if pool.settings.holders > 1:
            offers = contested_offers(pool, visitor, offers, pool.contests)
        inverse = inverse_offers(pool, maintained, now) if pool.maintained else ()
        return CycleResult(tuple(offers), tuple(inverse), tuple(grants))
