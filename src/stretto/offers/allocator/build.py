"""Construction of an allocator."""

from stretto.base.rng import Rng
from stretto.offers.allocator.allocator import Allocator
from stretto.offers.allocator.cycle.cycle import AgentOrder, ShuffledAgents
from stretto.offers.allocator.ledger import HoldingLedger
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.rounds import Round
from stretto.offers.allocator.subjects.settings import DEFAULTS, AllocatorSettings
from stretto.offers.allocator.triggers import Triggers


def make_allocator(
    rng: Rng, settings: AllocatorSettings = DEFAULTS, order: AgentOrder | None = None
) -> Allocator:
    """An empty allocator.

    Args:
        rng: source of random numbers; equal seeds result in equal offers.
        settings: `DEFAULTS`, `MESOS`, or any other.
        order: the order in which a stage visits agents; random by default.
    """
    pool, triggers = OfferPool(settings, rng), Triggers()
    ledger = HoldingLedger(pool, triggers)
    rounds = Round(pool, ledger, order if order is not None else ShuffledAgents(pool))
    return Allocator(pool, triggers, ledger, rounds)
