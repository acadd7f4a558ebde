"""Operands of calls, as estimates see them, and the limits of their sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from stretto.cel.estimates.ranges import UNKNOWN, Range
from stretto.cel.language.nodes import ConstantNode, Node
from stretto.cel.language.types import CelType, Sort

Path = tuple[str, ...]
"""Way from a variable to a value: names of fields, and ``@items``, ``@keys`` or ``@values``."""
Limit = Callable[[Path], int | None]
"""Returns the maximum size of the value at a path; ``None`` without a limit."""


@dataclass(frozen=True)
class Entries:
    """Sizes of the items of a list or of the entries of a map."""

    #: True for a list.
    is_list: bool
    #: Sizes of the keys.
    key: Range
    #: Sizes of the items or values.
    value: Range

    def union(self, other: "Entries | None") -> "Entries | None":
        """Return the sizes of the entries of either of two values."""
        if other is None:
            return None
        return Entries(self.is_list, self.key.union(other.key), self.value.union(other.value))


class Operand(NamedTuple):
    """A receiver or an argument."""

    #: The node; ``None`` for the items of a list.
    node: Node | None
    #: The type.
    kind: CelType
    #: The path; empty for values that no path reaches.
    path: Path
    #: The size that the expression determines; ``None`` without.
    computed: Range | None
    #: The limits of sizes.
    limit: Limit

    @property
    def size(self) -> Range:
        """Size of the value."""
        if self.computed is not None:
            return self.computed
        return limited(self.limit, self.path) or UNKNOWN

    @property
    def computed_size(self) -> Range:
        """Size that the expression determines; unknown without."""
        return UNKNOWN if self.computed is None else self.computed

    @property
    def literal(self) -> int | None:
        """The value of a literal whole number; ``None`` for other operands."""
        value = self.node.value if isinstance(self.node, ConstantNode) else None
        return value if type(value) is int else None

    @property
    def item(self) -> "Operand | None":
        """The items of a list or the keys of a map; ``None`` for other operands."""
        if not self.kind.parameters:
            return None
        path = (*self.path, "@items") if self.path else ()
        return Operand(None, self.kind.parameters[0], path, None, self.limit)

    @property
    def is_opaque(self) -> bool:
        """True for values that only functions read."""
        return self.kind.sort in (Sort.OPAQUE, Sort.STRUCT)


def limited(limit: Limit, path: Path) -> Range | None:
    """Return the size of the value at a path; ``None`` without a limit."""
    most = limit(path) if path else None
    return None if most is None else Range(0, most)
