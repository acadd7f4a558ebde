"""Evaluation of checked expressions: each node becomes a function of the running evaluation."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from stretto.cel.functions.conversions import CONVERSIONS
from stretto.cel.functions.table import IMPLEMENTATIONS
from stretto.cel.functions.texts import compiled_pattern
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
from stretto.cel.language.signatures import FunctionForm, declared_functions
from stretto.cel.language.types import DYN, CelType, Sort
from stretto.cel.running.budget import (
    LIST_COST,
    MAP_COST,
    STRUCT_COST,
    Budget,
    CallCost,
    call_cost,
    comparison_cost,
)
from stretto.cel.running.fields import field_of, has_field, item_of, optional_item
from stretto.cel.running.values import (
    SCALARS,
    TYPE_MEMBER,
    CelOptional,
    EvaluationError,
    contains,
    equal,
    growing,
    grown,
    kind_of,
    map_from,
    type_name,
)

_CHOICE: Final = "_?_:_"
_LAX: Final = "@not_strictly_false"
_IN: Final = "@in"
_PATTERNS: Final = ("find", "findAll")
"""Functions whose constant pattern is compiled before any evaluation."""


class CelRun:
    """One evaluation: the values of its variables, and its budget."""

    def __init__(self, values: Mapping[str, Any], budget: Budget) -> None:
        """Begin an evaluation.

        Args:
            values: values of the variables.
            budget: the limit of its cost.
        """
        self.values = dict(values)
        self.budget = budget


Evaluator = Callable[[CelRun], Any]
"""The evaluation of a node."""


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

    def constant(self, node: ConstantNode) -> Evaluator:
        value = node.value
        return lambda _: value

    def name(self, node: NameNode | SelectNode) -> Evaluator:
        name = self._checked.names[node.id]
        kind = self._checked.types[node.id]
        if kind.sort is Sort.TYPE and name in TYPES:
            named = TYPES[name]
            return lambda _: named
        return partial(_read, name)

    def select(self, node: SelectNode) -> Evaluator:
        if node.id in self._checked.names:
            return self.name(node)
        operand, name = self._owner(node.operand), node.field
        if node.tests:
            return partial(_test, operand, name)

        def select(run: CelRun) -> Any:
            owner = operand(run)
            run.budget.spend(1)
            return field_of(owner, name)

        return select

    def call(self, node: CallNode) -> Evaluator:
        name = self._checked.functions.get(node.id, node.function)
        has_target = node.target is not None and node.id not in self._checked.functions
        parts = (node.target, *node.arguments) if has_target else node.arguments
        if name in _INDEXED:
            items, key = node.arguments
            return partial(_INDEXED[name], self._owner(items), self.plan(key))
        arguments = [self.plan(each) for each in parts if each is not None]
        special = _SPECIAL.get(name)
        if name == _CHOICE:
            condition, yes, no = arguments
            return partial(_choose, _branch_discounts(node), condition, yes, no)
        if special is not None:
            return partial(special, *arguments)
        if name in _PATTERNS and folded(node.arguments[0]):
            compiled_pattern(folded(node.arguments[0])[0])
        if name == _IN and folded(node.arguments[1]):
            return partial(_in_constant, arguments[0], arguments[1])
        return _Call(name, self._checked.forms[node.id], *arguments).run

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
        parts = (node.range, node.start, node.condition, node.step, node.result)
        return _Loop(node, *map(self.plan, parts)).run


def folded(node: Node) -> tuple[Any, ...]:
    """Return the value of a constant expression; nothing for others.

    Raises:
        EvaluationError: the conversion of a constant fails.
    """
    if isinstance(node, ConstantNode):
        return (node.value,)
    if isinstance(node, ListNode) and not node.optional:
        items = [folded(each) for each in node.items]
        return ([each[0] for each in items],) if all(items) else ()
    if isinstance(node, MapNode) and not any(each.optional for each in node.entries):
        pairs = [
            (folded(each.key), folded(each.value))
            for each in node.entries
            if not isinstance(each.key, str)
        ]
        return (map_from((key[0], each[0]) for key, each in pairs),) if all(map(all, pairs)) else ()
    if isinstance(node, CallNode) and node.function in CONVERSIONS and len(node.arguments) == 1:
        inner = folded(node.arguments[0])
        return (_converted(node.function, inner[0]),) if inner else ()
    return ()


def _converted(name: str, value: Any) -> Any:
    """Return a converted constant of a type that the checker does not know, such as ``dyn(1)``."""
    if not any(_fits(form.arguments[0], value) for form in declared_functions()[name]):
        raise EvaluationError("no such overload")
    return CONVERSIONS[name](value)


def _is_attribute(node: Node | None) -> bool:
    """True for a variable, a field or an item, and for a choice between values."""
    if isinstance(node, CallNode):
        return node.function in _INDEXED or node.function == _CHOICE
    return isinstance(node, NameNode | SelectNode)


def _read(name: str, run: CelRun) -> Any:
    run.budget.spend(1)
    try:
        value = run.values[name]
    except KeyError as error:
        raise EvaluationError(f"no such attribute(s): {name}") from error
    if isinstance(value, EvaluationError):
        raise value
    return value


def _relative(operand: Evaluator, run: CelRun) -> Any:
    """Evaluate a value that is no variable or part of one, before its field or item is read."""
    value = operand(run)
    run.budget.spend(1)
    return value


def _test(operand: Evaluator, name: str, run: CelRun) -> bool:
    return has_field(operand(run), name)


# ---------------------------------------------------------------- calls


class _Call:
    """A call of a function of the values of its arguments."""

    def __init__(self, name: str, forms: Sequence[FunctionForm], *arguments: Evaluator) -> None:
        self._name = name
        self._implementation = IMPLEMENTATIONS[name]
        self._forms = forms
        self._arguments = arguments
        self._costs: dict[tuple[type, ...], CallCost | None] = {}

    def run(self, run: CelRun) -> Any:
        """Evaluate the call."""
        values = [each(run) for each in self._arguments]
        cost = self._cost(values)
        result = self._implementation(*values)
        run.budget.build(result)
        run.budget.spend(1 if cost is None else cost(values, result))
        return result

    def _cost(self, values: Sequence[Any]) -> CallCost | None:
        """Return the cost of the form that values fit; scalars of the same types fit the same."""
        kinds = tuple(map(type, values))
        if kinds in self._costs:
            return self._costs[kinds]
        found = call_cost(self._name, self._form(values).id)
        if SCALARS.issuperset(kinds):
            self._costs[kinds] = found
        return found

    def _form(self, values: Sequence[Any]) -> FunctionForm:
        for form in self._forms:
            if all(map(_fits, form.arguments, values)):
                return form
        raise EvaluationError("no such overload")


def _fits(wanted: CelType, value: Any) -> bool:
    if wanted == DYN or wanted.sort is Sort.PARAMETER:
        return True
    found = kind_of(value)
    return wanted.name == found.name and (wanted.sort is not Sort.LIST or _holds(wanted, value))


def _holds(wanted: CelType, items: Sequence[Any]) -> bool:
    """True if the first item of a list has the type of items that a form requires."""
    return not items or _fits(wanted.parameters[0], items[0])


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
    run.budget.spend(-discounts[not value])
    return found


def _in_constant(value: Evaluator, items: Evaluator, run: CelRun) -> bool:
    return contains(items(run), value(run))


def _lax(operand: Evaluator, run: CelRun) -> bool:
    try:
        value = operand(run)
    except EvaluationError:
        value = True
    run.budget.spend(1)
    return value is not False


def _same(left: Evaluator, right: Evaluator, run: CelRun) -> bool:
    values = left(run), right(run)
    run.budget.spend(comparison_cost(*values))
    return equal(*values)


def _different(left: Evaluator, right: Evaluator, run: CelRun) -> bool:
    return not _same(left, right, run)


def _index(items: Evaluator, key: Evaluator, run: CelRun) -> Any:
    values = items(run), key(run)
    run.budget.spend(1)
    return item_of(*values)


def _optional_index(items: Evaluator, key: Evaluator, run: CelRun) -> CelOptional:
    values = items(run), key(run)
    run.budget.spend(1)
    return optional_item(*values)


def _or_optional(left: Evaluator, right: Evaluator, run: CelRun) -> Any:
    value = left(run)
    return value if value.content else right(run)


def _or_value(left: Evaluator, right: Evaluator, run: CelRun) -> Any:
    value = left(run)
    return value.content[0] if value.content else right(run)


_SPECIAL: Final[Mapping[str, Callable[..., Any]]] = {
    "_&&_": _and,
    "_||_": _or,
    _LAX: _lax,
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
    run.budget.spend(LIST_COST)
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
    run.budget.spend(MAP_COST)
    return map_from(pairs)


def _new_struct(
    name: str, entries: Sequence[tuple[str, Evaluator, bool]], run: CelRun
) -> dict[str, Any]:
    found: dict[str, Any] = {TYPE_MEMBER: name}
    for key, value, is_optional in entries:
        stated = value(run)
        for each in _content(stated) if is_optional else (stated,):
            found[key] = each
    run.budget.spend(STRUCT_COST)
    return found


# ---------------------------------------------------------------- loops


class _Loop:
    """A comprehension."""

    def __init__(
        self,
        node: FoldNode,
        items: Evaluator,
        start: Evaluator,
        condition: Evaluator,
        *ends: Evaluator,
    ) -> None:
        self._node = node
        self._items, self._start, self._condition = items, start, condition
        self._step, self._result = ends

    def run(self, run: CelRun) -> Any:
        """Evaluate the loop."""
        node = self._node
        items = self._pairs(self._items(run))
        inner = CelRun(run.values, run.budget)
        values = inner.values
        values[node.accumulator] = growing(self._settled(self._start, run))
        for key, value in items:
            values[node.variable] = key
            if node.second:
                values[node.second] = value
            if self._condition(inner) is False:
                break
            values[node.accumulator] = self._settled(self._step, inner)
        return grown(self._result(inner))

    def _settled(self, evaluator: Evaluator, run: CelRun) -> Any:
        """Return the next value of the accumulator, which may be an error."""
        try:
            value = evaluator(run)
        except EvaluationError as error:
            return error
        return value

    def _pairs(self, items: Any) -> list[tuple[Any, Any]]:
        if isinstance(items, Mapping):
            return [(key, each) for key, each in items.items() if key != TYPE_MEMBER]
        if not isinstance(items, list | tuple):
            name = type_name(kind_of(items))
            raise EvaluationError(f"got '{name}', expected iterable type")
        if self._node.second:
            return list(enumerate(items))
        return [(each, each) for each in items]


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
OPERATORS: Final = frozenset((*_SPECIAL, *_INDEXED, _CHOICE))
"""Operators that are evaluated here and not by a function of their values."""
