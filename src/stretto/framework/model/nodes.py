"""Nodes in columns: labels, amounts, taints and images by position, in the order they came.

Masks that follow from nodes alone (who meets a selector, who tolerates which taints, which domain
a node is in) are kept until a node changes.
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

KEPT: Final = 4096
"""Masks kept; beyond it all are forgotten and made again when asked for."""

_T = TypeVar("_T")
_NO_NODE: Final = Node(metadata=ObjectMeta())


class LabelDomain(NamedTuple):
    """Which value of a label each node has, as small numbers."""

    #: intp[n]: the number; 0 where the node lacks the label.
    codes: npt.NDArray[np.intp]
    #: Numbers given, 0 included.
    size: int
    #: The number of the empty value; 0 where no node has it.
    empty: int

    def sums(self, counts: IntArray, within: BoolArray | None = None) -> IntArray:
        """int64[size]: counts added up by value; entry 0 is always 0."""
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
        """Start with no node."""
        #: Wire objects.
        self.objects: list[Node] = []
        #: Names.
        self.names: list[str] = []
        #: Position by name.
        self.index: dict[str, int] = {}
        #: Label columns.
        self.labels = LabelColumns()
        #: int64[n] by resource: what pods may have.
        self.allocatable: dict[str, IntArray] = {}
        #: int64[n]: pods at most.
        self.pods_allowed: IntArray = np.zeros(0, np.int64)
        #: bool[n]: cordoned.
        self.unschedulable: BoolArray = np.zeros(0, np.bool_)
        #: intp[n]: number of each node's list of taints.
        self.taint_list: npt.NDArray[np.intp] = np.zeros(0, np.intp)
        #: Lists of taints by number.
        self.taint_lists: list[tuple[Taint, ...]] = []
        #: Bytes of an image by name, as the first node told.
        self.image_sizes: dict[str, int] = {}
        #: Positions of the nodes that have an image.
        self.image_nodes: dict[str, set[int]] = {}
        self._taint_numbers: dict[tuple[Taint, ...], int] = {}
        self._kept: dict[Hashable, object] = {}
        self._everywhere = np.zeros(0, np.int64)

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def everywhere(self) -> IntArray:
        """int64[n]: every position."""
        return self._everywhere

    def put(self, nodes: Iterable[Node]) -> None:
        """Add nodes; one with a known name replaces its namesake."""
        batch = list(nodes)
        fresh = [each.metadata.name for each in batch if each.metadata.name not in self.index]
        self._extend(list(dict.fromkeys(fresh)))
        self._kept.clear()
        for node in batch:
            position = self.index[node.metadata.name]
            self._forget_images(position)
            self._write(position, node)

    def kept(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Something that follows from nodes alone: made once, until a node changes."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            found = self._kept[key] = make()
        return cast("_T", found)

    def domain(self, key: str) -> LabelDomain:
        """The values of a label."""
        return self.kept(("domain", key), lambda: self._domain(key))

    def holds(self, rules: tuple[SelectorRule, ...]) -> BoolArray:
        """bool[n]: nodes whose labels meet every rule."""
        return self.labels.all_match(rules, self._everywhere)

    def has(self, key: str) -> BoolArray:
        """bool[n]: nodes that have a label."""
        return cast("BoolArray", self.domain(key).codes != 0)

    def taints_where(self, holds: Callable[[tuple[Taint, ...]], int]) -> IntArray:
        """int64[n]: a function of each node's taints, asked once per distinct list."""
        return np.array([holds(each) for each in self.taint_lists], np.int64)[self.taint_list]

    def amount(self, resource: str) -> IntArray:
        """int64[n]: allocatable of a resource, zero where a node does not name it."""
        found = self.allocatable.get(resource)
        return np.zeros(self.count, np.int64) if found is None else found

    def _domain(self, key: str) -> LabelDomain:
        pairs, codes = np.unique(self.labels.column(key), return_inverse=True)
        if not len(pairs) or pairs[0] != 0:
            codes, pairs = codes + 1, np.concatenate([[0], pairs])
        empty = self.labels.pair_id(key, "")
        at = np.flatnonzero(pairs == empty) if empty > 0 else pairs[:0]
        return LabelDomain(codes.astype(np.intp), len(pairs), int(at[0]) if len(at) else 0)

    def _extend(self, names: list[str]) -> None:
        """Rows for new nodes, empty as yet."""
        more = len(names)
        if not more:
            return
        for position, name in enumerate(names, self.count):
            self.index[name] = position
        self.names += names
        self.objects += [_NO_NODE] * more
        self.labels.grow(self.count)
        self._everywhere = np.arange(self.count)
        for resource, column in self.allocatable.items():
            self.allocatable[resource] = lengthened(column, more)
        self.pods_allowed = lengthened(self.pods_allowed, more)
        self.unschedulable = np.concatenate([self.unschedulable, np.zeros(more, np.bool_)])
        self.taint_list = np.concatenate([self.taint_list, np.zeros(more, np.intp)])

    def _write(self, position: int, node: Node) -> None:
        self.objects[position] = node
        self.labels.put(position, node.metadata.labels)
        amounts = _amounts(node)
        for resource in amounts.keys() - self.allocatable.keys():
            self.allocatable[resource] = np.zeros(self.count, np.int64)
        for resource, column in self.allocatable.items():
            column[position] = amounts.get(resource, 0)
        self.pods_allowed[position] = amounts.get("pods", 0)
        self.unschedulable[position] = node.spec.unschedulable
        taints = node.spec.taints
        number = self._taint_numbers.setdefault(taints, len(self._taint_numbers))
        if number == len(self.taint_lists):
            self.taint_lists.append(taints)
        self.taint_list[position] = number
        for image in node.status.images:
            for name in image.names:
                self.image_sizes.setdefault(name, image.size_bytes)
                self.image_nodes.setdefault(name, set()).add(position)

    def _forget_images(self, position: int) -> None:
        for image in self.objects[position].status.images:
            for name in image.names:
                holders = self.image_nodes.get(name)
                if holders is None:
                    continue
                holders.discard(position)
                if not holders:
                    del self.image_nodes[name], self.image_sizes[name]


def lengthened(column: IntArray, more: int) -> IntArray:
    """A column with zeros at its end."""
    return np.concatenate([column, np.zeros(more, np.int64)])


def _amounts(node: Node) -> Mapping[str, int]:
    return quantity.amounts(node.status.allocatable, "status.allocatable")
