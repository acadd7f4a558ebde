"""The table of messages: names, numbers and types of all fields, read from ``tables/*.fields``.

Both codecs, JSON and protobuf, use this table. A message is a plain mapping from field names to
values: enums are their names, bytes are base64 text, 64-bit integers are integers.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias

import msgspec

Message: TypeAlias = dict[str, Any]
"""A decoded message: values by field name; an unset field is absent."""

DEFAULTS: Final[Mapping[str, Any]] = {
    "string": "",
    "bytes": "",
    "bool": False,
    "double": 0.0,
    "float": 0.0,
    "int32": 0,
    "int64": 0,
    "uint32": 0,
    "uint64": 0,
}
"""Plain types with the values of unset fields."""


class Label(Enum):
    """Cardinality of a field."""

    #: At most once.
    OPTIONAL = ""
    #: Exactly once.
    REQUIRED = "!"
    #: Any number of times.
    REPEATED = "*"
    #: A mapping from strings.
    MAP = "{}"


class Field(msgspec.Struct, frozen=True):
    """One field of a message."""

    #: The number in protobuf.
    number: int
    #: The name in JSON and protobuf.
    name: str
    #: A plain type, or the name of a message or an enum.
    type: str
    #: Cardinality.
    label: Label
    #: The default in the table; ``None`` if there is none.
    default: str | None = None

    @property
    def plain(self) -> bool:
        """True if the type is neither a message nor an enum."""
        return self.type in DEFAULTS


class MessageType(msgspec.Struct, frozen=True):
    """The fields of one message."""

    #: The name; nested names are joined by dots.
    name: str
    #: Fields by name, by ascending number.
    fields: Mapping[str, Field]


class Schema(msgspec.Struct, frozen=True):
    """All messages and enums."""

    #: Messages by name.
    messages: Mapping[str, MessageType]
    #: Numbers by value name, by enum.
    enums: Mapping[str, Mapping[str, int]]


@cache
def schema() -> Schema:
    """The table, read once."""
    messages: dict[str, MessageType] = {}
    enums: dict[str, dict[str, int]] = {}
    for entry in _entries():
        head, _, body = entry.partition(": ")
        parts = body.split(", ") if body else []
        if head.startswith("enum "):
            pairs = (part.split("=") for part in parts)
            enums[head.removeprefix("enum ")] = {name: int(number) for name, number in pairs}
        else:
            name = head.removesuffix(":")
            fields = (_field(part) for part in parts)
            messages[name] = MessageType(name, {field.name: field for field in fields})
    return Schema(messages, enums)


def message_type(name: str) -> MessageType:
    """The message with this name.

    Raises:
        KeyError: the table has no such message.
    """
    return schema().messages[name]


def _entries() -> Iterator[str]:
    """Entries of all tables with their continuation lines joined."""
    for file in (resources.files(__package__) / "tables").iterdir():
        entry = ""
        for line in file.read_text().splitlines():
            if line.startswith("#"):
                continue
            if line.startswith("  "):
                entry += " " + line.strip()
                continue
            if entry:
                yield entry
            entry = line.strip()
        if entry:
            yield entry


def _field(text: str) -> Field:
    number, name, described = text.split(" ")
    kind, equals, default = described.partition("=")
    label = next(
        each
        for each in (Label.MAP, Label.REPEATED, Label.REQUIRED, Label.OPTIONAL)
        if kind.endswith(each.value)
    )
    value = default.strip('"') if equals else None
    return Field(int(number), name, kind.removesuffix(label.value), label, value)
