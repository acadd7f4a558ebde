"""Functions of texts, and of patterns in RE2 syntax."""

from collections.abc import Mapping
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

from stretto.api.checks.fields.patterns import TextPattern, pattern_of, program_of, regex_problem
from stretto.cel.functions.templates import formatted
from stretto.cel.running.budget import limited, limited_search
from stretto.cel.running.values import EvaluationError, OverBudgetError

_QUOTED: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_UPPER: Final = str.maketrans(ascii_lowercase, ascii_uppercase)
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def check_pattern(text: str) -> None:
    """Refuse a text that is no pattern; a pattern is not compiled, which may take long.

    Raises:
        EvaluationError: the text is no pattern.
    """
    problem = regex_problem(text)
    if problem:
        raise EvaluationError(problem)


def _program(text: str, pattern: str) -> TextPattern:
    """The program of a pattern for a text, in which the search is not too long."""
    found = program_of(pattern, is_ascii=text.isascii())
    if not found.size:
        check_pattern(pattern)
    limited_search(found, text)
    return found


def matches(text: str, pattern: str) -> bool:
    """True if a part of a text matches a pattern."""
    return _program(text, pattern).matches(text)


def find(text: str, pattern: str) -> str:
    """The first part of a text that matches a pattern; empty without."""
    _program(text, pattern)
    found = pattern_of(pattern).search(text)
    return str(found[0]) if found else ""


def find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    """The parts of a text that match a pattern; at most a number of them, if not negative."""
    _program(text, pattern)
    matches, scanned = pattern_of(pattern).finditer(text), 0
    found: list[str] = []
    for each in matches if most < 0 else islice(matches, most):
        found.append(str(each[0]))
        scanned += len(text) - each.end()  # the next search may read the whole rest
        if scanned > _MOST_SCANNED:
            raise OverBudgetError
    return found


_MOST_SCANNED: Final = 30_000_000
"""Characters that the searches for all parts of a text may read: 50 milliseconds."""


def _checked(index: int, text: str, *, most: int | None = None) -> int:
    if not 0 <= index <= (len(text) if most is None else most):
        raise EvaluationError(f"index out of range: {index}")
    return index


def char_at(text: str, index: int) -> str:
    """The character at an index; empty at the end."""
    return text[_checked(index, text) :][:1]


def index_in(text: str, part: str, start: int = 0) -> int:
    """The index of the first occurrence of a part at or after a start; -1 without."""
    if not part:
        return start
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def last_index_in(text: str, part: str, start: int | None = None) -> int:
    """The index of the last occurrence of a part at or before a start; -1 without."""
    if not part:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def substring(text: str, start: int, end: int | None = None) -> str:
    """The characters between two indices."""
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    last = len(text) if end is None else end
    return text[_checked(start, text) : _checked(last, text)]


def replaced(text: str, old: str, new: str, most: int = -1) -> str:
    """A text with other parts; at most a number of them, if not negative."""
    limited(len(text) + text.count(old) * len(new))
    return text.replace(old, new, most)


def split(text: str, separator: str, most: int = -1) -> list[str]:
    """The parts of a text between separators; at most a number of them, if not negative."""
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or len(text) <= most:
        return list(text)
    return [*text[: most - 1], text[most - 1 :]]


def _cased(text: str, *, upper: bool) -> str:
    return text.translate(_UPPER if upper else _LOWER)


def joined(items: Any, separator: str = "") -> str:
    """The texts of a list in one text."""
    for each in items:
        if not isinstance(each, str):
            raise EvaluationError(f"join: invalid input: {each}")
    limited(sum(map(len, items)) + len(separator) * len(items))
    return separator.join(items)


def quoted(text: str) -> str:
    """A text as a literal."""
    return f'"{text.translate(_QUOTED)}"'


def escaped_key(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


TEXTS: Final[Mapping[str, Any]] = {
    "charAt": char_at,
    "contains": lambda text, part: part in text,
    "endsWith": lambda text, part: text.endswith(part),
    "find": find,
    "findAll": find_all,
    "format": formatted,
    "join": joined,
    "jsonpatch.escapeKey": escaped_key,
    "lowerAscii": lambda text: _cased(text, upper=False),
    "matches": matches,
    "replace": replaced,
    "split": split,
    "startsWith": lambda text, part: text.startswith(part),
    "strings.quote": quoted,
    "substring": substring,
    "trim": lambda text: text.strip(_SPACE),
    "upperAscii": lambda text: _cased(text, upper=True),
}
"""Functions of texts by name."""
