"""The headroom of a cycle: free capacity that must remain for unsatisfied guarantees."""

from collections.abc import Mapping

from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import add_to


class CycleHeadroom:
    """Required and available amounts, updated with each grant."""

    def __init__(self, pool: OfferPool) -> None:
        """Compute both amounts from the present state."""
        self._pool = pool
        self._is_nested = pool.settings.nested_quota and any(
            "/" in role.name for role in pool.roles if role.row >= 0
        )
        #: Amounts for unsatisfied guarantees, in thousandths, without zeros.
        self.required: dict[str, int] = self._required()
        #: Unreserved, non-revocable, free scalars of all agents; empty if nothing is required.
        self.available: dict[str, int] = self._available() if self.required else {}

    def _required(self) -> dict[str, int]:
        roles = self._pool.roles
        if not roles.table:
            return {}
        if self._is_nested:
            return _needs(roles.root)
        lacks = roles.table.lacks().sum(axis=0).tolist()
        return {name: lack for name, lack in zip(roles.table.names, lacks, strict=True) if lack}

    def _available(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for agent in self._pool.agents:
            if agent.available:
                add_to(found, agent.available.free)
        return found

    @property
    def surplus(self) -> Mapping[str, int]:
        """Available amounts beyond the required ones."""
        required = self.required
        return {name: n - required.get(name, 0) for name, n in self.available.items()}

    def charge(self, offered: Resources, guaranteed: Resources) -> None:
        """Account for a grant, of which a part satisfies a guarantee."""
        if not self.required:
            return
        add_to(self.available, offered.free, -1)
        if self._is_nested:
            self.required = self._required()
            return
        for name, amount in guaranteed.free:
            left = self.required.get(name, 0) - amount
            if left > 0:
                self.required[name] = left
            else:
                self.required.pop(name, None)


def _needs(node: RoleNode) -> dict[str, int]:
    """Unsatisfied amounts of a subtree: its own, or the sum below it if that is more."""
    below: dict[str, int] = {}
    for child in node.children.values():
        add_to(below, _needs(child).items())
    for name, lack in node.lack().items():
        below[name] = max(lack, below.get(name, 0))
    return below
