"""Literals of objects and operations in CEL: ``Object{…}``, ``Object.spec{…}``, ``JSONPatch{…}``.

The types of these literals have any field, which no schema declares. Therefore a literal is
rewritten as a call with a map before it is compiled, and positions in errors are those of the
expression as it is stated.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from cel_expr_python import cel

Json = dict[str, Any]

OBJECT: Final = "Object"
"""The type of an applied configuration."""
OPERATION: Final = "JSONPatch"
"""The type of an operation of a JSON patch."""
_ROOTS: Final = (OBJECT, OPERATION)
_TYPE: Final = "\x01type"
"""The member that holds the type of a value; no field has this name."""
_TOKEN: Final = re.compile(
    r'(?P<skip>[bB]?[rR]"[^"\n]*"|[bB]?[rR]\'[^\'\n]*\''
    r'|[bB]?"""(?:[^\\]|\\.)*?"""|[bB]?\'\'\'(?:[^\\]|\\.)*?\'\'\''
    r'|[bB]?"(?:[^"\\\n]|\\.)*"|[bB]?\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|\s+)'
    r"|(?P<made>(?<![\w.])(?:Object(?:\s*\.\s*[A-Za-z_]\w*)*|JSONPatch)\s*\{)"
    r"|(?P<open>[\[({])|(?P<close>[\])}])"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<other>.)",
    re.DOTALL,
)
_PLACE: Final = re.compile(r"<input>:(\d+):(\d+): (.*?)\n \| .*\n \| \.*\^")
_UNFIT: Final = re.compile(
    r"found no matching overload for 'made_(text|nothing)' applied to '\((.*)\)'"
)
_TEXTS: Final = ("op", "path", "from")
"""Fields of an operation that are texts."""


class LiteralError(Exception):
    """A literal whose type is not that of its place."""


@dataclass(frozen=True)
class Rewritten:
    """An expression without literals of objects."""

    #: The expression as it is stated.
    source: str
    #: The expression that is compiled.
    text: str
    #: Offsets in the compiled and in the stated expression where the same token begins.
    offsets: tuple[tuple[int, int], ...]

    def located(self, problem: str) -> str:
        """Errors of the compiler, at their places in the expression as it is stated."""
        return _PLACE.sub(self._at_source, problem)

    def _at_source(self, match: re.Match[str]) -> str:
        lines = self.text.split("\n")
        row, column = int(match[1]), int(match[2])
        offset = sum(len(each) + 1 for each in lines[: row - 1]) + column - 1
        index = bisect_right(self.offsets, (offset, len(self.source))) - 1
        made, stated = self.offsets[index]
        end = self.offsets[index + 1][1] if index + 1 < len(self.offsets) else stated + 1
        place = min(stated + offset - made, max(stated, end - 1))
        before = self.source[:place]
        start = before.rfind("\n") + 1
        shown = self.source[start:].partition("\n")[0]
        head = (
            f"<input>:{before.count(chr(10)) + 1}:{place - start + 1}: {_words(match[3], before)}"
        )
        return f"{head}\n | {shown}\n | {'.' * (place - start)}^"


def _words(problem: str, before: str) -> str:
    """The error about a field of an operation, which follows its name."""
    unfit = _UNFIT.search(problem)
    if unfit is None:
        return problem
    name = re.findall(r"\w+", before)[-1]
    wanted = "string" if unfit[1] == "text" else ""
    return f"expected type of field '{name}' is '{wanted}' but provided type is '{unfit[2]}'"


class _Bracket:
    """An open bracket: of a literal, or another one."""

    def __init__(self, literal: str = "") -> None:
        #: Type of its literal; empty for other brackets.
        self.literal = literal
        self._wants_field = bool(literal)
        self._field = ""
        self._end = ""

    def name(self, text: str) -> str:
        """The replacement of a name: a text in the place of the name of a field."""
        if not self._wants_field:
            return text
        self._wants_field, self._field = False, text
        return f'"{text}"'

    def colon(self) -> str:
        """The replacement of a colon: before the value of a field, with a check of its type."""
        name, self._field = self._field, ""
        if self.literal != OPERATION or name in ("", "value"):
            return ":"
        self._end = ")"
        return f": made_{'text' if name in _TEXTS else 'nothing'}("

    def comma(self) -> str:
        """The replacement of a comma."""
        end, self._end, self._wants_field = self._end, "", bool(self.literal)
        return f"{end},"

    def close(self, text: str) -> str:
        """The replacement of the closing bracket."""
        return f"{self._end}{text})" if self.literal and text == "}" else text


def rewritten(source: str) -> Rewritten:
    """An expression with calls in place of its literals."""
    brackets: list[_Bracket] = []
    offsets: list[tuple[int, int]] = [(0, 0)]
    parts: list[str] = []
    length = 0
    for match in _TOKEN.finditer(source):
        offsets.append((length, match.start()))
        parts.append(_emitted(match, brackets))
        length += len(parts[-1])
    offsets.append((length, len(source)))
    return Rewritten(source, "".join(parts), tuple(offsets))


def _emitted(match: re.Match[str], brackets: list[_Bracket]) -> str:
    """The replacement of a token."""
    text, kind = match[0], match.lastgroup
    top = brackets[-1] if brackets else _Bracket()
    if kind == "made":
        name = re.sub(r"[\s{]", "", text)
        brackets.append(_Bracket(name))
        return f"made_{name}({{" if name in _ROOTS else f'made_member("{name}", {{'
    if kind == "open":
        brackets.append(_Bracket())
    elif kind == "close" and brackets:
        return brackets.pop().close(text)
    elif kind == "name":
        return top.name(text)
    elif text == ":":
        return top.colon()
    elif text == ",":
        return top.comma()
    return text


def literal_functions(*, checks: bool) -> list[Any]:
    """The functions that make the values of literals, as declarations of an environment.

    Args:
        checks: whether they have the types of the literals, for compiling only: the library cannot
            evaluate calls of unknown types.
    """
    kinds: dict[str, tuple[Any, list[Any], Callable[..., Any]]] = {
        "made_member": (cel.Type.DYN, [cel.Type.STRING, cel.Type.MAP], _made),
        "made_text": (cel.Type.STRING, [cel.Type.STRING], str),
        "made_nothing": (cel.Type.DYN, [cel.Type.AbstractType("nothing")], str),
    }
    for root in _ROOTS:
        kind = cel.Type.AbstractType(root) if checks else cel.Type.DYN
        kinds[f"made_{root}"] = (kind, [cel.Type.MAP], partial(_made, root))
    return [
        cel.FunctionDecl(name, [cel.Overload(name, kind, takes, False, impl)])
        for name, (kind, takes, impl) in kinds.items()
    ]


def _made(name: Any, fields: Any) -> Json:
    return {_TYPE: str(name), **dict(fields)}


def configuration_of(value: Any) -> Json:
    """The applied configuration that an expression yields.

    Raises:
        LiteralError: a literal has the type of another field.
    """
    _check(value, OBJECT)
    found: Json = _plain(value)
    return found


def operations_of(value: Any) -> list[Json]:
    """The operations of a JSON patch that an expression yields."""
    return [_plain(each) for each in value]


def _check(value: Any, path: str) -> None:
    """Refuse literals whose type is not the path of their field."""
    if isinstance(value, dict):
        stated = value.get(_TYPE, path)
        if stated != path:
            raise LiteralError(
                f'type mismatch: unexpected type name "{stated}", expected "{path}", which matches '
                "field name path from root Object type"
            )
    for name, each in _members(value, path):
        _check(each, name)


def _members(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The members of a value, with the type that a literal there must have."""
    if isinstance(value, dict) and _TYPE in value:
        yield from ((f"{path}.{key}", each) for key, each in value.items() if key != _TYPE)
    elif isinstance(value, dict):
        yield from ((path, each) for each in value.values())
    elif isinstance(value, list):
        yield from ((path, each) for each in value)


def _plain(value: Any) -> Any:
    """A value without the types of its literals."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key != _TYPE}
    return [_plain(each) for each in value] if isinstance(value, list) else value
