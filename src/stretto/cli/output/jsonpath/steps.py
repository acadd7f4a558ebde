"""The parts of a JSONPath template after it is read."""

from collections.abc import Callable
from enum import Enum
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final, NamedTuple

from stretto.base.errors import InputError, printable

OPTION: Final = "-o jsonpath"
_DOCUMENTED: Final = "the syntax is that of kubectl: {.items[*].name}"


class TemplateError(InputError):
    """Error: a template cannot be read, or does not fit the document."""

    def __init__(self, template: str, problem: str, hint: str = _DOCUMENTED) -> None:
        super().__init__(OPTION, template, problem, hint)

    def __str__(self) -> str:
        return f"{self.where}: {self.expected} in {printable(str(self.value))}; {self.hint}"


class PathWord(Enum):
    """A step without parameters."""

    #: ``*`` after a dot: all values of a map or list.
    CHILDREN = "*"
    #: ``..``: a value and everything below it.
    DESCENT = ".."


class PathKey(NamedTuple):
    """``.name`` or ``['name']``: the value of a key."""

    #: Name of the key.
    name: str
    #: Keys of the name as a path, for maps without the whole name; empty for none.
    apart: tuple[str, ...] = ()


class PathSlice(NamedTuple):
    """``[from:to:step]``, or ``[index]``."""

    #: First index; negative counts from the end.
    first: int
    #: Index after the last one; ``None`` for the end of the list.
    behind: int | None
    #: Distance between two elements.
    step: int
    #: True for a single index.
    single: bool


class PathUnion(NamedTuple):
    """``[0,2]`` or ``['a','b']``: the values of each part, in the order of the parts."""

    #: The parts.
    parts: "tuple[TemplatePath, ...]"


class PathFilter(NamedTuple):
    """``[?(@.a=="b")]``: the elements of a list that meet a condition."""

    #: The path on the left.
    left: "TemplatePath"
    #: The comparison; empty tests that the left path has a value.
    sign: str
    #: The path or literal on the right.
    right: "TemplatePath"


class PathLiteral(NamedTuple):
    """A text, number or boolean in braces."""

    #: Value of the literal.
    value: Any


PathStep = PathWord | PathKey | PathSlice | PathUnion | PathFilter | PathLiteral
TemplatePath = tuple[PathStep, ...]


class TemplateRange(NamedTuple):
    """``{range PATH}...{end}``: the parts, once for each value."""

    #: The path of the values.
    path: TemplatePath
    #: The parts inside.
    parts: "tuple[TemplatePart, ...]"


TemplatePart = str | TemplatePath | TemplateRange
"""Literal text, an expression, or a range."""

COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
"""The comparisons of filters."""
