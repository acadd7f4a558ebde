"""The second stage: the remaining capacity, up to limits and headroom."""

from collections.abc import Iterable, Iterator

from stretto.offers.allocator.cycle.consumption import Consumption
from stretto.offers.allocator.cycle.headroom import CycleHeadroom
from stretto.offers.allocator.cycle.shortlist import Shortlist
from stretto.offers.allocator.cycle.shrink import free_scalars, shrink_to, shrink_within
from stretto.offers.allocator.cycle.visit import is_useful
from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.subjects.grants import CycleStage
from stretto.offers.allocator.values.resources import NOTHING, Resources
from stretto.offers.allocator.values.scalars import Quantities


class SurplusPortion:
    """All resources that quota does not count, and the rest up to the limit and the headroom."""

    stage = CycleStage.SURPLUS

    def __init__(self, pool: OfferPool, headroom: CycleHeadroom, consumption: Consumption) -> None:
        """Initialize after the first stage."""
        self._pool = pool
        self._headroom = headroom
        self._consumption = consumption
        self._rng = pool.item_choice
        #: True if no quota applies.
        self.takes_all = not pool.roles.has_quota
        self._open = None if self.takes_all else Shortlist(pool.role_sorter, self._usable())
        self._leasts = self._all_leasts() if headroom.required else []

    def roles(self, agent: AgentState) -> Iterable[RoleNode]:
        """Roles in their order, without those that quota excludes from plain resources."""
        if self._open is None:
            return self._pool.role_sorter.order()
        if not agent.available.is_plain:
            # A grant moves roles in the sorter; the order of this agent stays the initial one.
            return list(self._pool.role_sorter.order())
        return self._open if self._has_surplus() else ()

    def of(self, role: RoleNode, readable: Resources) -> Resources:
        """The part of readable resources that may be offered."""
        if self.takes_all:
            return readable
        left = self._consumption.left(role)
        if not left and not self._headroom.required:
            return readable
        free, rest = free_scalars(readable)
        free = shrink_within(free, left, self._rng)
        if self._headroom.required:
            free = shrink_to(free, self._headroom.surplus, self._rng)
        return rest + free

    def charge(self, role: RoleNode, offered: Resources) -> None:
        """Account for the grant of that part."""
        self._headroom.charge(offered, NOTHING)
        self._consumption.charge(role, offered)
        if self._open is not None:
            self._open.move(role, self._is_usable)

    # ------------------------------------------------------------ roles that can receive something

    def _usable(self) -> Iterable[RoleNode]:
        roles = self._pool.roles
        return (role for role in roles if role.sorter is not None and self._is_usable(role))

    def _all_leasts(self) -> list[tuple[Quantities, ...]]:
        found = {id(least): least for role in self._pool.roles for least in _leasts(role)}
        return list(found.values())

    def _has_surplus(self) -> bool:
        """True if the headroom leaves enough for the least demanding framework."""
        required = self._headroom.required
        if not required:
            return True
        surplus = self._headroom.surplus
        return any(is_useful(least, surplus) for least in self._leasts)

    def _is_usable(self, role: RoleNode) -> bool:
        """True if the limit leaves enough for the least demanding framework of a role."""
        left = self._consumption.left(role)
        return not left or any(_can_reach(each, left) for each in _leasts(role))


def _leasts(role: RoleNode) -> Iterator[tuple[Quantities, ...]]:
    """Distinct smallest useful offers of a role's active frameworks."""
    seen = set()
    for each in role.frameworks.values():
        least = each.min_allocatable
        if each.is_active and id(least) not in seen:
            seen.add(id(least))
            yield least


def _can_reach(least: tuple[Quantities, ...], left: Quantities) -> bool:
    """True if an offer within these limits can be useful."""
    return not least or any(
        all(left.get(name, amount) >= amount for name, amount in each.items()) for each in least
    )
