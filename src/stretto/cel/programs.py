"""CEL programs: compiled once, evaluated on JSON values, with the functions of Kubernetes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from stretto.cel.language.checking import Checked, check
from stretto.cel.language.environment import Environment
from stretto.cel.language.nodes import Tree
from stretto.cel.language.parsing import ExpressionSyntaxError, parse
from stretto.cel.language.problems import Problem, display
from stretto.cel.language.resolving import resolve
from stretto.cel.language.types import CelType
from stretto.cel.language.validators import literal_problems
from stretto.cel.running.budget import Budget, OverBudgetError
from stretto.cel.running.planning import CelRun, Evaluator, planned
from stretto.cel.running.values import EvaluationError

MOST_BYTES: Final = 10_000
"""Maximum bytes of an expression."""
_MOST_SHOWN: Final = 2_000
"""Maximum characters of a problem: a compiler reports up to 100 errors, each with its line."""
_RECENT: Final = 16
"""Recent expressions that are kept: a definition often repeats one of at most 10,000 bytes."""


class CelError(Exception):
    """An expression does not compile, or its evaluation fails."""


class InstantiationError(CelError):
    """A constant part of an expression fails."""


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled expression."""

    #: The checked expression.
    checked: Checked
    #: Its evaluation.
    evaluator: Evaluator

    @property
    def kind(self) -> CelType:
        """Type of the value."""
        return self.checked.kind

    def reads(self, name: str) -> bool:
        """Return whether the expression reads a variable."""
        return name in self.checked.names.values()

    def evaluate(self, values: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """Evaluate the expression.

        Args:
            values: values of the variables.
            budget: limit of the cost; default: the limit of one evaluation.

        Raises:
            CelError: the evaluation fails, or its cost exceeds the limit.
        """
        try:
            return self.evaluator(CelRun(values, budget or Budget()))
        except (EvaluationError, OverBudgetError) as error:
            raise CelError(str(error)) from error
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise CelError(f"internal error: {error}") from error


@lru_cache(maxsize=_RECENT)
def compiled(text: str, environment: Environment) -> Program:
    """Compile an expression; recent ones are kept, because limits count an equal one once.

    Raises:
        CelError: the expression has problems, which the message shows.
    """
    with _limited_depth():
        checked = check(_parsed(text, environment), environment)
        problems = checked.problems or tuple(literal_problems(checked))
        return _program(text, checked, problems)


@contextmanager
def _limited_depth() -> Iterator[None]:
    """State that an expression is too deep for the stack that the caller has left."""
    try:
        yield
    except RecursionError as error:
        raise CelError("ERROR: <input>:-1:0: max recursion depth exceeded") from error


def _parsed(text: str, environment: Environment) -> Tree:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        problem = f"expression size exceeds limit: size: {size}, limit {MOST_BYTES}"
        raise CelError(f"ERROR: <input>:-1:0: {problem}")
    try:
        return _tree(text, has_bindings=environment.has_bindings)
    except ExpressionSyntaxError as error:
        raise CelError(_shortened(str(error))) from error


@lru_cache(maxsize=_RECENT)
def _tree(text: str, *, has_bindings: bool) -> Tree:
    return parse(text, has_bindings=has_bindings)


def _program(text: str, checked: Checked, problems: Sequence[Problem]) -> Program:
    if problems:
        raise CelError(_shortened(display(text, problems)))
    try:
        return Program(checked, planned(checked))
    except EvaluationError as error:
        raise InstantiationError(str(error)) from error


def stated(error: CelError) -> str:
    """Return the error of a compilation as kube-apiserver states it."""
    what = "program instantiation" if isinstance(error, InstantiationError) else "compilation"
    return f"{what} failed: {error}"


def _shortened(problem: str) -> str:
    return problem if len(problem) <= _MOST_SHOWN else f"{problem[:_MOST_SHOWN]} …"


def problem_of(text: str, environment: Environment, wants: str = "") -> str:
    """Return why an expression cannot be used; empty if it can.

    Args:
        text: the expression.
        environment: the variables that it may read.
        wants: the required type of its value in the notation of CEL; empty for any.
    """
    try:
        kind = str(compiled(text, environment).kind)
    except CelError as error:
        return stated(error)
    return "" if wants in ("", kind) else f"must evaluate to {wants} but got {kind}"


@lru_cache(maxsize=1024)
def _known(text: str, environment: Environment) -> Program:
    with _limited_depth():
        resolved = resolve(_parsed(text, environment), environment)
        return _program(text, resolved, resolved.problems)


def evaluate(
    text: str,
    environment: Environment,
    variables: Mapping[str, Any],
    budget: Budget | None = None,
) -> Any:
    """Evaluate an expression that was checked when it was stored.

    Args:
        text: the expression.
        environment: a constant environment, for which programs are kept.
        variables: values of the variables.
        budget: limit of the cost; default: the limit of one evaluation.

    Raises:
        CelError: the expression does not compile, its evaluation fails or costs too much.
    """
    return _known(text, environment).evaluate(variables, budget)
