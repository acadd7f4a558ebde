"""Values of constant expressions."""

from typing import Any

from stretto.cel.functions.conversions import CONVERSIONS
from stretto.cel.language.nodes import CallNode, ConstantNode, ListNode, MapNode, Node
from stretto.cel.language.signatures import declared_functions
from stretto.cel.running.calls import fits
from stretto.cel.running.values import EvaluationError, map_from


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
    if not any(fits(form.arguments[0], value) for form in declared_functions()[name]):
        raise EvaluationError("no such overload")
    return CONVERSIONS[name](value)
