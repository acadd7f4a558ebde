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
from stretto.cel.running.budget import Budget
from stretto.cel.running.evaluation import CelRun, Evaluator
from stretto.cel.running.planning import planned
from stretto.cel.running.values import EvaluationError, OverBudgetError

MOST_BYTES: Final = 10_000
"""Maximum bytes of an expression."""
_MOST_SHOWN: Final = 2_000
"""Maximum characters of a problem: a compiler reports up to 100 errors, each with its line."""
_RECENT: Final = 16
"""Recent expressions that are kept: a definition often repeats one of at most 10,000 bytes."""


_LEAST_NODES: Final = 10
"""Nodes for which a shorter expression counts: its compilation has fixed costs."""


class CelError(Exception):
    """An expression does not compile, or its evaluation fails."""


class TooManyNodesError(Exception):
    """The expressions of one object have too many nodes together; the value is the limit."""


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


class Compiler:
    """Compiler of the expressions of one object, which have a limit together."""

    def __init__(self, most_nodes: int | None = None) -> None:
        """Begin with an object.

        Args:
            most_nodes: maximum nodes of all expressions; an equal one counts once in each
                environment, and each one for at least ten. ``None`` without a limit.
        """
        self._most = most_nodes
        self._nodes = 0
        self._programs: dict[tuple[str, Environment], Program] = {}

    def compiled(self, text: str, environment: Environment) -> Program:
        """Return a compiled expression; an equal one of the same environment is compiled once.

        Raises:
            CelError: the expression has problems, which the message shows.
            TooManyNodesError: the expressions of the object have too many nodes together.
        """
        found = self._programs.get((text, environment))
        if found is None:
            with _stated_problems():
                found = self._new(text, self._counted(text, environment), environment)
            self._programs[text, environment] = found
        return found

    def _counted(self, text: str, environment: Environment) -> Tree:
        """Parse an expression, and count its nodes, also those of a faulty one."""
        try:
            tree = _parsed(text, environment)
        except ExpressionSyntaxError as error:
            self._count(error.nodes)
            raise
        self._count(len(tree.offsets))
        return tree

    def _count(self, nodes: int) -> None:
        self._nodes += max(nodes, _LEAST_NODES)
        if self._most is not None and self._nodes > self._most:
            raise TooManyNodesError(self._most)

    @staticmethod
    def _new(text: str, tree: Tree, environment: Environment) -> Program:
        checked = check(tree, environment)
        problems = checked.problems or tuple(literal_problems(checked))
        return _program(text, checked, problems)

    def problem_of(self, text: str, environment: Environment, wants: str = "") -> str:
        """Return why an expression cannot be used; empty if it can.

        Args:
            text: the expression.
            environment: the variables that it may read.
            wants: the required type of its value in the notation of CEL; empty for any.

        Raises:
            TooManyNodesError: the expressions of the object have too many nodes together.
        """
        try:
            kind = str(self.compiled(text, environment).kind)
        except CelError as error:
            return stated(error)
        return "" if wants in ("", kind) else f"must evaluate to {wants} but got {kind}"


@contextmanager
def _stated_problems() -> Iterator[None]:
    """State problems of syntax, and that an expression is too deep for the rest of the stack."""
    try:
        yield
    except ExpressionSyntaxError as error:
        raise CelError(_shortened(str(error))) from error
    except RecursionError as error:
        raise CelError("ERROR: <input>:-1:0: max recursion depth exceeded") from error


def _parsed(text: str, environment: Environment) -> Tree:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        problem = f"expression size exceeds limit: size: {size}, limit {MOST_BYTES}"
        raise CelError(f"ERROR: <input>:-1:0: {problem}")
    return _tree(text, has_bindings=environment.has_bindings)


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


@lru_cache(maxsize=1024)
def _known(text: str, environment: Environment) -> Program:
    with _stated_problems():
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
