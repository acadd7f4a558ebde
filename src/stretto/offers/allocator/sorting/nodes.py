"""The tree of a sorter: one node per component of a client's path.

A client that also has children gets a leaf ``.`` below its own node, as in Mesos. Allocations are
summed up to the root, so the share of a subtree is a lookup.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final

from stretto.offers.allocator.values.resources import Resources
from stretto.offers.allocator.values.scalars import add_to

SELF: Final = "."
"""Name of the leaf of a client that has children."""


class ClientKind(Enum):
    """Kinds of nodes."""

    #: A part of a path with children.
    INTERNAL = "internal"
    #: A client that receives offers.
    ACTIVE = "active"
    #: A client without offers; its allocation counts.
    INACTIVE = "inactive"


SortKey = tuple[bool, float, int, str, "SorterNode"]
"""Lateness, weighted share, number of grants, path, node."""


class SorterNode:
    """One node."""

    __slots__ = (
        "amounts",
        "children",
        "client",
        "count",
        "is_late",
        "key",
        "kind",
        "name",
        "order",
        "parent",
        "path",
        "share",
        "shared",
        "weight",
    )

    def __init__(self, name: str, parent: "SorterNode | None", kind: ClientKind) -> None:
        """Start without allocations."""
        #: Last component of the path.
        self.name = name
        #: The node above; ``None`` for the root.
        self.parent = parent
        #: Path from the root.
        self.path: str = f"{parent.path}/{name}" if parent and parent.path else name
        #: Its kind.
        self.kind = kind
        #: The client of a leaf.
        self.client: Any = None
        #: Nodes below, by name.
        self.children: dict[str, SorterNode] = {}
        #: Allocated scalars in thousandths, of the whole subtree.
        self.amounts: dict[str, int] = {}
        #: Holders of shared items by (agent, kind): an item counts once.
        self.shared: dict[tuple[str, object], int] = {}
        #: Number of grants to the subtree; never decreases.
        self.count: int = 0
        #: Share relative to its siblings.
        self.weight: float = 1.0
        #: Dominant share divided by the weight.
        self.share: float = 0.0
        #: True if it is sorted after its siblings because it declined.
        self.is_late = False
        #: Its key in the order of its parent.
        self.key: SortKey = (False, 0.0, 0, self.path, self)
        #: Keys of the children that may receive offers, sorted.
        self.order: list[SortKey] = []

    @property
    def is_leaf(self) -> bool:
        """True if it represents a client."""
        return self.kind is not ClientKind.INTERNAL

    @property
    def is_sorted(self) -> bool:
        """True if it has a place in the order of its parent."""
        return self.kind is not ClientKind.INACTIVE

    def charge(self, agent: str, resources: Resources, sign: int) -> None:
        """Add (+1) or remove (-1) an allocation; a shared item counts with its first holder."""
        if not resources.has_shared:
            add_to(self.amounts, resources.quantities, sign)
            return
        for kind, value in resources:
            if not isinstance(value, int):
                continue
            if not kind.shared:
                add_to(self.amounts, ((kind.name, (kind.whole or 1) * value),), sign)
                continue
            held = self.shared.get((agent, kind), 0)
            left = self.shared[agent, kind] = max(0, held + sign * value)
            if not left:
                del self.shared[agent, kind]
            add_to(self.amounts, ((kind.name, kind.whole),), bool(left) - bool(held))


class ClientTree:
    """All nodes of a sorter."""

    def __init__(self, weight_of: Callable[[str], float]) -> None:
        """Start with the root; ``weight_of`` maps a path to its weight."""
        self._weight_of = weight_of
        #: The root.
        self.root = SorterNode("", None, ClientKind.INTERNAL)
        #: Leaves by path of the client.
        self.leaves: dict[str, SorterNode] = {}

    def add(self, path: str, client: object) -> SorterNode:
        """Add an inactive client; return its leaf."""
        node = self.root
        for name in path.split("/"):
            if node.is_leaf:
                node = self._push_down(node)
            found = node.children.get(name)
            node = found if found is not None else self._make(name, node, ClientKind.INTERNAL)
        if node.children:
            node = self._make(SELF, node, ClientKind.INACTIVE)
        else:
            node.kind = ClientKind.INACTIVE
        node.client = client
        self.leaves[path] = node
        return node

    def _make(self, name: str, parent: SorterNode, kind: ClientKind) -> SorterNode:
        node = SorterNode(name, parent, kind)
        node.weight = self._weight_of(node.path)
        parent.children[name] = node
        return node

    def _push_down(self, node: SorterNode) -> SorterNode:
        """Convert a leaf to an internal node with a leaf ``.`` that keeps its allocation."""
        leaf = self._make(SELF, node, node.kind)
        leaf.client, leaf.count, leaf.is_late = node.client, node.count, node.is_late
        leaf.amounts, leaf.shared = dict(node.amounts), dict(node.shared)
        self.leaves[node.path] = leaf
        node.kind, node.client, node.is_late = ClientKind.INTERNAL, None, False
        return node

    def remove(self, path: str) -> None:
        """Remove a client without allocation, and internal nodes that become empty."""
        node = self.leaves.pop(path)
        while node is not self.root and not node.children:
            assert node.parent is not None
            del node.parent.children[node.name]
            node = node.parent
        if node is not self.root and list(node.children) == [SELF]:
            leaf = node.children.pop(SELF)
            node.kind, node.client, node.is_late = leaf.kind, leaf.client, leaf.is_late
            self.leaves[node.path] = node

    def path_of(self, path: str) -> Iterator[SorterNode]:
        """The leaf of a client and its ancestors, the root excluded."""
        node: SorterNode | None = self.leaves[path]
        while node is not None and node is not self.root:
            yield node
            node = node.parent

    def nodes(self) -> Iterator[SorterNode]:
        """All nodes, the root first."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())
