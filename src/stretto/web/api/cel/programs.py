"""CEL programs: compiled once, evaluated on JSON values, with the functions of Kubernetes."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from cel_expr_python import cel

from stretto.web.api.cel.library import declarations

Json = dict[str, Any]

_MISSING: Final = re.compile(r'Key not found in map : "([^"]*)"')


class CelError(Exception):
    """An expression that does not compile, or whose evaluation fails."""


@lru_cache(maxsize=1024)
def _program(text: str, names: tuple[str, ...]) -> Any:
    try:
        variables = dict.fromkeys(names, cel.Type.DYN)
        env = cel.NewEnv(variables=variables, functions=declarations())
        return env.compile(text)
    except Exception as error:
        raise CelError(_first_line(error)) from error


def check_syntax(text: str, names: tuple[str, ...]) -> None:
    """Check that an expression compiles.

    Raises:
        CelError: it does not.
    """
    _program(text, names)


def evaluate(text: str, variables: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Raises:
        CelError: it does not compile, or its evaluation fails.
    """
    program = _program(text, tuple(sorted(variables)))
    try:
        found = program.eval(data=dict(variables))
        if found.type() == cel.Type.ERROR:
            raise CelError(_words(str(found.value())))
        return found.plain_value()
    except CelError:
        raise
    except Exception as error:
        raise CelError(_first_line(error)) from error


def _words(text: str) -> str:
    """An error in the words of the implementation in Go."""
    missing = _MISSING.search(text)
    if missing is not None:
        return f"no such key: {missing[1]}"
    if "divide by zero" in text or "divide_by_zero" in text:
        return "division by zero"
    return text.partition(": ")[2] or text


def holds(text: str, variables: Mapping[str, Any]) -> bool:
    """Whether an expression is true.

    Raises:
        CelError: it fails, or its value is no boolean.
    """
    value = evaluate(text, variables)
    if not isinstance(value, bool):
        raise CelError(f"expected a boolean, got {type(value).__name__}")
    return value


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
