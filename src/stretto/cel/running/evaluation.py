"""State of one evaluation: the values of its variables, and its budget."""

from collections.abc import Callable, Mapping
from typing import Any

from stretto.cel.running.budget import Budget
from stretto.cel.running.values import EvaluationError


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


class Deferred:
    """A value that is evaluated when it is first read."""

    def __init__(self, evaluator: Evaluator, run: CelRun) -> None:
        """Defer an evaluation.

        Args:
            evaluator: returns the value.
            run: the evaluation.
        """
        self._evaluator = evaluator
        self._run = run
        self._found: tuple[Any, ...] = ()

    def settled(self) -> Any:
        """Return the value, or its error; it is evaluated once."""
        if not self._found:
            self._found = (settled(self._evaluator, self._run),)
        return self._found[0]


def settled(evaluator: Evaluator, run: CelRun) -> Any:
    """Return the value of an evaluation, which may be an error."""
    try:
        value = evaluator(run)
    except EvaluationError as error:
        return error
    return value


def read(name: str, run: CelRun) -> Any:
    """Return the value of a variable.

    Raises:
        EvaluationError: there is none, or its evaluation failed.
    """
    run.budget.spend(1)
    try:
        value = run.values[name]
    except KeyError as error:
        raise EvaluationError(f"no such attribute(s): {name}") from error
    if isinstance(value, Deferred):
        value = value.settled()
    if isinstance(value, EvaluationError):
        raise value
    return value
