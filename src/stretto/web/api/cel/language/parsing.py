"""Parser of expressions: the parser of cel-cpp, whose result is read from its protobuf message."""

import re
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional

from stretto.web.api.cel.language.macros import Expander, MacroError
from stretto.web.api.cel.language.nodes import (
    CallNode,
    ConstantNode,
    Entry,
    FoldNode,
    ListNode,
    MapNode,
    NameNode,
    Node,
    SelectNode,
    StructNode,
    Tree,
)
from stretto.web.api.cel.language.problems import Problem, display
from stretto.web.api.cel.running.values import CelUint

_COMPILED: Final = re.compile(r"^[A-Z_]+: (.*?)(?: \[[A-Z_]+\])?$", re.DOTALL)
_PLACE: Final = re.compile(r"<input>:(\d+):(\d+)")
_MACRO: Final = re.compile(r"\w+\(\) variable name must be a simple identifier")
_BRACE: Final = re.compile(r"\s*\{")
_PARSER_DEPTH: Final = 32
"""Maximum depth of the parser, which has no option for it; that of kube-apiserver is 250."""
_MOST_DEPTH: Final = 200
"""Maximum depth of an expression; the evaluation of each level takes several frames."""
_Fields = dict[int, list[Any]]


class ExpressionSyntaxError(Exception):
    """The text is no expression; the message shows the places."""


def parse(source: str, *, has_bindings: bool = False) -> Tree:
    """Return the expression in a text.

    Args:
        source: the text.
        has_bindings: whether ``cel.bind`` is a macro.

    Raises:
        ExpressionSyntaxError: the text is no expression.
    """
    try:
        found = _parser().compile(source, disable_check=True).serialize()
    except Exception as error:
        if "recursion" in str(error):
            raise _too_deep(_PARSER_DEPTH) from error
        match = _COMPILED.match(str(error))
        raise ExpressionSyntaxError(
            _in_order(match[1] if match else str(error), has_text=bool(source))
        ) from error
    message = _fields(_last(_fields(found), 2))
    places = (_fields(each) for each in _fields(_last(message, 3)).get(4, ()))
    offsets = {_last(each, 1, 0): _last(each, 2, 0) for each in places}
    try:
        return _Reader(source, offsets, has_bindings=has_bindings).tree(_last(message, 2))
    except MacroError as error:
        problem = Problem(offsets.get(error.node, 0), str(error))
        raise ExpressionSyntaxError(display(source, [problem])) from error


def _too_deep(most: int) -> ExpressionSyntaxError:
    text = f"ERROR: <input>:-1:0: expression recursion limit exceeded: {most}"
    return ExpressionSyntaxError(text)


@cache
def _parser() -> Any:
    return cel.NewEnv(None, extensions=[ext_optional.ExtOptional()])


def _in_order(text: str, *, has_text: bool) -> str:
    """Return the errors of the parser in the order of their places.

    An empty expression has no column.
    """
    text = text.replace("<input>:1:1:", "<input>:1:0:") if not has_text else text
    errors = re.split(r"\n(?=ERROR: )", _MACRO.sub("argument must be a simple name", text))
    return "\n".join(sorted(errors, key=_place))


def _place(error: str) -> tuple[int, ...]:
    found = _PLACE.search(error)
    return tuple(map(int, found.groups())) if found else ()


