"""The tree of roles: reserved, held and used amounts of each subtree, and its quota."""

from collections.abc import Iterator

from stretto.base.errors import InputError
from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.pool.quota import QuotaTable
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import Quantities, add_to


class RoleTree:
    """All roles."""

    def __init__(self) -> None:
        """Start with the root."""
        self.root = RoleNode("", None)
        #: Guarantees, limits and consumption as arrays.
        self.table = QuotaTable()
        #: True if a role has a quota.
        self.has_quota = False
        self._nodes: dict[str, RoleNode] = {}

    def __iter__(self) -> Iterator[RoleNode]:
        """All roles except the root."""
        return iter(self._nodes.values())

    def find(self, role: str) -> RoleNode | None:
        """An existing role, or ``None``."""
        return self._nodes.get(role)

    def get(self, role: str) -> RoleNode:
        """A role; created if it does not exist."""
        found = self._nodes.get(role)
        if found is None:
            above, _, _ = role.rpartition("/")
            parent = self.get(above) if above else self.root
            found = self._nodes[role] = parent.children[role] = RoleNode(role, parent)
        return found

    def trim(self, node: RoleNode) -> None:
        """Remove a role that is no longer needed, and then its ancestors."""
        while node.parent is not None and not node.is_needed:
            del self._nodes[node.name], node.parent.children[node.name]
            node = node.parent

    def set_quota(self, role: str, quota: RoleQuota, held: dict[str, int]) -> None:
        """Set or remove the quota of a role; ``held`` contains the holdings of its subtree."""
        node = self.get(role)
        if quota.is_default:
            if node.row >= 0:
                self.table.remove(node.row)
            node.set_quota(quota, -1, {})
        else:
            known = len(self.table.names)
            node.set_quota(quota, self.table.put(node.row, quota), held)
            is_wider = len(self.table.names) > known
            for each in self if is_wider else (node,):
                self._count_again(each)
        self.has_quota = bool(self.table)
        self.trim(node)

    def _count_again(self, node: RoleNode) -> None:
        if node.row >= 0:
            names = node.reserved.keys() | node.held.keys() | node.outside.keys()
            self.table.reset(node.row, [(name, node.consumed(name)) for name in names])

    # ------------------------------------------------------------ amounts

    def add_outside(self, role: str, amounts: Quantities) -> None:
        """Add to the consumption of a role outside the pool; negative amounts subtract."""
        leaf = self.get(role)
        for node in leaf.path:
            add_to(node.outside, amounts.items())
            if node.row >= 0:
                self.table.add(node.row, amounts.items(), 1)
        self.trim(leaf)

    def reserve(self, resources: Resources, sign: int) -> None:
        """Add (+1) or remove (-1) the reservations among an agent's resources."""
        for kind, value in resources.reserved:
            if isinstance(value, int):
                amounts = (kind.name, (kind.whole or 1) * (1 if kind.shared else value))
                leaf = self.get(kind.reserved_to)
                for node in leaf.path:
                    add_to(node.reserved, (amounts,), sign)
                    if node.row >= 0:
                        self.table.add(node.row, (amounts,), sign)
                if sign < 0:
                    self.trim(leaf)
            elif sign > 0:
                self.get(kind.reserved_to)

    def hold(self, node: RoleNode, resources: Resources, sign: int) -> None:
        """Add (+1) or remove (-1) offered or used amounts of a role that quota counts."""
        if not self.has_quota:
            return
        free = resources.free
        for each in node.path:
            if each.row >= 0:
                add_to(each.held, free, sign)
                self.table.add(each.row, free, sign)

    def use(self, node: RoleNode, resources: Resources, sign: int) -> None:
        """Add (+1) or remove (-1) the use of tasks of a role."""
        free = resources.free
        for each in node.path:
            add_to(each.used, free, sign)


def check_role(role: str, field: str = "role") -> None:
    """Check the name of a role.

    Raises:
        InputError: it is empty, ``.`` or ``..``, has an empty component, a component ``*``, a
            leading ``-``, white space or a slash at an end.
    """
    if role == "*":
        return
    for part in role.split("/"):
        bad = part in ("", ".", "..", "*") or part.startswith("-")
        if bad or any(each.isspace() or each in "\x7f\x08" for each in part):
            expected = "names separated by '/', each without white space and leading '-'"
            raise InputError(field, role, expected, "choose another name")
