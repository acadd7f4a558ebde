"""Regular expressions in the syntax of Go, which is that of RE2, with the errors of its parser."""

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple

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


COMPILATION: Final = 100
"""Steps of the compilation of one instruction: as long as steps of RE2's slower engine."""
_MEMORY: Final = 2 << 20
"""Bytes of a compiled expression and of its automaton; larger expressions are not compiled."""
_KEPT: Final = 256
"""Compiled expressions that are kept."""
_TOO_LARGE: Final = 1 << 20
"""Instructions of an expression that is not compiled: more than any that is."""


class TextPattern(NamedTuple):
    """A compiled regular expression for some texts."""

    #: Return whether a part of a text matches.
    matches: Callable[[str], bool]
    #: Number of instructions: RE2 takes at most one step for each of them and each character.
    size: int


def pattern_of(text: str) -> Any:
    """Return the compiled regular expression of a text, without groups.

    Raises:
        PatternError: the text is none.
    """
    found = _compiled(text)
    if isinstance(found, str):
        raise PatternError(found)
    return found


@lru_cache(maxsize=_KEPT)
def _compiled(text: str) -> Any:
    """Return the compiled expression of a text, or the message of Go about it."""
    import re2

    if _ANY_BYTE.match(text):
        return "error parsing regexp: invalid escape sequence: `\\C`"
    try:
        return _compiler()(text)
    except re2.error as error:
        stated = error.args[0] if error.args else ""
        shown = stated.decode(errors="replace") if isinstance(stated, bytes) else str(stated)
        return f"error parsing regexp: {_go_text(shown, text)}"
    except UnicodeEncodeError:
        return "error parsing regexp: invalid UTF-8"


@lru_cache(maxsize=_KEPT)
def program_of(pattern: str, *, is_ascii: bool) -> TextPattern:
    """Return the program of an expression for texts of ASCII, or for all texts.

    The classes of a program for ASCII have 256 characters instead of all of Unicode, so it is
    compiled and run several times faster. An invalid expression matches every text.
    """
    compiled = _ascii_pattern(pattern) if is_ascii else None
    if compiled is not None:
        return TextPattern(
            lambda text: compiled.search(text.encode()) is not None, compiled.programsize
        )
    found = _compiled(pattern)
    if isinstance(found, str):
        return TextPattern(lambda _: True, _TOO_LARGE if "too large" in found else 0)
    return TextPattern(partial(_is_found, found), found.programsize)


def _is_found(compiled: Any, text: str) -> bool:
    try:
        return compiled.search(text) is not None
    except UnicodeEncodeError:
        return True


def _ascii_pattern(text: str) -> Any:
    """Return the expression for texts of ASCII; ``None`` if only that for all texts is valid."""
    import re2

    if not text.isascii() or _ANY_BYTE.match(text):
        return None
    try:
        return _compiler(is_ascii=True)(text.encode())
    except re2.error:
        return None


@cache
def _options(*, is_ascii: bool = False) -> Any:
    """Return the options of all expressions: errors are raised, not written."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    if is_ascii:
        options.encoding = re2.Options.Encoding.LATIN1
    return options


@cache
def _compiler(*, is_ascii: bool = False) -> Any:
    """Return the compiler of all expressions.

    ``re2.compile`` reads and copies each option for each expression, which takes most of its time.
    """
    import re2

    kind: Callable[..., Any] = type(re2.compile(""))
    return partial(kind, options=_options(is_ascii=is_ascii))


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
