"""Limits on the size and nesting of input, checked before parsing.

A few kilobytes of brackets can crash a recursive parser. Therefore all external input passes
through this module before a parser reads it.
"""

import re
from typing import Final

from stretto.base.errors import InputError

MAX_BYTES: Final = 3 << 20
"""Maximum bytes of an object: the limit of the Kubernetes API server; etcd's is half of it."""

MAX_DEPTH: Final = 64
"""Maximum levels of nested brackets; the deepest field of a pod is at 14."""

MAX_VALUES: Final = 20_000
"""Maximum values of an object in a request. A full EndpointSlice has 15,000."""

MORE_VALUES: Final = 50_000
"""Maximum values of a definition of a custom kind and of a JSON patch. A definition with long
schemas has 30,000, and only administrators write them; 10,000 operations have 40,000, and are
applied as fast as a smaller object is decoded."""

MAX_WARNINGS: Final = 4096
"""Maximum total characters of the warnings of a response; above it, each warning is cut."""
MAX_WARNING: Final = 256
"""Maximum characters of a cut warning."""

_TEXTS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_ELSE: Final = bytes(set(range(256)) - set(b"[]{}"))
_RUN: Final = b"(" * (2 * MAX_DEPTH + 1)
_PARENTHESES: Final = bytes.maketrans(b"[]{}", b"()()")


def measured(body: bytes, where: str) -> bytes:
    """Return ``body`` itself if it is short and flat enough to be parsed as JSON.

    Raises:
        InputError: it has too many bytes or levels; the message contains ``where``.
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
    """Return an upper bound of the number of values in a JSON text, without parsing it.

    Each value but the first of a map or list follows a comma, so commas and brackets are counted.
    Only if there are many, those inside strings are excluded.
    """
    count = most_values_of(body)
    return count if count <= MAX_VALUES else most_values_of(_TEXTS.sub(b"", body))


def most_values_of(body: bytes) -> int:
    """Return a higher bound than ``value_count``, which commas and brackets in strings increase."""
    return body.count(b",") + body.count(b"{") + body.count(b"[")


def _too_deep(body: bytes) -> bool:
    """Return whether brackets nest deeper than ``MAX_DEPTH``.

    The number of opening brackets bounds the depth. If there are many, pairs are removed from the
    inside out; a round takes a microsecond for a pod. Brackets inside strings can break the
    pairing, so a second attempt removes the strings first.
    """
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    if _pairs_out(body.translate(_PARENTHESES, _ELSE)):
        return False
    return not _pairs_out(_TEXTS.sub(b"", body).translate(_PARENTHESES, _ELSE))


def _pairs_out(brackets: bytes) -> bool:
    """Return whether at most ``MAX_DEPTH`` rounds remove all pairs.

    Unpaired brackets cannot exceed the depth limit, and the parser reports them. A round removes
    one bracket of a run of opening brackets, so a run of more than twice as many always leaves too
    many.
    """
    if _RUN in brackets:
        return False
    for _ in range(MAX_DEPTH):
        fewer = brackets.replace(b"()", b"")
        if len(fewer) == len(brackets):
            return len(fewer) <= MAX_DEPTH
        brackets = fewer
    return not brackets
