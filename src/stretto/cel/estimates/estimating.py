"""Estimates of the cost of checked expressions, as ``checker/cost.go`` in cel-go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stretto.cel.estimates.calls import CallEstimate, estimated_call
from stretto.cel.estimates.operands import Entries, Limit, Operand, Path, limited
from stretto.cel.estimates.ranges import MOST, NONE, ONE, UNKNOWN, Range, fixed
from stretto.cel.estimates.standard import standard_call
from stretto.cel.language.checking import Checked
from stretto.cel.language.macros import ACCUMULATOR
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
from stretto.cel.language.types import CelType, Sort, is_scalar
from stretto.cel.running.budget import LIST_COST, MAP_COST, STRUCT_COST

_FIELDS: Final = (Sort.MAP, Sort.STRUCT, Sort.PARAMETER)
_ITEMS: Final = "@items"
_VALUES: Final = "@values"
_KEYS: Final = "@keys"
_INDICES: Final = "@indices"
_CHOICE: Final = "_?_:_"
_CONDITIONAL: Final = ("_&&_", "_||_", _CHOICE)
"""Operators that do not evaluate all of their arguments; their forms contain the costs of these."""
_ADDED: Final = ("add_string", "add_bytes", "add_list")


@dataclass(frozen=True)
class _Local:
    """A variable of a loop."""

    path: Path
    size: Range | None
    entries: Entries | None


def estimate(checked: Checked, limit: Limit) -> int:
    """Return the maximum cost of an expression.

    Args:
        checked: the expression, without problems.
        limit: the limits of the sizes of values.
    """
    return _Coster(checked, limit).cost(checked.tree.root).high


class _Coster:
    """Estimator of one expression."""

    def __init__(self, checked: Checked, limit: Limit) -> None:
        self._checked = checked
        self._limit = limit
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, Entries] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Node) -> Range:
        found: Range = _COSTS[type(node)](self, node)
        return found

    # ------------------------------------------------------------ sizes

    def _kind(self, node: Node) -> CelType:
        return self._checked.types[node.id]

    def _local(self, node: Node) -> _Local | None:
        stack = self._locals.get(node.name) if isinstance(node, NameNode) else None
        return stack[-1] if stack else None

    def _path(self, node: Node) -> Path:
        local = self._local(node)
        return local.path if local is not None else self._paths.get(node.id, ())

    def _size(self, node: Node) -> Range | None:
        if node.id in self._sizes:
            return self._sizes[node.id]
        literal = _literal_size(node)
        if literal is not None:
            return fixed(literal)
        stated = limited(self._limit, self._path(node))
        if stated is not None:
            self._sizes[node.id] = stated
            return stated
        if is_scalar(self._kind(node)):
            return ONE
        local = self._local(node)
        return None if local is None else local.size

    def _size_or_unknown(self, node: Node) -> Range:
        found = self._size(node)
        return UNKNOWN if found is None else found

    def _entry_sizes(self, node: Node) -> Entries | None:
        if node.id in self._entries:
            return self._entries[node.id]
        local = self._local(node)
        return None if local is None else local.entries

    def _set(self, node: Node, size: Range | None, entries: Entries | None = None) -> None:
        if size is not None:
            self._sizes[node.id] = size
        if entries is not None:
            self._entries[node.id] = entries

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        shown = () if path[:1] == (ACCUMULATOR,) else path
        return Operand(node, self._kind(node), shown, self._size(node), self._limit)

    # ------------------------------------------------------------ nodes

    def constant(self, _: ConstantNode) -> Range:
        return NONE

    def name(self, node: NameNode) -> Range:
        local = self._local(node)
        name = self._checked.names.get(node.id, node.name)
        self._paths[node.id] = (name,) if local is None else local.path
        return ONE

    def select(self, node: SelectNode) -> Range:
        if node.id in self._checked.names:
            self._paths[node.id] = (self._checked.names[node.id],)
            return ONE
        cost = self.cost(node.operand)
        if node.tests:
            return cost
        if self._kind(node.operand).sort in _FIELDS:
            cost = cost.plus(ONE)
        self._paths[node.id] = (*self._path(node.operand), node.field)
        return cost

    def call(self, node: CallNode) -> Range:
        if node.function == "dyn":
            (argument,) = node.arguments
            cost = ONE.plus(self.cost(argument))
            self._set(node, self._size(argument), self._entry_sizes(argument))
            return cost
        costs = [self.cost(each) for each in node.arguments]
        operands = [self._operand(each) for each in node.arguments]
        name = self._checked.functions.get(node.id, node.function)
        has_all = name in _CONDITIONAL
        inner = NONE
        for each in costs:
            inner = inner.plus(each)
        total, target = NONE, None
        if node.target is not None and node.id not in self._checked.functions:
            total = self.cost(node.target)
            target = self._operand(node.target)
        range_, size = Range(MOST, 0), None
        for form in self._checked.forms[node.id]:
            found = self._form_cost(node, (name, form.id), target, operands, costs)
            range_ = range_.union(found.cost if has_all else found.cost.plus(inner))
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            if form.id in ("index_list", "index_map"):
                size = self._indexed(node, form.id)
            if size is None:
                size = self._size(node)
        self._set(node, size)
        return total.plus(range_)

    def _indexed(self, node: CallNode, form: str) -> Range | None:
        """Note the path of an item, and return its size."""
        items = node.arguments[0]
        step = _ITEMS if form == "index_list" else _VALUES
        self._paths[node.id] = (*self._path(items), step)
        entries = self._entry_sizes(items)
        return None if entries is None else entries.value

    def _form_cost(
        self,
        node: CallNode,
        names: tuple[str, str],
        target: Operand | None,
        operands: Sequence[Operand],
        costs: Sequence[Range],
    ) -> CallEstimate:
        found = estimated_call(*names, target, operands)
        if found is not None:
            return found
        if names[0] == _CHOICE:
            self._join_entries(node, node.arguments[1], node.arguments[2])
        elif names[1] in _ADDED:
            self._join_entries(node, *node.arguments)
        return standard_call(names[1], target, operands, costs)

    def _join_entries(self, node: Node, one: Node, two: Node) -> None:
        first, second = self._entry_sizes(one), self._entry_sizes(two)
        self._set(node, None, None if first is None else first.union(second))

    def list(self, node: ListNode) -> Range:
        total, size = fixed(LIST_COST), Range(MOST if node.items else 0, 0)
        for each in node.items:
            total = total.plus(self.cost(each))
            size = size.union(self._size_or_unknown(each))
        self._set(node, None, Entries(True, ONE, size))
        return total

    def map(self, node: MapNode) -> Range:
        total = fixed(MAP_COST)
        key = value = Range(MOST if node.entries else 0, 0)
        for entry in node.entries:
            assert not isinstance(entry.key, str)  # maps have expressions as keys
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self._size_or_unknown(entry.key))
            value = value.union(self._size_or_unknown(entry.value))
        self._set(node, None, Entries(False, key, value))
        return total

    def struct(self, node: StructNode) -> Range:
        total = fixed(STRUCT_COST)
        for entry in node.entries:
            total = total.plus(self.cost(entry.value))
        return total

    # ------------------------------------------------------------ loops

    def fold(self, node: FoldNode) -> Range:
        total = self.cost(node.range).plus(self.cost(node.start))
        start = node.start
        accumulator = _Local(self._path(start), self._size(start), self._entry_sizes(start))
        self._push(node.accumulator, accumulator)
        if _is_binding(node):
            total = total.plus(self.cost(node.result))
            self._locals[node.accumulator].pop()
            self._set(node, self._size(node.result), self._entry_sizes(node.result))
            return total
        variables = self._variables(node)
        for name, local in variables.items():
            self._push(name, local)
        each = self.cost(node.condition)
        each = self.cost(node.step).plus(each)
        for name in variables:
            self._locals[name].pop()
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        count = self._size_or_unknown(node.range)
        if isinstance(start, ConstantNode):
            self._set(node, self._size(start))
        elif isinstance(start, ListNode | MapNode):
            self._set(node, count, self._entry_sizes(node.step))
        return total.plus(count.times(each))

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _variables(self, node: FoldNode) -> Mapping[str, _Local]:
        entries, path = self._entry_sizes(node.range), self._path(node.range)
        is_list = self._kind(node.range).sort is Sort.LIST if entries is None else entries.is_list
        key = None if entries is None else entries.key
        value = None if entries is None else entries.value
        items = _Local((*path, _ITEMS if is_list else _VALUES), value, None)
        keys = _Local((*path, _INDICES if is_list else _KEYS), key, None)
        if node.second:
            return {node.variable: keys, node.second: items}
        return {node.variable: items if is_list else keys}


def _is_binding(node: FoldNode) -> bool:
    is_empty = isinstance(node.range, ListNode) and not node.range.items
    never = isinstance(node.condition, ConstantNode) and node.condition.value is False
    return is_empty and never


def _literal_size(node: Node) -> int | None:
    if isinstance(node, ConstantNode):
        return len(node.value) if isinstance(node.value, str | bytes) else 1
    if isinstance(node, ListNode):
        return len(node.items)
    return len(node.entries) if isinstance(node, MapNode) else None


_COSTS: Final[Mapping[type, Any]] = {
    ConstantNode: _Coster.constant,
    NameNode: _Coster.name,
    SelectNode: _Coster.select,
    CallNode: _Coster.call,
    ListNode: _Coster.list,
    MapNode: _Coster.map,
    StructNode: _Coster.struct,
    FoldNode: _Coster.fold,
}
"""Costs by the sort of a node."""
