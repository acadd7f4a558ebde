"""Input is measured before it is parsed: bytes and depth.

A parser that recurses can be made to end the process by a few kilobytes of brackets; so nothing
that comes from outside reaches one before it has passed here.
"""

import re
from typing import Final

from stretto.base.errors import InputError

MAX_BYTES: Final = 3 << 20
"""Bytes of one object: the bound of Kubernetes' API server; etcd's is half of it."""

MAX_DEPTH: Final = 64
"""Brackets inside brackets. The deepest field of a pod is at 14."""

_TEXTS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ELSE: Final = bytes(set(range(256)) - set(b"[]{}"))
_PARENTHESES: Final = bytes.maketrans(b"[]{}", b"()()")


def measured(body: bytes, where: str) -> bytes:
    """``body`` itself when it is neither too long nor too deep to be parsed as JSON."""
    if len(body) > MAX_BYTES:
        raise InputError(
            where,
            f"{len(body)} bytes",
            f"at most {MAX_BYTES} bytes in one object",
            "split it, or move large texts out of it",
        )
    if _too_deep(body):
        raise InputError(
            where,
            "a deeper object",
            f"at most {MAX_DEPTH} levels of nesting",
            "no Kubernetes object is that deep; look for a runaway template",
        )
    return body


def _too_deep(body: bytes) -> bool:
    """Whether brackets nest deeper than allowed.

    Nothing is deeper than it has brackets that open. Where they are many, pairs are taken out from
    the inside; a round takes a microsecond for a pod. Brackets inside texts can spoil the pairing,
    so what is left over is looked at again without the texts.
    """
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    if _pairs_out(body.translate(_PARENTHESES, _ELSE)):
        return False
    return not _pairs_out(_TEXTS.sub(b"", body).translate(_PARENTHESES, _ELSE))


def _pairs_out(brackets: bytes) -> bool:
    """Whether no more rounds than levels are allowed take all pairs out.

    What is left unpaired is no deeper than its length; the parser will name it.
    """
    for _ in range(MAX_DEPTH):
        fewer = brackets.replace(b"()", b"")
        if len(fewer) == len(brackets):
            return len(fewer) <= MAX_DEPTH
        brackets = fewer
    return not brackets
