"""Evaluation of comprehensions."""

from collections.abc import Mapping
from typing import Any

from stretto.cel.language.nodes import FoldNode
from stretto.cel.running.evaluation import CelRun, Deferred, Evaluator, settled
from stretto.cel.running.values import (
    TYPE_MEMBER,
    EvaluationError,
    ReferenceKey,
    growing,
    grown,
    kind_of,
    type_name,
)


class Loop:
    """A comprehension."""

    def __init__(
        self,
        node: FoldNode,
        items: Evaluator,
        start: Evaluator,
        condition: Evaluator,
        *ends: Evaluator,
    ) -> None:
        """Create a loop.

        Args:
            node: the comprehension.
            items: evaluation of the items.
            start: evaluation of the first value of the accumulator.
            condition: evaluation of the condition to go on.
            ends: evaluations of the next value of the accumulator, and of the result.
        """
        self._node = node
        self._items, self._start, self._condition = items, start, condition
        self._step, self._result = ends

    def run(self, run: CelRun) -> Any:
        """Evaluate the loop; the start of one without items is evaluated when it is read."""
        node = self._node
        items = self._pairs(self._items(run))
        inner = CelRun(run.values, run.budget)
        values = inner.values
        values[node.accumulator] = (
            growing(settled(self._start, run)) if items else Deferred(self._start, run)
        )
        for key, value in items:
            values[node.variable] = key
            if node.second:
                values[node.second] = value
            if self._condition(inner) is False:
                break
            values[node.accumulator] = settled(self._step, inner)
        return grown(self._result(inner))

    def _pairs(self, items: Any) -> list[tuple[Any, Any]]:
        if isinstance(items, Mapping):
            return [(_key(key), each) for key, each in items.items() if key != TYPE_MEMBER]
        if not isinstance(items, list | tuple):
            name = type_name(kind_of(items))
            raise EvaluationError(f"got '{name}', expected iterable type")
        if self._node.second:
            return list(enumerate(items))
        return [(each, each) for each in items]


def _key(key: Any) -> Any:
    return key.value if isinstance(key, ReferenceKey) else key
