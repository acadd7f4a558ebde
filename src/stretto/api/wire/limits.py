"""Limits on the size and nesting of input, checked before parsing.

A few kilobytes of brackets can end the process in a recursive parser, so all external input passes
through this module before a parser reads it.
"""

import re
from typing import Final

from stretto.base.errors import InputError

MAX_BYTES: Final = 3 << 20
"""Bytes of one object: the limit of the Kubernetes API server; that of etcd is half as large."""

MAX_DEPTH: Final = 64
"""Levels of nested brackets. The deepest field of a pod is at 14."""

MAX_VALUES: Final = 50_000
"""Values of one object in a request. A definition with long schemas has 30,000."""

_TEXTS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ELSE: Final = bytes(set(range(256)) - set(b"[]{}"))
_RUN: Final = b"(" * (2 * MAX_DEPTH + 1)
_PARENTHESES: Final = bytes.maketrans(b"[]{}", b"()()")


def measured(body: bytes, where: str) -> bytes:
    """``body`` itself, if it is short and flat enough to be parsed as JSON.

    Raises:
        InputError: it has too many bytes or levels; ``where`` names the object.
    """
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
            "no Kubernetes object is that deep; check for a recursive template",
        )
    return body


def value_count(body: bytes) -> int:
    """How many values a JSON text has at most, without building them.

    Each value but the first of a map or list follows a comma, so commas and brackets are counted.
    Only where there are many, those inside strings are excluded.
    """
    count = _marks(body)
    return count if count <= MAX_VALUES else _marks(_TEXTS.sub(b"", body))


def _marks(body: bytes) -> int:
    return body.count(b",") + body.count(b"{") + body.count(b"[")


def _too_deep(body: bytes) -> bool:
    """Return whether brackets nest deeper than ``MAX_DEPTH``.

    The number of opening brackets bounds the depth. Where there are many, pairs are removed from
    the inside out; a round takes a microsecond for a pod. Brackets inside strings can break the
    pairing, so a second attempt removes the strings first.
    """
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    if _pairs_out(body.translate(_PARENTHESES, _ELSE)):
        return False
    return not _pairs_out(_TEXTS.sub(b"", body).translate(_PARENTHESES, _ELSE))


def _pairs_out(brackets: bytes) -> bool:
    """Return whether at most ``MAX_DEPTH`` rounds remove all pairs.

    Unpaired brackets are no deeper than their number; the parser reports them. A round removes one
    bracket of a run of opening ones, so a run of more than twice as many always leaves too many.
    """
    if _RUN in brackets:
        return False
    for _ in range(MAX_DEPTH):
        fewer = brackets.replace(b"()", b"")
        if len(fewer) == len(brackets):
            return len(fewer) <= MAX_DEPTH
        brackets = fewer
    return not brackets
