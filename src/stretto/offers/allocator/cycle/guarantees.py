"""The first stage: frameworks of roles whose guarantee is not satisfied."""

from collections.abc import Iterator

from stretto.offers.allocator.cycle.consumption import Consumption
from stretto.offers.allocator.cycle.headroom import CycleHeadroom
from stretto.offers.allocator.cycle.shortlist import Shortlist
from stretto.offers.allocator.cycle.shrink import free_scalars, shrink_to, shrink_within
from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.grants import CycleStage
from stretto.offers.allocator.values.resources import NOTHING, Resources


class GuaranteePortion:
    """The guaranteed part, all resources that quota does not count, and more up to the limit."""

    stage = CycleStage.GUARANTEES
    takes_all = False

    def __init__(self, pool: OfferPool, headroom: CycleHeadroom, consumption: Consumption) -> None:
        """Initialize with the unsatisfied guarantees of all roles."""
        self._pool = pool
        self._headroom = headroom
        self._consumption = consumption
        self._rng = pool.item_choice
        self._guaranteed = NOTHING
        #: Roles with frameworks whose guarantee is not satisfied, in the order of the roles.
        self.roles = Shortlist(pool.role_sorter, self._unsatisfied())

    def _unsatisfied(self) -> Iterator[RoleNode]:
        if not self._pool.roles.table:
            return
        lacking = self._pool.roles.table.lacking()
        for role in self._pool.roles:
            if role.sorter is None:
                continue
            if any(each.row in lacking for each in self._consumption.counted(role)):
                yield role

    def of(self, role: RoleNode, readable: Resources) -> Resources:
        """The part of readable resources that may be offered; empty if guarantees are satisfied."""
        lack, left = self._consumption.lack(role), self._consumption.left(role)
        wanted = {name: min(amount, left.get(name, amount)) for name, amount in lack.items()}
        free, rest = free_scalars(readable)
        self._guaranteed = guaranteed = shrink_to(free, wanted, self._rng)
        if not guaranteed:
            return NOTHING
        extra = free - guaranteed
        if extra and left:
            taken = dict(guaranteed.quantities)
            limits = {name: max(0, n - taken.get(name, 0)) for name, n in left.items()}
            extra = shrink_within(extra, limits, self._rng)
        if extra:
            extra = shrink_to(extra, self._headroom.surplus, self._rng)
        return rest + guaranteed + extra

    def charge(self, role: RoleNode, offered: Resources) -> None:
        """Account for the grant of that part."""
        self._headroom.charge(offered, self._guaranteed)
        self._consumption.charge(role, offered)
        self.roles.move(role, lambda each: bool(self._consumption.lack(each)))
