"""Evaluation of checked expressions: each node becomes a function of the running evaluation."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Final

from stretto.cel.functions.texts import check_pattern
from stretto.cel.language.checking import Checked
from stretto.cel.language.environment import TYPES
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
from stretto.cel.language.types import Sort
from stretto.cel.running.budget import (
    LIST_COST,
    MAP_COST,
    STRUCT_COST,
    TRAVERSAL,
    comparison_cost,
)
from stretto.cel.running.calls import FunctionCall
from stretto.cel.running.evaluation import CelRun, Evaluator, reader
from stretto.cel.running.fields import field_of, has_field, item_of, optional_item
from stretto.cel.running.folding import folded
from stretto.cel.running.loops import Loop, LoopShape, Search
from stretto.cel.running.values import (
    TYPE_MEMBER,
    CelOptional,
    EvaluationError,
    adapted,
    contains,
    equal,
    kind_of,
    map_from,
    type_name,
)

_CHOICE: Final = "_?_:_"
_OR: Final = "_||_"
_IN: Final = "@in"
_PATTERNS: Final = ("find", "findAll")
"""Functions whose constant pattern is compiled before any evaluation."""


def planned(checked: Checked) -> Evaluator:
    """Return the evaluation of an expression."""
    return _Planner(checked).plan(checked.tree.root)


class _Planner:
    """Planner of one expression."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def plan(self, node: Node) -> Evaluator:
        constant = folded(node)
        if constant:
            value = constant[0]
            return lambda _: value
        found: Evaluator = _PLANS[type(node)](self, node)
        return found

    def _owner(self, node: Node) -> Evaluator:
        """Return the evaluation of a value whose field or item is read."""
        found = self.plan(node)
        return found if _is_attribute(node) else partial(_relative, found)

    def _key(self, node: Node) -> Evaluator:
        """Return the evaluation of a key; a variable or a part of one costs 1 less there."""
        found = self.plan(node)
        return partial(_discounted, found) if _is_attribute(node) else found

    def constant(self, node: ConstantNode) -> Evaluator:
        value = node.value
        return lambda _: value

    def name(self, node: NameNode | SelectNode) -> Evaluator:
        name = self._checked.names[node.id]
        kind = self._checked.types[node.id]
        if kind.sort is Sort.TYPE and name in TYPES:
            named = TYPES[name]
            return lambda _: named
        return reader(name)

    def select(self, node: SelectNode) -> Evaluator:
        if node.id in self._checked.names:
            return self.name(node)
        operand, name = self._owner(node.operand), node.field
        if node.tests:
            return partial(_test, operand, name)
        found = _selection(operand, name)
        is_variable = isinstance(node.operand, NameNode)
        owner = self._checked.names.get(node.operand.id) if is_variable else None
        return found if owner is None else _field_of_variable(owner, name, found)

    def call(self, node: CallNode) -> Evaluator:
        name = self._checked.functions.get(node.id, node.function)
        has_target = node.target is not None and node.id not in self._checked.functions
        parts = (node.target, *node.arguments) if has_target else node.arguments
        if name in _INDEXED:
            items, key = node.arguments
            return partial(_INDEXED[name], self._owner(items), self._key(key))
        arguments = [self.plan(each) for each in parts if each is not None]
        special = _SPECIAL.get(name)
        if name == _CHOICE:
            condition, yes, no = arguments
            return partial(_choose, _branch_discounts(node), condition, yes, no)
        if special is not None:
            return partial(special, *arguments)
        if name in _PATTERNS and folded(node.arguments[0]):
            check_pattern(folded(node.arguments[0])[0])
        if name == _IN and folded(node.arguments[1]):
            return partial(_in_constant, arguments[0], arguments[1])
        return FunctionCall(name, self._checked.forms[node.id], *arguments).run

    def list(self, node: ListNode) -> Evaluator:
        items = [self.plan(each) for each in node.items]
        return partial(_new_list, items, node.optional)

    def map(self, node: MapNode) -> Evaluator:
        entries = [
            (self.plan(each.key), self.plan(each.value), each.optional)
            for each in node.entries
            if not isinstance(each.key, str)
        ]
        return partial(_new_map, entries)

    def struct(self, node: StructNode) -> Evaluator:
        entries = [(str(each.key), self.plan(each.value), each.optional) for each in node.entries]
        return partial(_new_struct, node.name.removeprefix("."), entries)

    def fold(self, node: FoldNode) -> Evaluator:
        """Plan a loop; the macros ``all`` and ``exists`` end at a decisive item."""
        shape = LoopShape.of(node, self._checked.functions)
        if isinstance(node.condition, CallNode) and isinstance(node.step, CallNode):
            item = self.plan(node.step.arguments[1])
            decisive = node.step.function == _OR
            return Search(shape, self.plan(node.range), item, decisive=decisive).run
        parts = (node.range, node.start, node.condition, node.step, node.result)
        return Loop(shape, *map(self.plan, parts)).run


