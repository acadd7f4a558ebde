"""Literals of objects and operations in CEL: ``Object{…}``, ``Object.spec{…}``, ``JSONPatch{…}``.

The types of these literals accept any field and no schema declares them. Therefore a literal is
rewritten as a call with a map before the compilation. Positions in errors are those of the original
expression.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from cel_expr_python import cel

from stretto.web.api.cel.functions import free_function

Json = dict[str, Any]

OBJECT: Final = "Object"
"""Type of an applied configuration."""
OPERATION: Final = "JSONPatch"
"""Type of an operation of a JSON patch."""
_ROOTS: Final = (OBJECT, OPERATION)
_TYPE: Final = "\x01type"
"""Member that contains the type of a value; no field has this name."""
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
"""Fields of an operation with text values."""


class LiteralError(Exception):
    """The type of a literal does not match its field."""


@dataclass(frozen=True)
class Rewritten:
    """An expression without object literals."""

    #: The original expression.
    source: str
    #: The rewritten expression, which is compiled.
    text: str
    #: Pairs of offsets in the rewritten and in the original expression at which a token begins.
    offsets: tuple[tuple[int, int], ...]

    def located(self, problem: str) -> str:
        """Return the compiler's errors with positions in the original expression."""
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
    """Return the error about a field of an operation, whose name precedes it."""
    unfit = _UNFIT.search(problem)
    if unfit is None:
        return problem
    name = re.findall(r"\w+", before)[-1]
    wanted = "string" if unfit[1] == "text" else ""
    return f"expected type of field '{name}' is '{wanted}' but provided type is '{unfit[2]}'"


class _Bracket:
    """An open bracket of a literal, or another one."""

    def __init__(self, literal: str = "") -> None:
        #: Type of the literal; empty for other brackets.
        self.literal = literal
        self._wants_field = bool(literal)
        self._field = ""
        self._end = ""

    def name(self, text: str) -> str:
        """Return the replacement of a name: a text if the name is that of a field."""
        if not self._wants_field:
            return text
        self._wants_field, self._field = False, text
        return f'"{text}"'

    def colon(self) -> str:
        """Return the replacement of a colon before a field's value, with a check of its type."""
        name, self._field = self._field, ""
        if self.literal != OPERATION or name in ("", "value"):
            return ":"
        self._end = ")"
        return f": made_{'text' if name in _TEXTS else 'nothing'}("

    def comma(self) -> str:
        """Return the replacement of a comma."""
        end, self._end, self._wants_field = self._end, "", bool(self.literal)
        return f"{end},"

    def close(self, text: str) -> str:
        """Return the replacement of the closing bracket."""
        return f"{self._end}{text})" if self.literal and text == "}" else text


def rewritten(source: str) -> Rewritten:
    """Rewrite the literals of an expression as calls."""
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
    """Return the replacement of a token."""
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
    """Return the functions that create the values of literals, as declarations of an environment.

    Args:
        checks: whether the functions have the types of the literals. Such functions are only for
            compilation, because the library cannot evaluate calls of unknown types.
    """
    kinds: dict[str, tuple[Any, list[Any], Callable[..., Any]]] = {
        "made_member": (cel.Type.DYN, [cel.Type.STRING, cel.Type.MAP], _made),
        "made_text": (cel.Type.STRING, [cel.Type.STRING], str),
        "made_nothing": (cel.Type.DYN, [cel.Type.AbstractType("nothing")], str),
    }
    for root in _ROOTS:
        kind = cel.Type.AbstractType(root) if checks else cel.Type.DYN
        kinds[f"made_{root}"] = (kind, [cel.Type.MAP], partial(_made, root))
    return [free_function(name, kind, impl, takes) for name, (kind, takes, impl) in kinds.items()]


def _made(name: Any, fields: Any) -> Json:
    return {_TYPE: str(name), **dict(fields)}


def configuration_of(value: Any) -> Json:
    """Return the applied configuration in the value of an expression.

    Raises:
        LiteralError: a literal has the type of another field.
    """
    _check(value, OBJECT)
    found: Json = _plain(value)
    return found


def operations_of(value: Any) -> list[Json]:
    """Return the operations of the JSON patch in the value of an expression."""
    return [_plain(each) for each in value]


def _check(value: Any, path: str) -> None:
    """Refuse literals whose type does not match the path of their field."""
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
    """Yield the members of a value, with the type required of a literal there."""
    if isinstance(value, dict) and _TYPE in value:
        yield from ((f"{path}.{key}", each) for key, each in value.items() if key != _TYPE)
    elif isinstance(value, dict):
        yield from ((path, each) for each in value.values())
    elif isinstance(value, list):
        yield from ((path, each) for each in value)


def _plain(value: Any) -> Any:
    """Return a value without the types of its literals."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key != _TYPE}
    return [_plain(each) for each in value] if isinstance(value, list) else value
