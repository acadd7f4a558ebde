"""Errors of the compiler of CEL in the words of the implementation in Go."""

import re
from typing import Final

_UNDECLARED: Final = re.compile(
    r"<input>:(\d+):(\d+): undeclared reference to '(\w+)((?:\.\w+)*)' \(in container ''\)\n"
    r" \| (.*)\n \| \.*\^"
)
_PLACE: Final = re.compile(r"<input>:(\d+):(\d+)")
_UNDEFINED: Final = re.compile(r"(undefined field '\w+') not found in struct '\w+'")
_SELECTED: Final = re.compile(
    r"expression of type '([^']*)' cannot be the operand of a select operation"
)
_OVERLOAD: Final = re.compile(
    r"(<input>:\d+:(\d+): found no matching overload for '(\w+)' applied to ')\((.*)\)'\n \| (.*)\n"
)
_ONLY_GO: Final = re.compile(
    r"found no matching overload for '"
    r"(?:_[<>]=?_' applied to '\((?:u?int|double), (?:u?int|double)\)"
    r"|(?:indexOf|lastIndexOf)' applied to 'list\()"
)
"""Comparisons of numbers of different types, and positions of items."""
_WORDS: Final = (
    ("cannot be the range of", "cannot be range of"),
    ("google.protobuf.Timestamp", "timestamp"),
    ("google.protobuf.Duration", "duration"),
)
"""Maps parts of the texts to those of Go."""


def go_text(text: str) -> str:
    """Return the errors of a compilation in the order and with the positions of Go.

    The position of an unknown name is the name itself instead of its members, or the brace of a
    literal.
    """
    for part, words in _WORDS:
        text = text.replace(part, words)
    text = _UNDEFINED.sub(r"\1", text)
    text = _SELECTED.sub(r"type '\1' does not support field selection", text)
    text = _OVERLOAD.sub(_of_receiver, _UNDECLARED.sub(_at_name, text))
    errors = [each for each in _errors(text) if "*error*" not in each]
    return "\n".join(sorted(errors, key=_place)) or text


def without_allowed(text: str) -> str:
    """Return errors without those about operations on types that only Go has."""
    return "\n".join(each for each in _errors(text) if not _ONLY_GO.search(each))


def _errors(text: str) -> list[str]:
    return re.split(r"\n(?=ERROR: )", text)


def _place(error: str) -> tuple[int, ...]:
    found = _PLACE.search(error)
    return tuple(map(int, found.groups())) if found else ()


def _of_receiver(match: re.Match[str]) -> str:
    """Write the arguments of a function that is called on its first argument."""
    start, column, name, kinds, source = match.groups()
    before = source[: int(column) - 1].rstrip()
    if before.endswith(name) and before[: -len(name)].rstrip().endswith("."):
        receiver, others = _first(kinds)
        return f"{start}{receiver}.({others})'\n | {source}\n"
    return match[0]


def _first(kinds: str) -> tuple[str, str]:
    """Split the first type from a list of types."""
    depth = 0
    for index, each in enumerate(kinds):
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            return kinds[:index], kinds[index + 2 :]
    return kinds, ""


def _at_name(match: re.Match[str]) -> str:
    line, column, name, members, source = match.groups()
    whole, stated = f"{name}{members}", int(column)
    start, shown = stated - len(name) - len(members.rpartition(".")[0]), name
    if source[stated - 1 :].startswith(f"{whole}{{"):
        start, shown = stated + len(whole), whole
    elif not members:
        start = stated
    place = f"<input>:{line}:{start}: undeclared reference to '{shown}' (in container '')"
    return f"{place}\n | {source}\n | {'.' * (start - 1)}^"
