"""The consumption of quota during a cycle."""

from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import add_to


class Consumption:
    """Unsatisfied guarantees and remaining limits of roles.

    With nested quota, a role counts at once for all roles above it. Without it, as in Mesos, only
    the role's own quota applies, and grants to the roles below it count from the next cycle.
    """

    def __init__(self, is_nested: bool) -> None:
        """Start a cycle."""
        self._is_nested = is_nested
        self._later: dict[RoleNode, dict[str, int]] = {}

    def counted(self, role: RoleNode) -> tuple[RoleNode, ...]:
        """The roles whose quota applies to a role."""
        return role.path if self._is_nested else (role,)

    def lack(self, role: RoleNode) -> dict[str, int]:
        """Unsatisfied amounts of the guarantees that apply to a role, without zeros."""
        lacks: dict[str, int] = {}
        for node in self.counted(role):
            for name, amount in node.quota.guarantees.items():
                lack = amount - self._consumed(node, name)
                if lack > lacks.get(name, 0):
                    lacks[name] = lack
        return lacks

    def left(self, role: RoleNode) -> dict[str, int]:
        """The remaining amounts of the limits of a role; a resource without a limit is absent."""
        left: dict[str, int] = {}
        for node in self.counted(role):
            for name, limit in node.quota.limits.items():
                rest = max(0, limit - self._consumed(node, name))
                left[name] = min(rest, left.get(name, rest))
        return left

    def charge(self, role: RoleNode, offered: Resources) -> None:
        """Account for a grant."""
        if self._is_nested:
            return
        for node in role.path[1:]:
            if node.row >= 0:
                add_to(self._later.setdefault(node, {}), offered.free)

    def _consumed(self, node: RoleNode, name: str) -> int:
        later = self._later.get(node)
        return node.consumed(name) - (later.get(name, 0) if later else 0)
