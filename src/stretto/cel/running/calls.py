"""Calls of functions of the values of their arguments."""

from collections.abc import Sequence
from typing import Any

from stretto.cel.functions.table import IMPLEMENTATIONS
from stretto.cel.language.signatures import FunctionForm
from stretto.cel.language.types import DYN, CelType, Sort
from stretto.cel.running.budget import CallCost, call_cost
from stretto.cel.running.evaluation import CelRun, Evaluator
from stretto.cel.running.values import SCALARS, EvaluationError, kind_of
from stretto.cel.running.work import reads_all


class FunctionCall:
    """A call of a function of the values of its arguments."""

    def __init__(self, name: str, forms: Sequence[FunctionForm], *arguments: Evaluator) -> None:
        """Create a call.

        Args:
            name: name of the function.
            forms: forms that the arguments may fit.
            arguments: evaluations of the arguments.
        """
        self._name = name
        self._implementation = IMPLEMENTATIONS[name]
        self._forms = forms
        self._arguments = arguments
        self._reads = reads_all(name)
        self._costs: dict[tuple[type, ...], CallCost | None] = {}

    def run(self, run: CelRun) -> Any:
        """Evaluate the call."""
        values = [each(run) for each in self._arguments]
        cost = self._cost(values)
        if self._reads:
            run.budget.work.call(self._name, values)
        result = self._implementation(*values)
        run.budget.build(result)
        run.spend(1 if cost is None else cost(values, result))
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
            if all(map(fits, form.arguments, values)):
                return form
        raise EvaluationError("no such overload")


def fits(wanted: CelType, value: Any) -> bool:
    """Return whether a value has the type that a form of a function requires."""
    if wanted == DYN or wanted.sort is Sort.PARAMETER:
        return True
    found = kind_of(value)
    return wanted.name == found.name and (wanted.sort is not Sort.LIST or _holds(wanted, value))


def _holds(wanted: CelType, items: Sequence[Any]) -> bool:
    """True if the first item of a list has the type of items that a form requires."""
    return not items or fits(wanted.parameters[0], items[0])
