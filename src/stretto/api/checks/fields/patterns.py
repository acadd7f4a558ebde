"""Regular expressions in the syntax of Go, with the errors of its parser."""

import re
from functools import lru_cache
from typing import Final

_LOOK: Final = re.compile(r"\(\?(?:=|!|<=|<!|>)")
"""Assertions about the text around, which Go does not have."""
_NESTED: Final = re.compile(r"[*+?}][*+]|[*+?}]\?[*+?]")
"""Repetitions of a repetition."""
_NAMED: Final = re.compile(r"\(\?<(?=[A-Za-z_])")
_CATEGORY: Final = re.compile(r"\\[pP](?:\{\^?\w+\}|[A-Z])")
"""Classes of Unicode, which Python does not have."""
_END: Final = re.compile(r"((?<!\\)(?:\\\\)*)\\z")
"""The end of the text, which is ``\\\\Z`` in Python."""
_LITERAL: Final = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
"""A part of an expression without operators."""
_COUNT: Final = re.compile(r"\{(\d+),(\d+)\}")
_MOST: Final = 1000
"""Maximum count of a repetition."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression; one that is invalid in Python matches every text.

    So does one with a class of Unicode: no class of Python is equal, also inside a set.
    """
    if _CATEGORY.search(pattern):
        return re.compile("")
    try:
        return re.compile(_translated(pattern))
    except re.error:
        return re.compile("")


def regex_problem(pattern: str) -> str:
    """Return the error of Go's parser for a regular expression; empty if it is valid."""
    problem = _other_syntax(pattern)
    if not problem:
        try:
            re.compile(_translated(pattern))
        except re.error as error:
            is_valid = error.msg.startswith("global flags")  # Go has them at any place
            problem = "" if is_valid else _go_text(error, pattern)
    return f"error parsing regexp: {problem}" if problem else ""


def _translated(pattern: str) -> str:
    """Return an expression in the syntax of Python, with a text for each class of Unicode."""
    plain = _CATEGORY.sub("_", _NAMED.sub("(?P<", pattern))
    return _END.sub(r"\1\\Z", _LITERAL.sub(lambda found: re.escape(found[1]), plain))


def _other_syntax(pattern: str) -> str:
    """Return the error about an expression that only Python accepts."""
    plain = _CATEGORY.sub("_", pattern)
    plain = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]", lambda match: "_" * len(match[0]), plain)
    look = _LOOK.search(plain)
    if look is not None:
        return f"invalid or unsupported Perl syntax: `{look[0]}`"
    nested = _NESTED.search(plain)
    if nested is not None:
        return f"invalid nested repetition operator: `{nested[0]}`"
    for count in _COUNT.finditer(plain):
        if int(count[1]) > int(count[2]) or int(count[2]) > _MOST:
            return f"invalid repeat count: `{count[0]}`"
    return ""


def _go_text(error: re.error, pattern: str) -> str:
    rest = pattern[error.pos or 0 :]
    words = (
        ("unterminated character set", f"missing closing ]: `{rest}`"),
        ("missing )", f"missing closing ): `{pattern}`"),
        ("unbalanced parenthesis", f"unexpected ): `{pattern}`"),
        ("nothing to repeat", f"missing argument to repetition operator: `{rest[:1]}`"),
        ("multiple repeat", f"invalid nested repetition operator: `{rest}`"),
        ("bad escape (end of pattern)", "trailing backslash at end of expression: ``"),
        ("bad escape", f"invalid escape sequence: `{rest[:2]}`"),
        ("bad character range", f"invalid character class range: `{rest}`"),
    )
    return next((text for start, text in words if error.msg.startswith(start)), error.msg)