def _is_attribute(node: Node | None) -> bool:
    """True for a variable, a field or an item, and for a choice between values."""
    if isinstance(node, CallNode):
        return node.function in _INDEXED or node.function == _CHOICE
    return isinstance(node, NameNode | SelectNode)


def _relative(operand: Evaluator, run: CelRun) -> Any:
    """Evaluate a value that is no variable or part of one, before its field or item is read."""
    value = operand(run)
    run.spend(1)
    return value


def _discounted(operand: Evaluator, run: CelRun) -> Any:
    value = operand(run)
    run.spend(-1)
    return value


def _selection(operand: Evaluator, name: str) -> Evaluator:
    """Return the evaluation of a field."""

    def select(run: CelRun) -> Any:
        owner = operand(run)
        if type(owner) is dict and name in owner:
            run.spend(1)
            return owner[name]
        if isinstance(owner, CelOptional):
            return _spent(optional_item(owner, name), run)
        run.spend(1)
        return field_of(owner, name)

    return select


def _field_of_variable(owner: str, name: str, otherwise: Evaluator) -> Evaluator:
    """Return the evaluation of a field of a variable, which most selections read.

    Args:
        owner: name of the variable.
        name: name of the field.
        otherwise: the evaluation for a variable that is no object with the field.
    """

    def select(run: CelRun) -> Any:
        value = run.values.get(owner)
        if type(value) is dict and name in value:
            run.spend(2)
            return value[name]
        return otherwise(run)

    return select


def _test(operand: Evaluator, name: str, run: CelRun) -> bool:
    return has_field(operand(run), name)


# ---------------------------------------------------------------- calls


def _and(left: Evaluator, right: Evaluator, run: CelRun) -> bool:
    return _logic(left, right, False, run)


def _or(left: Evaluator, right: Evaluator, run: CelRun) -> bool:
    return _logic(left, right, True, run)


def _logic(left: Evaluator, right: Evaluator, decisive: bool, run: CelRun) -> bool:
    """Return the value of an operator that one decisive operand determines despite errors."""
    failure: EvaluationError | None = None
    for each in (left, right):
        try:
            value = each(run)
        except EvaluationError as error:
            failure = failure or error
            continue
        if not isinstance(value, bool):
            failure = failure or EvaluationError("no such overload")
        elif value is decisive:
            return value
    if failure is not None:
        raise failure
    return not decisive


def _branch_discounts(node: CallNode) -> tuple[int, int]:
    """Return the discounts of the branches: a variable or a part of one costs 1 less there."""
    _, yes, no = map(_is_attribute, node.arguments)
    return int(yes), int(no)


def _choose(
    discounts: tuple[int, int],
    condition: Evaluator,
    yes: Evaluator,
    no: Evaluator,
    run: CelRun,
) -> Any:
    """Return the value of one branch."""
    value = condition(run)
    if not isinstance(value, bool):
        raise EvaluationError("no such overload")
    found = yes(run) if value else no(run)
    run.spend(-discounts[not value])
    return adapted(found) if isinstance(found, CelOptional) else found


def _in_constant(value: Evaluator, items: Evaluator, run: CelRun) -> bool:
    return contains(items(run), value(run))


