"""Nodes of a parity snapshot by position: facts in the form that rules read, and exact amounts.

Masks that depend on nodes alone (the nodes that match a selector, the domain of each node) are
cached until a node changes.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from stretto.api.types.core import Node, Taint
from stretto.api.wire import quantity
from stretto.api.wire.meta import ObjectMeta
from stretto.api.wire.selectors import SelectorRule
from stretto.framework.model.status import BoolArray, IntArray
from stretto.state.nodes.labels import LabelColumns
from stretto.state.nodes.table import NodeFacts

KEPT: Final = 4096
"""Maximum number of cached masks; beyond it all are dropped and computed again on demand."""

_T = TypeVar("_T")
_NO_NODE: Final = Node(metadata=ObjectMeta())


class LabelDomain(NamedTuple):
    """Values of a label on the nodes, as small numbers."""

    #: intp[n]: the number; 0 where the node lacks the label.
    codes: npt.NDArray[np.intp]
    #: Number of numbers in use, including 0.
    size: int
    #: Number of the empty value; 0 if no node has it.
    empty: int

    def sums(self, counts: IntArray, within: BoolArray | None = None) -> IntArray:
        """int64[size]: sums of the counts by value; entry 0 is always 0."""
        if within is not None:
            counts = counts * within
        sums = np.bincount(self.codes, counts, self.size).astype(np.int64)
        sums[0] = 0
        return sums

    def present(self, within: BoolArray) -> BoolArray:
        """bool[size]: values that some node of a mask has."""
        found = np.bincount(self.codes, within, self.size) > 0
        found[0] = False
        return found


class NodeColumns:
    """All nodes by position."""

    def __init__(self) -> None:
        """Start without nodes."""
        #: Wire objects.
        self.objects: list[Node] = []
        #: Names, labels, taints, cordons and images; the position is the slot.
        self.facts = NodeFacts(images=True)
        #: int64[n] by resource: allocatable amounts.
        self.allocatable: dict[str, IntArray] = {}
        #: int64[n]: allocatable pods.
        self.pods_allowed: IntArray = np.zeros(0, np.int64)
        self._kept: dict[Hashable, object] = {}
        self._everywhere = np.zeros(0, np.int64)

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.objects)

    @property
    def names(self) -> list[str]:
        """Names by position."""
        return self.facts.names

    @property
    def index(self) -> dict[str, int]:
        """Positions by name."""
        return self.facts.by_name

    @property
    def labels(self) -> LabelColumns:
        """Label columns by position."""
        return self.facts.labels

    @property
    def everywhere(self) -> IntArray:
        """int64[n]: every position."""
        return self._everywhere

    def put(self, nodes: Iterable[Node]) -> None:
        """Add nodes; a node with a known name replaces the old node."""
        batch = {each.metadata.name: each for each in nodes}
        self._kept.clear()
        first = self.count
        fresh = [name for name in batch if name not in self.index]
        self._extend(len(fresh))
        positions = self.index | {name: first + at for at, name in enumerate(fresh)}
        for name, node in batch.items():
            self._write(positions[name], node)

    def kept(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return a value that depends on nodes alone; it is computed once, until a node changes."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            found = self._kept[key] = make()
        return cast("_T", found)

    def domain(self, key: str) -> LabelDomain:
        """Return the values of a label."""
        return self.kept(("domain", key), lambda: self._domain(key))

    def holds(self, rules: tuple[SelectorRule, ...]) -> BoolArray:
        """bool[n]: nodes whose labels match every rule."""
        return self.labels.all_match(rules, self._everywhere)

    def has(self, key: str) -> BoolArray:
        """bool[n]: nodes that have a label."""
        return cast("BoolArray", self.domain(key).codes != 0)

    def taints_where(self, holds: Callable[[tuple[Taint, ...]], int]) -> IntArray:
        """int64[n]: a function of each node's taints, called once per distinct list."""
        facts = self.facts
        return np.array([holds(each) for each in facts.taint_sets], np.int64)[facts.taint_set]

    def amount(self, resource: str) -> IntArray:
        """int64[n]: allocatable of a resource; zero where a node does not list it."""
        found = self.allocatable.get(resource)
        return np.zeros(self.count, np.int64) if found is None else found

    def _domain(self, key: str) -> LabelDomain:
        pairs, codes = np.unique(self.labels.column(key), return_inverse=True)
        if not len(pairs) or pairs[0] != 0:
            codes, pairs = codes + 1, np.concatenate([[0], pairs])
        empty = self.labels.pair_id(key, "")
        at = np.flatnonzero(pairs == empty) if empty > 0 else pairs[:0]
        return LabelDomain(codes.astype(np.intp), len(pairs), int(at[0]) if len(at) else 0)

    def _extend(self, more: int) -> None:
        """Add empty rows for new nodes."""
        if not more:
            return
        self.objects += [_NO_NODE] * more
        self.facts.grow(self.count)
        self._everywhere = np.arange(self.count)
        for resource, column in self.allocatable.items():
            self.allocatable[resource] = lengthened(column, more)
        self.pods_allowed = lengthened(self.pods_allowed, more)

    def _write(self, position: int, node: Node) -> None:
        self.objects[position] = node
        self.facts.put(position, node)
        amounts = _amounts(node)
        for resource in amounts.keys() - self.allocatable.keys():
            self.allocatable[resource] = np.zeros(self.count, np.int64)
        for resource, column in self.allocatable.items():
            column[position] = amounts.get(resource, 0)
        self.pods_allowed[position] = amounts.get("pods", 0)


def lengthened(column: IntArray, more: int) -> IntArray:
    """A column with zeros appended."""
    return np.concatenate([column, np.zeros(more, np.int64)])


def _amounts(node: Node) -> Mapping[str, int]:
    return quantity.amounts(node.status.allocatable, "status.allocatable")
