"""Evaluation of comprehensions."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

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
from stretto.cel.running.work import item_work


class LoopShape(NamedTuple):
    """A comprehension and the work of each of its items."""

    #: The comprehension.
    node: FoldNode
    #: Work of an item.
    work: int

    @classmethod
    def of(cls, node: FoldNode, functions: Mapping[int, str]) -> "LoopShape":
        """Return the shape of a comprehension.

        Args:
            node: the comprehension.
            functions: names of functions in namespaces by the number of their nodes.
        """
        return cls(node, item_work(node, functions))


class Loop:
    """A comprehension."""

    def __init__(
        self,
        shape: LoopShape,
        items: Evaluator,
        start: Evaluator,
        condition: Evaluator,
        *ends: Evaluator,
    ) -> None:
        """Create a loop.

        Args:
            shape: the comprehension.
            items: evaluation of the items.
            start: evaluation of the first value of the accumulator.
            condition: evaluation of the condition to go on.
            ends: evaluations of the next value of the accumulator, and of the result.
        """
        self._node, self._work = shape
        self._items, self._start, self._condition = items, start, condition
        self._step, self._result = ends

    def run(self, run: CelRun) -> Any:
        """Evaluate the loop; the start of one without items is evaluated when it is read."""
        node = self._node
        items = _pairs(self._items(run), node)
        inner = CelRun(run.values, run.budget)
        values = inner.values
        values[node.accumulator] = (
            growing(settled(self._start, run)) if items else Deferred(self._start, run)
        )
        for key, value in items:
            run.budget.work.spend(self._work)
            values[node.variable] = key
            if node.second:
                values[node.second] = value
            if self._condition(inner) is False:
                break
            values[node.accumulator] = settled(self._step, inner)
        return grown(self._result(inner))


class Search:
    """A loop of the macro ``all`` or ``exists``, which ends at an item that decides its result.

    An item whose condition fails does not end the loop. The first failure is the result if no item
    decides. The costs are those of the loop into which cel-go expands the macro.
    """

    def __init__(
        self, shape: LoopShape, items: Evaluator, item: Evaluator, *, decisive: bool
    ) -> None:
        """Create a loop.

        Args:
            shape: the comprehension.
            items: evaluation of the items.
            item: evaluation of the condition of an item.
            decisive: the value of a condition that decides the result: true for ``exists``.
        """
        self._node, self._work = shape
        self._items, self._item = items, item
        self._decisive = decisive
        self._cost = _STEP + decisive

    def run(self, run: CelRun) -> bool:
        """Evaluate the loop."""
        node, item, decisive = self._node, self._item, self._decisive
        cost, failure = self._cost, None
        inner = CelRun(run.values, run.budget)
        values, spend = inner.values, inner.spend
        work, add = self._work, run.budget.work.spend
        pairs = iter(_pairs(self._items(run), node))
        for key, value in pairs:
            values[node.variable] = key
            if node.second:
                values[node.second] = value
            spend(cost)
            add(work)
            try:
                found = item(inner)
            except EvaluationError as error:
                failure = failure or error
            else:
                if found is decisive:
                    return self._decided(pairs, inner)
                if not isinstance(found, bool):
                    failure = failure or EvaluationError("no such overload")
            if failure is not None:
                cost = _STEP  # the negation of a failure has no cost
        spend(_READ)
        if failure is not None:
            raise failure
        return not decisive

    def _decided(self, rest: Iterator[tuple[Any, Any]], run: CelRun) -> bool:
        """Return the decisive value; the condition of the loop has a cost if items are left."""
        run.spend(_READ)
        if next(rest, None) is not None:
            run.spend(self._cost - _READ)
        return self._decisive


_READ: Final = 1
"""Cost of the accumulator that the result reads."""
_STEP: Final = 3
"""Cost of each item, except its condition: the accumulator is read twice, and tested once."""


def _pairs(items: Any, node: FoldNode) -> list[tuple[Any, Any]]:
    """Return the values of the variables of a loop."""
    if isinstance(items, Mapping):
        return [(_key(key), each) for key, each in items.items() if key != TYPE_MEMBER]
    if not isinstance(items, list | tuple):
        name = type_name(kind_of(items))
        raise EvaluationError(f"got '{name}', expected iterable type")
    return list(enumerate(items) if node.second else zip(items, items, strict=True))


def _key(key: Any) -> Any:
    return key.value if isinstance(key, ReferenceKey) else key