def _same(left: Evaluator, right: Evaluator, run: CelRun) -> bool:
    one, two = left(run), right(run)
    if type(one) is str and type(two) is str:
        run.spend(ceil(min(len(one), len(two)) * TRAVERSAL))
        return one == two
    run.spend(comparison_cost(one, two))
    run.budget.work.compare(one, two)
    return equal(one, two)


def _different(left: Evaluator, right: Evaluator, run: CelRun) -> bool:
    return not _same(left, right, run)


def _index(items: Evaluator, key: Evaluator, run: CelRun) -> Any:
    owner = items(run)
    if isinstance(owner, CelOptional):
        return _optional_part(owner, key, run)
    name = key(run)
    run.spend(1)
    return item_of(owner, name)


def _optional_index(items: Evaluator, key: Evaluator, run: CelRun) -> CelOptional:
    return _optional_part(items(run), key, run)


def _optional_part(owner: Any, key: Evaluator, run: CelRun) -> CelOptional:
    """Return an item, if it exists; the key of an absent value is not evaluated."""
    if isinstance(owner, CelOptional) and not owner.content:
        return owner
    return _spent(optional_item(owner, key(run)), run)


def _spent(found: CelOptional, run: CelRun) -> CelOptional:
    """Return a part that may be absent: only the access to an existing one has a cost."""
    if found.content:
        run.spend(1)
    return found


def _or_optional(left: Evaluator, right: Evaluator, run: CelRun) -> Any:
    value = left(run)
    return value if value.content else right(run)


def _or_value(left: Evaluator, right: Evaluator, run: CelRun) -> Any:
    value = left(run)
    return value.value if value.content else right(run)


_SPECIAL: Final[Mapping[str, Callable[..., Any]]] = {
    "_&&_": _and,
    _OR: _or,
    "_==_": _same,
    "_!=_": _different,
    "or": _or_optional,
    "orValue": _or_value,
}
"""Operators that do not evaluate all operands, or that accept values of all types."""
_INDEXED: Final[Mapping[str, Callable[..., Any]]] = {
    "_[_]": _index,
    "_[?_]": _optional_index,
    "_?._": _optional_index,
}
"""Operators that read an item or a field."""


# ---------------------------------------------------------------- literals


def _new_list(items: Sequence[Evaluator], optional: frozenset[int], run: CelRun) -> list[Any]:
    found: list[Any] = []
    for index, each in enumerate(items):
        value = each(run)
        if index in optional:
            found.extend(_content(value))
        else:
            found.append(value)
    run.spend(LIST_COST)
    return found


def _content(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, CelOptional):
        name = type_name(kind_of(value))
        text = "cannot initialize optional list element from non-optional value"
        raise EvaluationError(f"{text} {name}")
    return value.content


def _new_map(entries: Sequence[tuple[Evaluator, Evaluator, bool]], run: CelRun) -> dict[Any, Any]:
    pairs: list[tuple[Any, Any]] = []
    for key, value, is_optional in entries:
        name, stated = key(run), value(run)
        pairs += [(name, each) for each in (_content(stated) if is_optional else (stated,))]
    run.spend(MAP_COST)
    return map_from(pairs)


def _new_struct(
    name: str, entries: Sequence[tuple[str, Evaluator, bool]], run: CelRun
) -> dict[str, Any]:
    found: dict[str, Any] = {TYPE_MEMBER: name}
    for key, value, is_optional in entries:
        stated = value(run)
        for each in _content(stated) if is_optional else (stated,):
            found[key] = each
    run.spend(STRUCT_COST)
    return found


_PLANS: Final[Mapping[type, Any]] = {
    ConstantNode: _Planner.constant,
    NameNode: _Planner.name,
    SelectNode: _Planner.select,
    CallNode: _Planner.call,
    ListNode: _Planner.list,
    MapNode: _Planner.map,
    StructNode: _Planner.struct,
    FoldNode: _Planner.fold,
}
"""Plans by the sort of a node."""
OPERATORS: Final = frozenset((*_SPECIAL, *_INDEXED, _CHOICE, "@not_strictly_false"))
"""Operators that no function of their values evaluates; the last one is part of loops."""
