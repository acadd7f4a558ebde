"""Shards of lists and watches: the objects whose hash is in given ranges.

``shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')`` selects about half
of the objects; ``||`` joins ranges. The hash is FNV-1a with 64 bits. A selector is an expression of
CEL that is parsed and never evaluated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.wire.shards import fnv1a
from stretto.cel.language.nodes import (
    CallNode,
    ConstantNode,
    FoldNode,
    ListNode,
    MapNode,
    NameNode,
    Node,
    SelectNode,
    StructNode,
)
from stretto.cel.language.parsing import ExpressionSyntaxError, parse
from stretto.cel.running.values import CelUint
from stretto.web.api.failures import ApiError, internal

_END: Final = 1 << 64
"""The first number beyond the hashes."""
_MOST_CHARACTERS: Final = 20_000
"""Maximum length of a selector: 250 ranges."""
_DIGITS: Final = 16
"""Digits of a hash in base 16."""
_FIELDS: Final = ("object.metadata.uid", "object.metadata.namespace")
_KINDS: Final[dict[type, int]] = {
    CallNode: 1,
    FoldNode: 2,
    NameNode: 3,
    ListNode: 4,
    ConstantNode: 5,
    MapNode: 6,
    SelectNode: 7,
    StructNode: 8,
}
"""Maps nodes to the numbers of their kinds in cel-go."""
_CONSTANTS: Final[dict[type, str]] = {
    bool: "bool",
    int: "int64",
    CelUint: "uint64",
    float: "float64",
    bytes: "[]uint8",
}
"""Maps the types of constants to their types in cel-go."""


@dataclass(frozen=True)
class ShardSelector:
    """Ranges of hashes of one field."""

    #: ``uid`` or ``namespace``.
    field: str
    #: (first hash, hash after the last) of each range.
    ranges: tuple[tuple[int, int], ...]

    def selects(self, uid: str, namespace: str) -> bool:
        """Return whether an object is in a range."""
        found = fnv1a(uid if self.field == "uid" else namespace)
        return any(start <= found < end for start, end in self.ranges)

    def __str__(self) -> str:
        """Return the selector in the form of the parameter."""
        return " || ".join(
            f"shardRange(object.metadata.{self.field}, '{start:#018x}', '{end:#018x}')"
            for start, end in self.ranges
        )


def parse_shards(text: str) -> ShardSelector | None:
    """Parse the shards of a request; ``None`` without the parameter.

    Raises:
        ApiError: the selector is malformed.
    """
    if not text:
        return None
    if not text.strip():
        problem = "empty shard selector is not allowed; omit the parameter for unfiltered lists"
        raise _invalid(problem)
    if len(text) > _MOST_CHARACTERS:
        size = f"size: {len(text)}, limit {_MOST_CHARACTERS}"
        raise _invalid(f"CEL parse error: expression code point size exceeds limit: {size}")
    try:
        root = parse(text.strip()).root
    except ExpressionSyntaxError as error:
        message = str(error).partition("\n")[0].partition(": ")[2]
        raise _invalid(f"CEL parse error: {message.partition(': ')[2]}") from error
    found = list(_ranges(root))
    first = found[0][0]
    for field, _, _ in found:
        if field != first:
            problem = "all shard ranges must use the same field, got"
            raise _invalid(f"{problem} {quoted(first)} and {quoted(field)}")
    return ShardSelector(first.rpartition(".")[2], tuple((start, end) for _, start, end in found))


def _ranges(node: Node) -> Iterator[tuple[str, int, int]]:
    """The ranges of an expression: field, first hash, and the hash after the last."""
    if not isinstance(node, CallNode):
        problem = f"unexpected expression kind {_KINDS[type(node)]}"
        raise _invalid(f"{problem}; expected shardRange() call or || operator")
    if node.function == "_||_":
        for each in node.arguments:
            yield from _ranges(each)
    elif node.function == "shardRange":
        yield _range(node.arguments)
    else:
        only = "only shardRange() and || are allowed"
        raise _invalid(f"unsupported function {quoted(node.function)}; {only}")


def _range(arguments: Sequence[Node]) -> tuple[str, int, int]:
    if len(arguments) != 3:
        raise _invalid(f"shardRange() requires exactly 3 arguments, got {len(arguments)}")
    field = _path(arguments[0])
    if field not in _FIELDS:
        problem = f"unsupported field path {quoted(field)}; supported: {', '.join(_FIELDS)}"
        raise _invalid(problem)
    start, end = _number(arguments[1], "hexStart"), _number(arguments[2], "hexEnd")
    if start >= end:
        problem = f"shard range start {start:#018x} must be less than end {end:#018x}"
        raise _invalid(problem)
    return field, start, end


def _path(node: Node) -> str:
    if isinstance(node, NameNode):
        return node.name
    if isinstance(node, SelectNode):
        return f"{_path(node.operand)}.{node.field}"
    expected = "expected field path (e.g. object.metadata.uid)"
    problem = f"{expected}, got expression kind {_KINDS[type(node)]}"
    raise _invalid(f"shardRange() first argument: {problem}")


def _number(node: Node, name: str) -> int:
    """Parse a bound of a range."""
    if not isinstance(node, ConstantNode):
        problem = f"got expression kind {_KINDS[type(node)]}"
        raise _invalid(f"{name} must be a string literal (e.g. '0xff'), {problem}")
    text = node.value
    if not isinstance(text, str):
        found = _CONSTANTS.get(type(text), "structpb.NullValue")
        raise _invalid(f"{name} must be a string literal, got {found}")
    if not text.startswith("0x"):
        raise _invalid(f"{name} must have '0x' prefix, got {quoted(text)}")
    digits = text[2:]
    if not digits:
        raise _invalid(f"{name}: hex value is required after '0x'")
    if len(digits) > _DIGITS + 1:
        size = f"{len(digits.encode())} chars, max {_DIGITS + 1}"
        raise _invalid(f"{name}: hex value too long ({size}): {quoted(digits)}")
    strange = next((each for each in digits if each not in "0123456789abcdef"), "")
    if strange:
        raise _invalid(f"{name}: invalid hex character {quoted(strange)} in {quoted(text)}")
    if len(digits) == _DIGITS + 1 and int(digits, 16) != _END:
        problem = f"{name}: 17-digit hex value must be '{_END:#x}' (2^64), got {quoted(text)}"
        raise _invalid(problem)
    if len(digits) < _DIGITS:
        hint = f"(did you mean {quoted('0x' + digits.rjust(_DIGITS, '0'))}?)"
        problem = f"{name} must be a 0x-prefixed 16-digit hex value, got {quoted(text)}"
        raise _invalid(f"{problem} {hint}")
    return int(digits, 16)


def _invalid(problem: str) -> ApiError:
    return internal(f"invalid shard selector: {problem}")
