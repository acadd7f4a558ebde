"""Paths of fields in a schema: ``.spec.replicas``, ``.labels['a.b']``."""

import re
from collections.abc import Iterator
from typing import Final

from stretto.api.checks.kinds.values import Json

_TOKEN: Final = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*'|[^.\[\]]+", re.DOTALL)
_END: Final = "unexpected end of JSON path"
_UNKNOWN: Final = "does not refer to a valid field"


class PathError(ValueError):
    """A path that is malformed or names no field; the text is that of kube-apiserver."""


def schema_at(schema: Json, path: str, *, brackets: bool = True) -> Json:
    """Return the schema of the field at a path.

    Args:
        schema: the schema of the object.
        path: the path.
        brackets: True if members may be in brackets.

    Raises:
        PathError: the path is malformed, or names no field.
    """
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == ".":
            name = _next(tokens)
        elif token != "[":
            raise PathError(f"expected [ or . but got: {token}")
        elif not brackets:
            raise PathError("array notation is not allowed")
        else:
            name = _quoted(tokens)
        schema = _member(schema, name)
        closing = _next(tokens) if token == "[" else "]"
        if closing != "]":
            raise PathError(f"expected ] but got {closing}")
    return schema


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, "")
    if not token:
        raise PathError(_END)
    return token


def _quoted(tokens: Iterator[str]) -> str:
    token = _next(tokens)
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")
    return token[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def _member(schema: Json, name: str) -> Json:
    known, extra = schema.get("properties"), schema.get("additionalProperties")
    found = known.get(name) if known else extra
    if not isinstance(found, dict):
        raise PathError(_UNKNOWN)
    return found
