"""Expressions over the objects of members: CEL, and JSONPath (RFC 9535)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from stretto.base.errors import InputError, MissingExtraError
from stretto.reconcile.cache import Fields

MEMBERS = "members"
"""Variable of a CEL expression: the objects of all members, each with the field ``cluster``."""


def evaluate(expression: str, members: Sequence[Fields]) -> Any:
    """The value of a CEL expression over the objects of all members.

    Raises:
        InputError: the expression is malformed, or fails on these objects.
        MissingExtraError: the library is not installed.
    """
    try:
        found = _compiled(expression).eval(data={MEMBERS: list(members)})
    except RuntimeError as error:
        raise InputError("cel", expression, f"a CEL expression: {error}") from error
    value = found.plain_value()
    if found.type().name() == "ERROR":
        raise InputError("cel", expression, f"an expression that these objects allow: {value}")
    return value


def values_at(path: str, member: Fields) -> list[Any]:
    """The values at a JSONPath of one object.

    Raises:
        InputError: the path is malformed.
        MissingExtraError: the library is not installed.
    """
    found: list[Any] = _path(path).findall(member)
    return found


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Any:
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise MissingExtraError("a CEL rule", "federation") from error
    return cel.NewEnv(variables={MEMBERS: cel.Type.DYN}).compile(expression)


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
