"""Outstanding offers that end after a change of quota.

A master rescinds offers of a role, and of the roles below it, until the new limit is kept, and
offers of other roles until the free capacity could satisfy all guarantees. The caller chooses the
order of the offers; Mesos has none.
"""

from collections.abc import Collection

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import add_to


class QuotaRescinds:
    """The offers that violate changed quotas; each one is recovered before the next is checked."""

    def __init__(self, pool: OfferPool, roles: Collection[str]) -> None:
        """Initialize after the quotas of these roles were set."""
        self._pool = pool
        self._roles = [node for role in roles if (node := pool.roles.find(role)) is not None]
        self._lacks = self._all_lacks() if any(role.lack() for role in self._roles) else {}

    def _all_lacks(self) -> dict[str, int]:
        lacks: dict[str, int] = {}
        for role in self._pool.roles:
            add_to(lacks, role.lack().items())
        return lacks

    def ends(self, holding: Holding, resources: Resources) -> bool:
        """True if an offer must end, given the present holdings."""
        mine = [role for role in self._roles if _is_below(holding.role, role.name)]
        if mine:
            return self._is_uncharged(holding, resources) or any(map(self._exceeds, mine))
        helps = any(name in self._lacks and amount for name, amount in resources.free)
        return helps and self._is_short()

    def _is_uncharged(self, holding: Holding, resources: Resources) -> bool:
        """True if the offer is not charged to its role before it is accepted."""
        key = (holding.framework, holding.role)
        return self._pool.contests.is_uncharged(holding.agent, key, resources)

    @staticmethod
    def _exceeds(role: RoleNode) -> bool:
        return any(role.consumed(name) > most for name, most in role.quota.limits.items())

    def _is_short(self) -> bool:
        """True if less capacity is free than all unsatisfied guarantees need."""
        free: dict[str, int] = {}
        for agent in self._pool.agents:
            add_to(free, agent.available.free)
        return any(free.get(name, 0) < lack for name, lack in self._lacks.items())


def _is_below(role: str, top: str) -> bool:
    return role == top or role.startswith(f"{top}/")
