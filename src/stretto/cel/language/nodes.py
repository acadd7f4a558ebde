"""Nodes of parsed expressions. Each has an identifier, which types and positions refer to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ConstantNode:
    """A literal."""

    #: Identifier of the node.
    id: int
    #: Value of the literal.
    value: Any


@dataclass(frozen=True)
class NameNode:
    """A name of a variable or a type."""

    #: Identifier of the node.
    id: int
    #: The name; a leading dot selects the outermost scope.
    name: str


@dataclass(frozen=True)
class SelectNode:
    """A field of a value, or a test of its presence."""

    #: Identifier of the node.
    id: int
    #: The value.
    operand: "Node"
    #: Name of the field.
    field: str
    #: True for ``has()``.
    tests: bool


@dataclass(frozen=True)
class CallNode:
    """A call of a function or of an operator."""

    #: Identifier of the node.
    id: int
    #: Name of the function.
    function: str
    #: The receiver; ``None`` without.
    target: "Node | None"
    #: The arguments without the receiver.
    arguments: tuple["Node", ...]


@dataclass(frozen=True)
class ListNode:
    """A literal of a list."""

    #: Identifier of the node.
    id: int
    #: The items.
    items: tuple["Node", ...]
    #: Indices of the items that are optional.
    optional: frozenset[int]


@dataclass(frozen=True)
class Entry:
    """An entry of a literal of a map, or a field of a literal of an object."""

    #: Identifier of the entry.
    id: int
    #: The key; the name of the field for objects.
    key: "Node | str"
    #: The value.
    value: "Node"
    #: True if an absent value omits the entry.
    optional: bool


@dataclass(frozen=True)
class MapNode:
    """A literal of a map."""

    #: Identifier of the node.
    id: int
    #: The entries.
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class StructNode:
    """A literal of an object."""

    #: Identifier of the node.
    id: int
    #: Name of the type.
    name: str
    #: The fields.
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class FoldNode:
    """A comprehension: a loop over a list or a map that accumulates a result."""

    #: Identifier of the node.
    id: int
    #: Name of the variable of the item, of the key, or, with a second variable, of the index.
    variable: str
    #: Name of the variable of the item or value; empty without.
    second: str
    #: The list or map.
    range: "Node"
    #: Name of the accumulator.
    accumulator: str
    #: First value of the accumulator.
    start: "Node"
    #: The loop continues while this is true.
    condition: "Node"
    #: Next value of the accumulator.
    step: "Node"
    #: Value of the comprehension.
    result: "Node"


Node = ConstantNode | NameNode | SelectNode | CallNode | ListNode | MapNode | StructNode | FoldNode
"""A parsed expression."""


@dataclass(frozen=True)
class Tree:
    """A parsed expression with its source."""

    #: Text of the expression.
    source: str
    #: The expression.
    root: Node
    #: Offsets of the nodes in the source by identifier.
    offsets: Mapping[int, int]


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below a node, in the order of the source."""
    match node:
        case SelectNode():
            yield node.operand
        case CallNode():
            if node.target is not None:
                yield node.target
            yield from node.arguments
        case ListNode():
            yield from node.items
        case MapNode() | StructNode():
            for entry in node.entries:
                if not isinstance(entry.key, str):
                    yield entry.key
                yield entry.value
        case FoldNode():
            yield from (node.range, node.start, node.condition, node.step, node.result)
        case _:
            return


def qualified_name(node: Node) -> str:
    """Return the dotted name that a chain of selections spells; empty for other nodes."""
    if isinstance(node, NameNode):
        return node.name
    if isinstance(node, SelectNode) and not node.tests:
        prefix = qualified_name(node.operand)
        return f"{prefix}.{node.field}" if prefix else ""
    return ""
