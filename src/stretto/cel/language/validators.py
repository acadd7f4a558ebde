"""Checks of the literals in a checked expression: times, durations, patterns, mixed types.

The checks are those of ``cel/validator.go`` in cel-go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stretto.cel.functions.conversions import to_duration, to_time
from stretto.cel.functions.templates import template_problem
from stretto.cel.functions.texts import check_pattern
from stretto.cel.language.checking import Checked
from stretto.cel.language.nodes import (
    CallNode,
    ConstantNode,
    ListNode,
    MapNode,
    Node,
    children,
)
from stretto.cel.language.problems import Problem
from stretto.cel.language.types import CelType, unwrapped
from stretto.cel.running.values import EvaluationError

_LITERALS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "duration": to_duration,
    "timestamp": to_time,
    "matches": check_pattern,
}
"""Functions whose first argument is checked if it is a literal."""


def literal_problems(checked: Checked) -> Iterator[Problem]:
    """Yield the problems of the literals in an expression without other problems."""
    for place, text in _found(checked.tree.root, checked.types, is_template=False):
        yield Problem(checked.tree.offsets.get(place, 0), text)


def _found(
    node: Node, types: Mapping[int, CelType], *, is_template: bool
) -> Iterator[tuple[int, str]]:
    """Yield the nodes with problems and the problems.

    Args:
        node: the expression.
        types: types of the nodes.
        is_template: whether the expression is below a call of ``format``, where types may differ.
    """
    if isinstance(node, CallNode):
        yield from _argument(node)
        yield from _template(node, types)
        is_template = is_template or node.function == "format"
    elif isinstance(node, ListNode) and not is_template:
        yield from _mixed_items(node, types)
    elif isinstance(node, MapNode) and not is_template:
        yield from _mixed_entries(node, types)
    for each in children(node):
        yield from _found(each, types, is_template=is_template)


def _template(node: CallNode, types: Mapping[int, CelType]) -> Iterator[tuple[int, str]]:
    if node.function != "format" or len(node.arguments) != 1:
        return
    template, values = node.target, node.arguments[0]
    if not isinstance(template, ConstantNode) or not isinstance(values, ListNode):
        return
    problem, index = template_problem(template.value, [types[each.id] for each in values.items])
    if problem:
        yield node.id if index < 0 else values.items[index].id, problem


def _argument(node: CallNode) -> Iterator[tuple[int, str]]:
    check = _LITERALS.get(node.function)
    literal = node.arguments[0] if node.arguments else None
    if check is None or not isinstance(literal, ConstantNode):
        return
    try:
        check(literal.value)
    except EvaluationError:
        yield literal.id, f"invalid {node.function} argument"


def _mixed_items(node: ListNode, types: Mapping[int, CelType]) -> Iterator[tuple[int, str]]:
    first: CelType | None = None
    for index, each in enumerate(node.items):
        kind = types[each.id]
        if index in node.optional:
            kind = unwrapped(kind)[0]
        if first is not None and kind != first:
            yield each.id, f"expected type '{first}' but found '{kind}'"
            return
        first = kind


def _mixed_entries(node: MapNode, types: Mapping[int, CelType]) -> Iterator[tuple[int, str]]:
    first: tuple[CelType, CelType] | None = None
    for entry in node.entries:
        assert not isinstance(entry.key, str)  # maps have expressions as keys
        value = types[entry.value.id]
        kinds = types[entry.key.id], unwrapped(value)[0] if entry.optional else value
        first = first or kinds
        places = entry.key.id, entry.value.id
        for place, wanted, found in zip(places, first, kinds, strict=True):
            if wanted != found:
                yield place, f"expected type '{wanted}' but found '{found}'"
