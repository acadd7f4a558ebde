"""Macros that the parser does not expand: loops with two variables, and ``sortBy``.

The expansions are those of ``ext/comprehensions.go`` and ``ext/lists.go`` in cel-go.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, Final

from stretto.web.api.cel.language.nodes import (
    CallNode,
    ConstantNode,
    FoldNode,
    ListNode,
    MapNode,
    NameNode,
    Node,
)

ACCUMULATOR: Final = "@result"
"""Name of the accumulator of a macro; no expression can contain it."""
_SORTED: Final = "@__sortBy_input__"
_AND: Final = "_&&_"
_OR: Final = "_||_"
_ADD: Final = "_+_"
_CHOICE: Final = "_?_:_"
_INSERT: Final = "cel.@mapInsert"
_LAX: Final = "@not_strictly_false"


class MacroError(Exception):
    """The arguments of a macro are not those that it requires."""

    def __init__(self, node: int, text: str) -> None:
        super().__init__(text)
        #: Identifier of the node at fault.
        self.node = node


class Expander:
    """Expander of the macros in one expression."""

    def __init__(self, offsets: dict[int, int], *, has_bindings: bool) -> None:
        """Expand macros.

        Args:
            offsets: places of nodes; new nodes get the place of the macro.
            has_bindings: whether ``cel.bind`` is a macro.
        """
        self._offsets = offsets
        self._has_bindings = has_bindings
        self._numbers = count(max(offsets, default=0) + 1_000_000)
        self._at = 0

    def expanded(self, node: CallNode) -> Node:
        """Return the expansion of a call; the call itself if it is no macro.

        Raises:
            MacroError: the arguments do not fit the macro.
        """
        macro = _MACROS.get((node.function, len(node.arguments)))
        if macro is None or node.target is None:
            return node
        if macro is Expander.bind and not (self._has_bindings and _is_namespace(node.target)):
            return node
        self._at = self._offsets.get(node.id, 0)
        return macro(self, node.target, node.arguments)

    def _number(self) -> int:
        number = next(self._numbers)
        self._offsets[number] = self._at
        return number

    def _constant(self, value: Any) -> Node:
        return ConstantNode(self._number(), value)

    def _call(self, name: str, *arguments: Node) -> Node:
        return CallNode(self._number(), name, None, arguments)

    def _result(self) -> Node:
        return NameNode(self._number(), ACCUMULATOR)

    def _list(self, *items: Node) -> Node:
        return ListNode(self._number(), items, frozenset())

    def _loop(self, target: Node, arguments: tuple[Node, ...], *parts: Node) -> Node:
        """Return a loop with the two variables that the arguments name."""
        one, two = _variable(arguments[0]), _variable(arguments[1])
        if one == two:
            raise MacroError(arguments[1].id, f"duplicate variable name: {one}")
        for name, node in zip((one, two), arguments, strict=False):
            if name in (ACCUMULATOR, "__result__"):
                text = "iteration variable overwrites accumulator variable"
                raise MacroError(node.id, text)
        start, condition, step, result = parts
        return FoldNode(
            self._number(), one, two, target, ACCUMULATOR, start, condition, step, result
        )

    def all(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``all(i, v, condition)``."""
        start, goes_on = self._constant(True), self._call(_LAX, self._result())
        step = self._call(_AND, self._result(), arguments[2])
        return self._loop(target, arguments, start, goes_on, step, self._result())

    def exists(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``exists(i, v, condition)``."""
        start = self._constant(False)
        goes_on = self._call(_LAX, self._call("!_", self._result()))
        step = self._call(_OR, self._result(), arguments[2])
        return self._loop(target, arguments, start, goes_on, step, self._result())

    def exists_one(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``existsOne(i, v, condition)``."""
        more = self._call(_ADD, self._result(), self._constant(1))
        step = self._call(_CHOICE, arguments[2], more, self._result())
        result = self._call("_==_", self._result(), self._constant(1))
        start, goes_on = self._constant(0), self._constant(True)
        return self._loop(target, arguments, start, goes_on, step, result)

    def transform_list(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``transformList(i, v, filter, item)``."""
        step = self._call(_ADD, self._result(), self._list(arguments[-1]))
        return self._filtered(target, arguments, self._list(), step)

    def transform_map(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``transformMap(k, v, filter, value)``."""
        key = NameNode(self._number(), _variable(arguments[0]))
        step = self._call(_INSERT, self._result(), key, arguments[-1])
        return self._filtered(target, arguments, MapNode(self._number(), ()), step)

    def transform_entries(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``transformMapEntry(k, v, filter, entry)``."""
        step = self._call(_INSERT, self._result(), arguments[-1])
        return self._filtered(target, arguments, MapNode(self._number(), ()), step)

    def _filtered(self, target: Node, arguments: tuple[Node, ...], start: Node, step: Node) -> Node:
        if len(arguments) == 4:
            step = self._call(_CHOICE, arguments[2], step, self._result())
        return self._loop(target, arguments, start, self._constant(True), step, self._result())

    def sort_by(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``sortBy(e, key)``."""
        if isinstance(target, ConstantNode | MapNode):
            text = "sortBy can only be applied to a list, identifier, comprehension, call or select"
            raise MacroError(target.id, f"{text} expression")
        step = self._call(_ADD, self._result(), self._list(arguments[1]))
        keys = FoldNode(
            self._number(),
            _variable(arguments[0]),
            "",
            NameNode(self._number(), _SORTED),
            ACCUMULATOR,
            self._list(),
            self._constant(True),
            step,
            self._result(),
        )
        items = NameNode(self._number(), _SORTED)
        result = CallNode(self._number(), "@sortByAssociatedKeys", items, (keys,))
        return self._binding(_SORTED, target, result)

    def bind(self, _: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``cel.bind(name, value, expression)``."""
        name = _variable(arguments[0])
        return self._binding(name, arguments[1], arguments[2])

    def _binding(self, name: str, value: Node, result: Node) -> Node:
        """Return a loop without items, whose accumulator is a variable of its result."""
        unused = NameNode(self._number(), name)
        never, items = self._constant(False), self._list()
        return FoldNode(self._number(), "#unused", "", items, name, value, never, unused, result)


def _is_namespace(node: Node) -> bool:
    return isinstance(node, NameNode) and node.name == "cel"


def _variable(node: Node) -> str:
    if not isinstance(node, NameNode):
        raise MacroError(node.id, "argument must be a simple name")
    return node.name


_Macro = Callable[[Expander, Node, tuple[Node, ...]], Node]
_MACROS: Final[dict[tuple[str, int], _Macro]] = {
    ("all", 3): Expander.all,
    ("exists", 3): Expander.exists,
    ("existsOne", 3): Expander.exists_one,
    ("exists_one", 3): Expander.exists_one,
    ("transformList", 3): Expander.transform_list,
    ("transformList", 4): Expander.transform_list,
    ("transformMap", 3): Expander.transform_map,
    ("transformMap", 4): Expander.transform_map,
    ("transformMapEntry", 3): Expander.transform_entries,
    ("transformMapEntry", 4): Expander.transform_entries,
    ("sortBy", 2): Expander.sort_by,
    ("bind", 3): Expander.bind,
}
"""Macros by name and number of arguments."""
