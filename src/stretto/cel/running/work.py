"""The work of an evaluation: an estimate of the time that Python takes for it.

The costs of cel-go estimate the time of Go, and a comparison of two objects costs 1, however large
they are. An evaluation therefore has a limit of its work beside that of its cost. A unit is the
evaluation of a constant, about 0.06 microseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stretto.cel.language.nodes import (
    CallNode,
    FoldNode,
    ListNode,
    MapNode,
    Node,
    StructNode,
    children,
)
from stretto.cel.running.values import OverBudgetError

MOST_WORK: Final = 1_200_000
"""Maximum work of all rules for one object, and of all expressions of one policy about a write."""
_ITEM: Final = 2
"""Work of a loop for each item, without its expressions."""
_LOOP: Final = 20
"""Work of a loop without its items."""
_LITERAL: Final = 15
"""Work of a new list, map or object, without its parts."""
_OPERATOR: Final = 3
"""Work of an operator that the planner evaluates."""
_FAST: Final = 15
"""Work of a call of a simple function."""
_SLOW: Final = 80
"""Work of a call of other functions: amounts, addresses, times and patterns are decoded."""
_PART: Final = 20
"""Work of a comparison for each part of a value."""
_OPERATORS: Final = (
    "_?_:_",
    "_&&_",
    "_||_",
    "_==_",
    "_!=_",
    "_[_]",
    "_[?_]",
    "_?._",
    "or",
    "orValue",
)
_SIMPLE: Final = (
    *("_+_", "_-_", "_*_", "_/_", "_%_", "-_", "!_", "_<_", "_<=_", "_>_", "_>=_", "@in"),
    *("contains", "startsWith", "endsWith", "size", "cel.@mapInsert", "hasValue", "value"),
    *("bool", "int", "uint", "double", "string", "dyn", "type", "optional.of", "optional.none"),
)
_CALLS: Final = {**dict.fromkeys(_OPERATORS, _OPERATOR), **dict.fromkeys(_SIMPLE, _FAST)}
"""Work of calls by the name of the function; that of all others is ``_SLOW``."""


def node_work(node: Node, functions: Mapping[int, str]) -> int:
    """Return the work of an expression, without that of the items of its loops.

    Args:
        node: the expression.
        functions: names of functions in namespaces by the number of their nodes.
    """
    if isinstance(node, FoldNode):
        parts = (node.range, node.start, node.result)
        return _LOOP + sum(node_work(each, functions) for each in parts)
    inner = sum(node_work(each, functions) for each in children(node))
    if isinstance(node, CallNode):
        return inner + _CALLS.get(functions.get(node.id, node.function), _SLOW)
    return inner + (_LITERAL if isinstance(node, ListNode | MapNode | StructNode) else 1)


def item_work(loop: FoldNode, functions: Mapping[int, str]) -> int:
    """Return the work of a loop for each item.

    Args:
        loop: the loop.
        functions: names of functions in namespaces by the number of their nodes.
    """
    return _ITEM + node_work(loop.step, functions)


class Work:
    """The work that the evaluations about one object have left."""

    def __init__(self, limit: int = MOST_WORK) -> None:
        """Limit the work.

        Args:
            limit: the maximum.
        """
        self._left = limit
        # Lists and maps with their numbers of parts; a kept value keeps its identity.
        self._known: dict[int, tuple[Any, int]] = {}

    def spend(self, work: int) -> None:
        """Add work.

        Raises:
            OverBudgetError: less is left.
        """
        self._left -= work
        if self._left < 0:
            raise OverBudgetError

    def compare(self, one: Any, two: Any) -> None:
        """Add the work of a comparison of two values.

        Raises:
            OverBudgetError: less is left.
        """
        if isinstance(one, list | tuple | Mapping) and isinstance(two, list | tuple | Mapping):
            self.spend(_PART * min(self.parts(one), self.parts(two)))

    def call(self, name: str, arguments: Sequence[Any]) -> None:
        """Add the work of a function that reads all parts of lists.

        Raises:
            OverBudgetError: less is left.
        """
        self.spend(_PART * _READ[name](self, arguments))

    def parts(self, value: Any) -> int:
        """Return the number of parts of a value; a list that occurs again counts once."""
        if not isinstance(value, list | tuple | Mapping):
            return 1
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = value, _distinct_parts(value)
        return known[1]


def _distinct_parts(value: Any) -> int:
    count, rest, seen = 1, [value], set[int]()
    while rest:
        each = rest.pop()
        if isinstance(each, list | tuple | Mapping) and id(each) not in seen:
            seen.add(id(each))
            count += len(each)
            rest.extend(each.values() if isinstance(each, Mapping) else each)
    return count


def reads_all(name: str) -> bool:
    """Return whether a function reads all parts of lists, so that its work depends on them."""
    return name in _READ


def _all(place: int) -> Callable[[Work, Sequence[Any]], int]:
    """Return the function that counts the parts of one argument."""
    return lambda work, arguments: work.parts(arguments[place])


def _pairs(work: Work, arguments: Sequence[Any]) -> int:
    """Count the parts of a list, each of which is compared with each item of another list."""
    return len(arguments[0]) * work.parts(arguments[-1])


_READ: Final[Mapping[str, Callable[[Work, Sequence[Any]], int]]] = {
    "@in": _all(1),
    **dict.fromkeys(("indexOf", "lastIndexOf", "isSorted", "max", "min", "sum"), _all(0)),
    **dict.fromkeys(("distinct", "sets.contains", "sets.intersects", "sets.equivalent"), _pairs),
}
"""Functions that read all parts of lists, with the number of the parts."""
