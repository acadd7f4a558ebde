"""State of one evaluation: the values of its variables, and its budget."""

from collections.abc import Callable, Mapping
from typing import Any, Final

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
        #: Adds a cost to the budget.
        self.spend = budget.spend


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


def reader(name: str) -> Evaluator:
    """Return the evaluation of a variable.

    It raises an ``EvaluationError`` if there is no such variable, or if its evaluation failed.

    Args:
        name: name of the variable.
    """

    def read(run: CelRun) -> Any:
        run.spend(1)
        try:
            value = run.values[name]
        except KeyError as error:
            raise EvaluationError(f"no such attribute(s): {name}") from error
        if isinstance(value, _LATE):
            return _arrived(value)
        return value

    return read


_LATE: Final = (Deferred, EvaluationError)
"""Contents of variables that are no values."""


def _arrived(content: Deferred | EvaluationError) -> Any:
    """Return a value that is evaluated now; the error of an evaluation is raised."""
    value = content.settled() if isinstance(content, Deferred) else content
    if isinstance(value, EvaluationError):
        raise value
    return value
