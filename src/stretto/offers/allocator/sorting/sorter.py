"""A sorter: clients in the order in which they are offered capacity.

The order is maintained incrementally: a grant or a recovery marks the nodes on one path, and the
next reading moves only these. A change of the totals or of many clients sorts the tree once.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stretto.base.rng import Rng
from stretto.offers.allocator.sorting import lottery
from stretto.offers.allocator.sorting.nodes import (
    ClientKind,
    ClientTree,
    SorterNode,
    SortKey,
)
from stretto.offers.allocator.subjects.settings import SorterKind
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import MILLI, add_to, from_milli

FEW = 8
"""Number of moved nodes up to which they are always placed one by one."""
MANY = 4
"""Ratio of nodes to moved nodes below which sorting the whole tree is cheaper."""


class PoolTotals:
    """Scalar totals of all agents, shared by all sorters of a pool."""

    def __init__(self, excluded: frozenset[str]) -> None:
        """Start empty; ``excluded`` lists names that do not count for fairness."""
        self._excluded = excluded
        #: Thousandths by name.
        self.amounts: dict[str, int] = {}
        #: Amounts in units that count for fairness, without zeros.
        self.fair: dict[str, float] = {}
        #: Number of changes; a sorter with another number sorts again.
        self.epoch = 0

    def change(self, amounts: Iterable[tuple[str, int]], sign: int) -> None:
        """Add (+1) or remove (-1) the scalars of an agent."""
        add_to(self.amounts, amounts, sign)
        self.fair = {
            name: from_milli(total)
            for name, total in self.amounts.items()
            if total > 0 and name not in self._excluded
        }
        self.epoch += 1


class ClientSorter:
    """One level: the roles, or the frameworks of one role."""

    def __init__(
        self, kind: SorterKind, rng: Rng, totals: PoolTotals, weights: Mapping[str, float]
    ) -> None:
        """Start without clients; ``weights`` by path may change later (`reweigh`)."""
        self._kind = kind
        self._rng = rng
        self._totals = totals
        self._tree = ClientTree(lambda path: weights.get(path, 1.0))
        self._weights = weights
        self._moved: set[SorterNode] = set()
        self._lineages: dict[str, tuple[SorterNode, ...]] = {}
        self._epoch = -1

    # ------------------------------------------------------------ clients

    def __contains__(self, path: str) -> bool:
        return path in self._tree.leaves

    def __len__(self) -> int:
        return len(self._tree.leaves)

    def add(self, path: str, client: object) -> None:
        """Add a client; it is inactive."""
        self._tree.add(path, client)
        self._lineages.clear()
        self._epoch = -1

    def remove(self, path: str) -> None:
        """Remove a client without holdings."""
        self._tree.remove(path)
        self._lineages.clear()
        self._epoch = -1

    def set_active(self, path: str, active: bool) -> None:
        """Start or stop offering to a client."""
        kind = ClientKind.ACTIVE if active else ClientKind.INACTIVE
        leaf = self._tree.leaves[path]
        if leaf.kind is not kind:
            leaf.kind = kind
            self._epoch = -1

    def set_late(self, path: str, late: bool) -> None:
        """Sort a client after its siblings, or move it back to its place."""
        leaf = self._tree.leaves[path]
        if leaf.is_late != late:
            leaf.is_late = late
            self._moved.add(leaf)

    def reweigh(self) -> None:
        """Read the weights again."""
        for node in self._tree.nodes():
            node.weight = self._weights.get(node.path, 1.0)
        self._epoch = -1

    # ------------------------------------------------------------ allocations

    def allocate(self, path: str, agent: str, resources: Resources) -> None:
        """Count a grant."""
        nodes = self._lineages.get(path) or self._lineage(path)
        for node in nodes:
            node.charge(agent, resources, 1)
            node.count += 1
        self._moved.update(nodes)

    def adjust(self, path: str, agent: str, resources: Resources, sign: int) -> None:
        """Add (+1) or remove (-1) an allocation without counting a grant."""
        nodes = self._lineages.get(path) or self._lineage(path)
        for node in nodes:
            node.charge(agent, resources, sign)
        self._moved.update(nodes)

    def _lineage(self, path: str) -> tuple[SorterNode, ...]:
        """The leaf of a client and its ancestors below the root."""
        found = self._lineages[path] = tuple(self._tree.path_of(path))
        return found

    def share(self, path: str) -> float:
        """Dominant share of a client, divided by its weight."""
        leaf = self._tree.leaves[path]
        return self._share(leaf)

    def amounts(self, path: str) -> Mapping[str, int]:
        """Scalars of a client itself, in thousandths; empty for an unknown client."""
        leaf = self._tree.leaves.get(path)
        return {} if leaf is None else leaf.amounts

    # ------------------------------------------------------------ order

    def order(self) -> Iterator[Any]:
        """Active clients, the next one first.

        The order is that of the call: allocations during the iteration take effect in the next one.
        """
        if self._kind is SorterKind.RANDOM:
            return iter([leaf.client for leaf in lottery.draw(self._tree.root, self._rng)])
        self.settle()
        return _walk(self._tree.root)

    def position(self, path: str) -> tuple[Any, ...]:
        """A key that sorts clients like `order`; call `settle` first."""
        nodes = list(self._tree.path_of(path))
        return tuple(node.key[:4] for node in reversed(nodes))

    @property
    def is_random(self) -> bool:
        """True if each reading draws a new order."""
        return self._kind is SorterKind.RANDOM

    def resort(self) -> None:
        """Sort everything at the next reading."""
        self._epoch = -1

    def settle(self) -> None:
        """Move the nodes whose keys have changed to their places."""
        moved = self._moved
        if self._epoch != self._totals.epoch:
            self._sort()
            return
        if not moved:
            return
        clients = len(self._tree.leaves)
        if len(moved) > FEW and len(moved) * MANY > clients:
            self._sort()
            return
        if clients > 1:  # a single client is always the next one, independent of its key
            for node in moved:
                if node.parent is not None and node.kind is not ClientKind.INACTIVE:
                    self._place(node, node.parent.order)
        moved.clear()

    def _place(self, node: SorterNode, order: list[SortKey]) -> None:
        """Move a node to its place; after a grant mostly from the front to the end."""
        if order[0] is node.key:
            del order[0]
        else:
            del order[bisect_left(order, node.key)]
        self._set_key(node)
        if order and order[-1] < node.key:
            order.append(node.key)
        else:
            insort(order, node.key)

    def _sort(self) -> None:
        for node in self._tree.nodes():
            self._set_key(node)
        for node in self._tree.nodes():
            if node.children:
                node.order = sorted(
                    child.key for child in node.children.values() if child.is_sorted
                )
            else:
                node.order = []
        self._moved.clear()
        self._epoch = self._totals.epoch

    def _set_key(self, node: SorterNode) -> None:
        node.share = self._share(node)
        node.key = (node.is_late, node.share, node.count, node.path, node)

    def _share(self, node: SorterNode) -> float:
        """Dominant share; amounts in units are rounded as in `from_milli`."""
        totals, best = self._totals.fair, 0.0
        for name, amount in node.amounts.items():
            if amount and name in totals:
                whole, rest = divmod(amount, MILLI)
                share = (whole + rest / 1000.0 if rest else whole) / totals[name]
                best = max(best, share)
        return best / node.weight


def _walk(node: SorterNode) -> Iterator[Any]:
    for key in node.order:
        child = key[4]
        if child.kind is ClientKind.ACTIVE:
            yield child.client
        else:
            yield from _walk(child)
