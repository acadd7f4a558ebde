"""CEL programs: compiled once, evaluated on JSON values, with the functions of Kubernetes."""

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from stretto.web.api.cel.authorizer import AUTHORIZER, authorizer_functions
from stretto.web.api.cel.library import declarations
from stretto.web.api.cel.literals import literal_functions, rewritten
from stretto.web.api.cel.wording import go_text, without_allowed

Json = dict[str, Any]

_MISSING: Final = re.compile(r'Key not found in map : "([^"]*)"')
_INDEX: Final = re.compile(r"Index error: index=(-?\d+)")
_CONVERSION: Final = re.compile(r"cannot convert (\w+) to (\w+)")
_COMPILED: Final = re.compile(r"^[A-Z_]+: (.*?)(?: \[[A-Z_]+\])?$", re.DOTALL)
_WORDS: Final = (
    ("divide by zero", "division by zero"),
    ("divide_by_zero", "division by zero"),
    ("modulus by zero", "modulus by zero"),
    ("No matching overloads", "no such overload"),
    ("SELECT to non-message type", "no such overload"),
)
"""Maps parts of error texts to the texts of the implementation in Go."""


MOST_BYTES: Final = 10_000
"""Maximum bytes of an expression: a byte takes about 4 µs to compile, up to 10 µs if invalid."""
_MOST_SHOWN: Final = 2_000
"""Maximum characters of a problem: a compiler reports up to 100 errors, each with its line."""


class CelError(Exception):
    """An expression does not compile, or its evaluation fails."""


class Dialect(Enum):
    """Literals that an expression may contain."""

    #: Only the literals of CEL.
    PLAIN = "plain"
    #: Also object and operation literals, for evaluation.
    MUTATION = "mutation"
    #: Also object and operation literals with their types, only for compilation.
    TYPED_MUTATION = "typed mutation"


@lru_cache(maxsize=64)
def _environment(names: tuple[str, ...], dialect: Dialect) -> Any:
    functions = declarations()
    if AUTHORIZER in names:
        functions += authorizer_functions()
    if dialect is not Dialect.PLAIN:
        functions += literal_functions(checks=dialect is Dialect.TYPED_MUTATION)
    return _new_environment(dict.fromkeys(names, cel.Type.DYN), functions)


def _new_environment(variables: dict[str, Any], functions: list[Any], pool: Any = None) -> Any:
    return cel.NewEnv(
        pool,
        variables=variables,
        functions=functions,
        extensions=[
            ext_bindings.ExtBindings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
        ],
    )


def typed_environment(value: Any, pool: Any, *, has_optional_old: bool) -> Any:
    """Return the environment of the rules of a schema.

    Args:
        value: type of the rules' value.
        pool: descriptors of the types.
        has_optional_old: whether the former value may be absent.
    """
    old = cel.Type.DYN if has_optional_old else value
    return _new_environment({"self": value, "oldSelf": old}, declarations(), pool)


@lru_cache(maxsize=1024)
def _program(text: str, names: tuple[str, ...], dialect: Dialect = Dialect.PLAIN) -> Any:
    return _compiled(text, _environment(names, dialect), dialect)


def _compiled(text: str, environment: Any, dialect: Dialect) -> Any:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        problem = f"expression size exceeds limit: size: {size}, limit {MOST_BYTES}"
        raise CelError(f"ERROR: <input>:-1:0: {problem}")
    source = None if dialect is Dialect.PLAIN else rewritten(text)
    try:
        return environment.compile(text if source is None else source.text)
    except Exception as error:
        stated = str(error)
        found = _COMPILED.match(stated)
        problem = go_text(_shortened(found[1] if found else stated))
        raise CelError(problem if source is None else source.located(problem)) from error


def _shortened(problem: str) -> str:
    return problem if len(problem) <= _MOST_SHOWN else f"{problem[:_MOST_SHOWN]} …"


def compile_problem(text: str, names: tuple[str, ...], *, wants: str = "") -> str:
    """Return why an expression cannot be used; empty if it can.

    Args:
        text: the expression.
        names: the variables that it may read.
        wants: the required type of its value, such as ``bool``; empty for any.
    """
    try:
        return _mismatch(_program(text, names), wants)
    except CelError as error:
        return f"compilation failed: {error}"


def typed_problem(text: str, environment: Any, wants: str) -> str:
    """Return why a rule of a schema cannot be used; empty if it can.

    Args:
        text: the rule.
        environment: its environment.
        wants: the required type of its value.
    """
    try:
        return _mismatch(_compiled(text, environment, Dialect.PLAIN), wants)
    except CelError as error:
        problem = without_allowed(str(error))
        return f"compilation failed: {problem}" if problem else ""


def _mismatch(program: Any, wants: str) -> str:
    """Return why the type of a value differs from the required one; empty if it does not."""
    kind = program.return_type()
    if wants and kind != _TYPES[wants]:
        return f"must evaluate to {wants} but got {_type_name(kind.name())}"
    return ""


_TYPES: Final = {"bool": cel.Type.BOOL, "string": cel.Type.STRING}


def mutation_problem(text: str, names: tuple[str, ...], wants: str) -> str:
    """Return why an expression yields no change of an object; empty if it does.

    Args:
        text: the expression.
        names: the variables that it may read.
        wants: the required type of its value, in the notation of CEL.
    """
    try:
        kind = _program(text, names, Dialect.TYPED_MUTATION).return_type()
    except CelError as error:
        return f"compilation failed: {error}"
    found = _type_name(kind.name())
    return "" if found in (wants, "dyn") else f"must evaluate to {wants} but got {found}"


def _type_name(name: str) -> str:
    """Format the name of a type like the implementation in Go."""
    text = re.sub(r"\b[A-Z]+\b", lambda match: match[0].lower(), name)
    return text.replace("<", "(").replace(">", ")")


def evaluate(text: str, variables: Mapping[str, Any], dialect: Dialect = Dialect.PLAIN) -> Any:
    """Evaluate an expression.

    Raises:
        CelError: the expression does not compile, or its evaluation fails.
    """
    program = _program(text, tuple(sorted(variables)), dialect)
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
    """Convert an error to the text of the implementation in Go."""
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
    """Return whether an expression is true.

    Raises:
        CelError: the expression fails, or its value is not a boolean.
    """
    value = evaluate(text, variables)
    if not isinstance(value, bool):
        raise CelError(f"expected a boolean, got {type(value).__name__}")
    return value


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
