"""Macros: calls that the parser replaces by loops, by tests of presence or by other calls.

The expansions are those of ``parser/macro.go``, ``cel/library.go``, ``ext/comprehensions.go``,
``ext/lists.go`` and ``ext/bindings.go`` in cel-go.
"""

from collections.abc import Callable
from typing import Any, Final

from stretto.cel.language.nodes import (
    CallNode,
    ConstantNode,
    FoldNode,
    ListNode,
    MapNode,
    NameNode,
    Node,
    SelectNode,
    StructNode,
)
from stretto.cel.language.places import Places

ACCUMULATOR: Final = "@result"
"""Name of the accumulator of a macro; no expression can contain it."""
_SORTED: Final = "@__sortBy_input__"
_AND: Final = "_&&_"
_OR: Final = "_||_"
_ADD: Final = "_+_"
_CHOICE: Final = "_?_:_"
_INSERT: Final = "cel.@mapInsert"
_LAX: Final = "@not_strictly_false"
_SIMPLE: Final = "argument must be a simple name"
_IDENTIFIER: Final = "argument is not an identifier"
_Parts = tuple[Node, Node, Node, Node]


class MacroError(Exception):
    """The arguments of a macro are not those that it requires."""

    def __init__(self, node: int, text: str) -> None:
        super().__init__(text)
        #: Identifier of the node at fault.
        self.node = node