class _Reader:
    """Reader of the message of one expression."""

    def __init__(self, source: str, offsets: dict[int, int], *, has_bindings: bool) -> None:
        self._source = source
        self._offsets = offsets
        self._expander = Expander(offsets, has_bindings=has_bindings)

    def tree(self, data: bytes) -> Tree:
        root = self._node(data, 0)
        return Tree(self._source, root, self._offsets)

    def _node(self, data: bytes, depth: int) -> Node:
        if depth > _MOST_DEPTH:
            raise _too_deep(_MOST_DEPTH)
        fields = _fields(data)
        number = _signed(_last(fields, 2, 0))
        for kind, read in _READERS.items():
            if kind in fields:
                node: Node = read(self, number, _last(fields, kind), depth + 1)
                return node
        return ConstantNode(number, None)

    def constant(self, number: int, data: bytes, _depth: int) -> Node:
        for kind, value in _fields(data).items():
            return ConstantNode(number, _CONSTANTS[kind](value[-1]))
        return ConstantNode(number, None)

    def name(self, number: int, data: bytes, _depth: int) -> Node:
        return NameNode(number, _text(_fields(data), 1))

    def select(self, number: int, data: bytes, depth: int) -> Node:
        fields = _fields(data)
        operand = self._node(_last(fields, 1), depth)
        return SelectNode(number, operand, _text(fields, 2), bool(_last(fields, 3, 0)))

    def call(self, number: int, data: bytes, depth: int) -> Node:
        fields = _fields(data)
        target = self._node(_last(fields, 1), depth) if 1 in fields else None
        arguments = tuple(self._node(each, depth) for each in fields.get(3, ()))
        node = CallNode(number, _text(fields, 2), target, arguments)
        return self._expander.expanded(node)

    def list(self, number: int, data: bytes, depth: int) -> Node:
        fields = _fields(data)
        items = tuple(self._node(each, depth) for each in fields.get(1, ()))
        optional = (index for each in fields.get(2, ()) for index in _packed(each))
        return ListNode(number, items, frozenset(optional))

    def struct(self, number: int, data: bytes, depth: int) -> Node:
        fields = _fields(data)
        entries = tuple(self._entry(_fields(each), depth) for each in fields.get(2, ()))
        name = _text(fields, 1)
        if not name:
            return MapNode(number, entries)
        brace = _BRACE.match(self._source, self._offsets.get(number, 0) + len(name))
        if brace is not None:
            self._offsets[number] = brace.end() - 1
        return StructNode(number, name, entries)

    def _entry(self, fields: _Fields, depth: int) -> Entry:
        key = self._node(_last(fields, 3), depth) if 3 in fields else _text(fields, 2)
        value = self._node(_last(fields, 4), depth)
        return Entry(_signed(_last(fields, 1, 0)), key, value, bool(_last(fields, 5, 0)))

    def fold(self, number: int, data: bytes, depth: int) -> Node:
        fields = _fields(data)
        parts = [self._node(_last(fields, each), depth) for each in (2, 4, 5, 6, 7)]
        range_, start, condition, step, result = parts
        names = _text(fields, 1), _text(fields, 8), _text(fields, 3)
        variable, second, accumulator = names
        return FoldNode(
            number, variable, second, range_, accumulator, start, condition, step, result
        )


_READERS: Final[dict[int, Any]] = {
    3: _Reader.constant,
    4: _Reader.name,
    5: _Reader.select,
    6: _Reader.call,
    7: _Reader.list,
    8: _Reader.struct,
    9: _Reader.fold,
}
"""Readers of the sorts of expressions by the number of their field."""


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


_CONSTANTS: Final[dict[int, Any]] = {
    1: lambda _: None,
    2: bool,
    3: _signed,
    4: CelUint,
    5: lambda raw: struct.unpack("<d", raw)[0],
    6: lambda raw: raw.decode("utf-8", "surrogatepass"),
    7: bytes,
}
"""Functions that read constants by the number of their field."""


def _last(fields: _Fields, number: int, default: Any = b"") -> Any:
    found = fields.get(number)
    return found[-1] if found else default


def _text(fields: _Fields, number: int) -> str:
    text: str = _last(fields, number).decode("utf-8", "surrogatepass")
    return text


def _fields(data: bytes) -> _Fields:
    """Return the values of a message of protobuf by the numbers of their fields."""
    found: _Fields = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        else:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _packed(data: bytes | int) -> Iterator[int]:
    if isinstance(data, int):
        yield data
        return
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value
