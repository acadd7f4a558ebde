"""Regular expressions in the syntax of Go, which is that of RE2, with the errors of its parser."""

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Final

_WORDS: Final = (
    ("missing ]", "missing closing ]"),
    ("missing )", "missing closing )"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid named capture group", "invalid named capture"),
    ("invalid character class range", "invalid character class range"),
    ("invalid character class", "invalid character class"),
    ("invalid escape sequence", "invalid escape sequence"),
    ("unexpected )", "unexpected )"),
)
"""Starts of the errors of RE2, and of those of Go."""
_TRAILING: Final = "trailing \\"
_ANY_BYTE: Final = re.compile(r"(?:[^\\]|\\[^C])*?(\\C)", re.DOTALL)
"""The class of all bytes, which only RE2 has."""


class PatternError(Exception):
    """A text is no regular expression; the message is that of Go."""


@lru_cache(maxsize=1024)
def pattern_of(text: str) -> Any:
    """Return the compiled regular expression of a text.

    Raises:
        PatternError: the text is none.
    """
    import re2

    if _ANY_BYTE.match(text):
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    try:
        return _compiler()(text)
    except re2.error as error:
        stated = error.args[0] if error.args else ""
        shown = stated.decode(errors="replace") if isinstance(stated, bytes) else str(stated)
        raise PatternError(f"error parsing regexp: {_go_text(shown, text)}") from error
    except UnicodeEncodeError as error:
        raise PatternError("error parsing regexp: invalid UTF-8") from error


@cache
def _options() -> Any:
    """Return the options of all expressions: errors are raised, not written."""
    import re2

    options = re2.Options()
    options.log_errors = False
    return options


@cache
def _compiler() -> Any:
    """Return the compiler of all expressions.

    ``re2.compile`` reads and copies each option for each expression, which takes most of its time.
    """
    import re2

    kind: Callable[..., Any] = type(re2.compile(""))
    return partial(kind, options=_options())


def matches(pattern: str, text: str) -> bool:
    """Return whether a part of a text matches; an invalid expression matches every text."""
    try:
        return pattern_of(pattern).search(text) is not None
    except (PatternError, UnicodeEncodeError):
        return True


def regex_problem(text: str) -> str:
    """Return the error of Go's parser for a regular expression; empty if it is valid.

    A valid expression is not compiled: that may take thousands of times as long as its parse.
    """
    if _is_parsed(text):
        return ""
    try:
        pattern_of(text)
    except PatternError as error:
        return str(error)
    return ""


def _is_parsed(text: str) -> bool:
    """Return whether RE2 parses an expression: the addition to a set does not compile it."""
    import re2

    try:
        re2.Set.SearchSet(_options()).Add(text)
    except (re2.error, UnicodeEncodeError):
        return False
    return _ANY_BYTE.match(text) is None


def _go_text(stated: str, pattern: str) -> str:
    """Return the error of RE2 in the words of Go."""
    if stated.startswith(_TRAILING):
        return "trailing backslash at end of expression: ``"
    for start, words in _WORDS:
        if stated.startswith(f"{start}: "):
            part = stated.removeprefix(f"{start}: ")
            return f"{words}: `{pattern if words.endswith(')') else part}`"
    return stated