class Expander:
    """Expander of the macros in one expression."""

    def __init__(self, places: Places, *, has_bindings: bool) -> None:
        """Expand macros.

        Args:
            places: places of nodes; new nodes get the place of the macro.
            has_bindings: whether ``cel.bind`` is a macro.
        """
        self._places = places
        self._has_bindings = has_bindings
        self._at = 0

    def expanded(self, node: CallNode) -> Node:
        """Return the expansion of a call; the call itself if it is no macro.

        Raises:
            MacroError: the arguments do not fit the macro.
        """
        self._at = self._places.offsets[node.id]
        target, arguments = node.target, node.arguments
        if target is None:
            is_test = node.function == "has" and len(arguments) == 1
            return self._presence(arguments[0]) if is_test else node
        macro = _MACROS.get((node.function, len(arguments)))
        if macro is Expander.bind and not (self._has_bindings and _is_namespace(target)):
            return node
        return node if macro is None else macro(self, target, arguments)

    def _number(self) -> int:
        return self._places.new(self._at)

    def _constant(self, value: Any) -> Node:
        return ConstantNode(self._number(), value)

    def _call(self, name: str, *arguments: Node) -> Node:
        return CallNode(self._number(), name, None, arguments)

    def _member(self, target: Node, name: str) -> Node:
        return CallNode(self._number(), name, target, ())

    def _result(self) -> Node:
        return NameNode(self._number(), ACCUMULATOR)

    def _list(self, *items: Node) -> Node:
        return ListNode(self._number(), items, frozenset())

    def _presence(self, argument: Node) -> Node:
        """Expand ``has(value.field)``."""
        if not isinstance(argument, SelectNode):
            raise MacroError(argument.id, "invalid argument to has() macro")
        return SelectNode(self._number(), argument.operand, argument.field, True)

    def _loop(
        self, target: Node, variables: tuple[Node, ...], parts: _Parts, name: str = _SIMPLE
    ) -> Node:
        """Return a loop.

        Args:
            target: the list or map.
            variables: the one or two arguments that name the variables.
            parts: the first value of the accumulator, the condition, the step and the result.
            name: problem of an argument that is no name.
        """
        names = [_variable(each, name) for each in variables]
        if len(names) == 2 and names[0] == names[1]:
            raise MacroError(variables[1].id, f"duplicate variable name: {names[0]}")
        for each, node in zip(names, variables, strict=True):
            if each == "__result__":
                text = "iteration variable overwrites accumulator variable"
                raise MacroError(node.id, text)
        one, two = (*names, "")[:2]
        start, condition, step, result = parts
        return FoldNode(
            self._number(), one, two, target, ACCUMULATOR, start, condition, step, result
        )

    def all(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``all(v, condition)`` and ``all(i, v, condition)``."""
        start, goes_on = self._constant(True), self._call(_LAX, self._result())
        step = self._call(_AND, self._result(), arguments[-1])
        return self._loop(target, arguments[:-1], (start, goes_on, step, self._result()))

    def exists(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``exists(v, condition)`` and ``exists(i, v, condition)``."""
        start = self._constant(False)
        goes_on = self._call(_LAX, self._call("!_", self._result()))
        step = self._call(_OR, self._result(), arguments[-1])
        return self._loop(target, arguments[:-1], (start, goes_on, step, self._result()))

    def exists_one(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``exists_one(v, condition)`` and ``existsOne(i, v, condition)``."""
        more = self._call(_ADD, self._result(), self._constant(1))
        step = self._call(_CHOICE, arguments[-1], more, self._result())
        result = self._call("_==_", self._result(), self._constant(1))
        start, goes_on = self._constant(0), self._constant(True)
        return self._loop(target, arguments[:-1], (start, goes_on, step, result))

    def map(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``map(v, item)`` and ``map(v, filter, item)``."""
        step = self._call(_ADD, self._result(), self._list(arguments[-1]))
        condition = arguments[1] if len(arguments) == 3 else None
        parts = self._collection(self._list(), step, condition)
        return self._loop(target, arguments[:1], parts, _IDENTIFIER)

    def filter(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``filter(v, condition)``."""
        step = self._call(_ADD, self._result(), self._list(arguments[0]))
        parts = self._collection(self._list(), step, arguments[1])
        return self._loop(target, arguments[:1], parts, _IDENTIFIER)

    def transform_list(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``transformList(i, v, filter, item)``."""
        step = self._call(_ADD, self._result(), self._list(arguments[-1]))
        return self._transformed(target, arguments, self._list(), step)

    def transform_map(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``transformMap(k, v, filter, value)``."""
        key = NameNode(self._number(), _variable(arguments[0]))
        step = self._call(_INSERT, self._result(), key, arguments[-1])
        return self._transformed(target, arguments, MapNode(self._number(), ()), step)

    def transform_entries(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``transformMapEntry(k, v, filter, entry)``."""
        step = self._call(_INSERT, self._result(), arguments[-1])
        return self._transformed(target, arguments, MapNode(self._number(), ()), step)

    def _transformed(
        self, target: Node, arguments: tuple[Node, ...], start: Node, step: Node
    ) -> Node:
        condition = arguments[2] if len(arguments) == 4 else None
        return self._loop(target, arguments[:2], self._collection(start, step, condition))

    def _collection(self, start: Node, step: Node, condition: Node | None) -> _Parts:
        """Return the parts of a loop that adds the items for which a condition is true."""
        if condition is not None:
            step = self._call(_CHOICE, condition, step, self._result())
        return start, self._constant(True), step, self._result()

    def sort_by(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``sortBy(e, key)``."""
        if isinstance(target, ConstantNode | MapNode | StructNode):
            text = "sortBy can only be applied to a list, identifier, comprehension, call or select"
            raise MacroError(target.id, f"{text} expression")
        keys = self.map(NameNode(self._number(), _SORTED), arguments)
        items = NameNode(self._number(), _SORTED)
        result = CallNode(self._number(), "@sortByAssociatedKeys", items, (keys,))
        return self._binding(_SORTED, target, result)

    def bind(self, _: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``cel.bind(name, value, expression)``."""
        name = _variable(arguments[0], "cel.bind() variable names must be simple identifiers")
        return self._binding(name, arguments[1], arguments[2])

    def _binding(self, name: str, value: Node, result: Node) -> Node:
        """Return a loop without items, whose accumulator is a variable of its result."""
        unused = NameNode(self._number(), name)
        never, items = self._constant(False), self._list()
        return FoldNode(self._number(), "#unused", "", items, name, value, never, unused, result)

    def map_optional(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``optMap(v, value)``."""
        value = self._call("optional.of", self._bound("optMap", target, arguments))
        return self._if_present(target, value)

    def flat_map_optional(self, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Expand ``optFlatMap(v, optional)``."""
        return self._if_present(target, self._bound("optFlatMap", target, arguments))

    def _bound(self, macro: str, target: Node, arguments: tuple[Node, ...]) -> Node:
        """Return an argument whose variable has the value of an optional value."""
        name = _variable(arguments[0], f"{macro}() variable name must be a simple identifier")
        value = self._member(self._places.copied(target), "value")
        return self._binding(name, value, arguments[1])

    def _if_present(self, target: Node, value: Node) -> Node:
        present, absent = self._member(target, "hasValue"), self._call("optional.none")
        return self._call(_CHOICE, present, value, absent)


def _is_namespace(node: Node) -> bool:
    return isinstance(node, NameNode) and node.name == "cel"


def _variable(node: Node, problem: str = _SIMPLE) -> str:
    if not isinstance(node, NameNode):
        raise MacroError(node.id, problem)
    return node.name


_Macro = Callable[[Expander, Node, tuple[Node, ...]], Node]
_MACROS: Final[dict[tuple[str, int], _Macro]] = {
    ("all", 2): Expander.all,
    ("all", 3): Expander.all,
    ("exists", 2): Expander.exists,
    ("exists", 3): Expander.exists,
    ("existsOne", 3): Expander.exists_one,
    ("exists_one", 2): Expander.exists_one,
    ("exists_one", 3): Expander.exists_one,
    ("map", 2): Expander.map,
    ("map", 3): Expander.map,
    ("filter", 2): Expander.filter,
    ("transformList", 3): Expander.transform_list,
    ("transformList", 4): Expander.transform_list,
    ("transformMap", 3): Expander.transform_map,
    ("transformMap", 4): Expander.transform_map,
    ("transformMapEntry", 3): Expander.transform_entries,
    ("transformMapEntry", 4): Expander.transform_entries,
    ("sortBy", 2): Expander.sort_by,
    ("bind", 3): Expander.bind,
    ("optMap", 2): Expander.map_optional,
    ("optFlatMap", 2): Expander.flat_map_optional,
}
"""Macros with a receiver by name and number of arguments."""
