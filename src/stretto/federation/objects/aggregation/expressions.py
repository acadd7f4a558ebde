"""Expressions over the objects of members: CEL, and JSONPath (RFC 9535)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from stretto.base.errors import InputError, MissingExtraError
from stretto.cel import programs
from stretto.cel.functions.conversions import to_string
from stretto.cel.language.environment import Environment
from stretto.cel.language.types import DYN
from stretto.cel.running.values import CelDuration, CelOptional, CelTime
from stretto.reconcile.cache import Fields

MEMBERS: Final = "members"
"""Variable of a CEL expression: the objects of all members, each with the field ``cluster``."""
_ENVIRONMENT: Final = Environment({MEMBERS: DYN})


def evaluate(expression: str, members: Sequence[Fields]) -> Any:
    """Return the value of a CEL expression over the objects of all members, as JSON has it.

    Raises:
        InputError: the expression is malformed, fails on these objects, costs more than an
            expression of Kubernetes may, or has a value that JSON has not.
        MissingExtraError: a library that a function needs is not installed.
    """
    try:
        value = programs.evaluate(expression, _ENVIRONMENT, {MEMBERS: list(members)})
    except programs.CelError as error:
        expected = f"a CEL expression that these objects allow: {error}"
        raise InputError("cel", expression, expected) from error
    except ImportError as error:
        raise MissingExtraError("a CEL rule", "federation") from error
    try:
        return _plain(value)
    except TypeError as error:
        raise InputError(
            "cel", expression, f"an expression with a value of JSON: {error}"
        ) from error


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times as texts, and ``None`` for an absent value."""
    if isinstance(value, CelOptional):
        return _plain(value.content[0]) if value.content else None
    if isinstance(value, CelTime | CelDuration):
        return to_string(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} is no type of JSON")


def values_at(path: str, member: Fields) -> list[Any]:
    """The values at a JSONPath of one object.

    Raises:
        InputError: the path is malformed.
        MissingExtraError: the library is not installed.
    """
    found: list[Any] = _path(path).findall(member)
    return found


@lru_cache(maxsize=256)
def _path(path: str) -> Any:
    try:
        import jsonpath
    except ImportError as error:
        raise MissingExtraError("a JSONPath rule", "federation") from error
    try:
        return jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise InputError("jsonPath", path, f"a JSONPath such as $.status.ready: {error}") from error
