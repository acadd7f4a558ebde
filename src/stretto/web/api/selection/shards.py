"""Shards of lists and watches: the objects whose hash is in given ranges.

``shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')`` selects about half
of the objects; ``||`` joins ranges. The hash is FNV-1a with 64 bits.
"""

import re
from dataclasses import dataclass
from typing import Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.wire.shards import fnv1a
from stretto.web.api.failures import ApiError, internal

_END: Final = 1 << 64
"""The first number beyond the hashes."""
_DIGITS: Final = 16
"""Digits of a hash in base 16."""
_FIELDS: Final = ("object.metadata.uid", "object.metadata.namespace")
_CALL: Final = re.compile(r"shardRange\s*\((.*)\)", re.DOTALL)
_TEXT: Final = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")
_FORMS: Final = "only shardRange() and || are allowed"


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
    fields: list[str] = []
    ranges: list[tuple[int, int]] = []
    for part in text.split("||"):
        field, start, end = _range(part.strip())
        if fields and fields[0] != field:
            problem = "all shard ranges must use the same field, got"
            raise _invalid(f"{problem} {quoted(fields[0])} and {quoted(field)}")
        fields.append(field)
        ranges.append((start, end))
    return ShardSelector(fields[0].rpartition(".")[2], tuple(ranges))


def _range(text: str) -> tuple[str, int, int]:
    """Parse a range: its field, its first hash, and the hash after its last."""
    call = _CALL.fullmatch(text)
    if call is None:
        raise _invalid(f"unexpected expression {quoted(text)}; {_FORMS}")
    arguments = [each.strip() for each in call[1].split(",")]
    if len(arguments) != 3:
        count = len(arguments) if call[1].strip() else 0
        raise _invalid(f"shardRange() requires exactly 3 arguments, got {count}")
    field = arguments[0]
    if field not in _FIELDS:
        problem = f"unsupported field path {quoted(field)}; supported: {', '.join(_FIELDS)}"
        raise _invalid(problem)
    start, end = _number(arguments[1], "hexStart"), _number(arguments[2], "hexEnd")
    if start >= end:
        problem = f"shard range start {start:#018x} must be less than end {end:#018x}"
        raise _invalid(problem)
    return field, start, end


def _number(argument: str, name: str) -> int:
    """Parse a bound of a range."""
    match = _TEXT.fullmatch(argument)
    if match is None:
        word = "int64" if argument.isdigit() else argument
        raise _invalid(f"{name} must be a string literal, got {word}")
    text = match[1] if match[1] is not None else match[2]
    if not text.startswith("0x"):
        raise _invalid(f"{name} must have '0x' prefix, got {quoted(text)}")
    digits = text[2:]
    strange = next((each for each in digits if each not in "0123456789abcdef"), "")
    if strange:
        raise _invalid(f"{name}: invalid hex character {quoted(strange)} in {quoted(text)}")
    if len(digits) == _DIGITS + 1 and int(digits, 16) != _END:
        problem = f"{name}: 17-digit hex value must be '{_END:#x}' (2^64), got {quoted(text)}"
        raise _invalid(problem)
    if len(digits) not in (_DIGITS, _DIGITS + 1):
        shown = quoted(f"0x{digits.rjust(_DIGITS, '0')}")
        hint = f" (did you mean {shown}?)" if len(digits) < _DIGITS else ""
        problem = f"{name} must be a 0x-prefixed 16-digit hex value, got {quoted(text)}{hint}"
        raise _invalid(problem)
    return int(digits, 16)


def _invalid(problem: str) -> ApiError:
    return internal(f"invalid shard selector: {problem}")
