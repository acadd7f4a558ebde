"""CEL programs: compiled once, evaluated on JSON values, with the functions of Kubernetes."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from stretto.web.api.cel.authorizer import AUTHORIZER, authorizer_functions
from stretto.web.api.cel.library import declarations

Json = dict[str, Any]

_MISSING: Final = re.compile(r'Key not found in map : "([^"]*)"')
_INDEX: Final = re.compile(r"Index error: index=(-?\d+)")
_CONVERSION: Final = re.compile(r"cannot convert (\w+) to (\w+)")
_COMPILED: Final = re.compile(r"^[A-Z_]+: (.*?)(?: \[[A-Z_]+\])?$", re.DOTALL)
_UNDECLARED: Final = re.compile(
    r"<input>:(\d+):(\d+): undeclared reference to '(\w+)((?:\.\w+)+)' \(in container ''\)\n"
    r"( \| .*)\n \| \.*\^"
)
_WORDS: Final = (
    ("divide by zero", "division by zero"),
    ("divide_by_zero", "division by zero"),
    ("modulus by zero", "modulus by zero"),
    ("No matching overloads", "no such overload"),
    ("SELECT to non-message type", "no such overload"),
)
"""Parts of errors, and what the implementation in Go says."""


class CelError(Exception):
    """An expression that does not compile, or whose evaluation fails."""


@lru_cache(maxsize=64)
def _environment(names: tuple[str, ...]) -> Any:
    functions = declarations()
    if AUTHORIZER in names:
        functions += authorizer_functions()
    return cel.NewEnv(
        variables=dict.fromkeys(names, cel.Type.DYN),
        functions=functions,
        extensions=[
            ext_bindings.ExtBindings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
        ],
    )


@lru_cache(maxsize=1024)
def _program(text: str, names: tuple[str, ...]) -> Any:
    try:
        return _environment(names).compile(text)
    except Exception as error:
        found = _COMPILED.match(str(error))
        raise CelError(_located(found[1] if found else str(error))) from error


def _located(text: str) -> str:
    """Errors about unknown names at the names themselves, instead of at the members of them."""
    return _UNDECLARED.sub(_at_name, text)


def _at_name(match: re.Match[str]) -> str:
    line, column, name, members, source = match.groups()
    start = int(column) - len(name) - len(members.rpartition(".")[0])
    place = f"<input>:{line}:{start}: undeclared reference to '{name}' (in container '')"
    return f"{place}\n{source}\n | {'.' * (start - 1)}^"


def compile_problem(text: str, names: tuple[str, ...], *, wants: str = "") -> str:
    """Why an expression cannot be used; empty if it can.

    Args:
        text: the expression.
        names: the variables that it may read.
        wants: the type of its value, such as ``bool``; empty for any.
    """
    try:
        kind = _program(text, names).return_type()
    except CelError as error:
        return f"compilation failed: {error}"
    if wants and kind != cel.Type.DYN and kind != _TYPES[wants]:
        return f"must evaluate to {wants}"
    return ""


_TYPES: Final = {"bool": cel.Type.BOOL, "string": cel.Type.STRING}


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
    index = _INDEX.search(text)
    if index is not None:
        return f"index out of bounds: {index[1]}"
    conversion = _CONVERSION.search(text)
    if conversion is not None:
        return f"type conversion error from '{conversion[1]}' to '{conversion[2]}'"
    known = next((words for part, words in _WORDS if part in text), "")
    return known or text.partition(": ")[2] or text


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
