"""Parts of messages that both versions have in common."""

from collections.abc import Iterator
from typing import Any

import msgspec

from stretto.api.schema.protobuf import bytes_field

Json = dict[str, Any]


def text(number: int, value: str) -> bytes:
    """Encode a field with a text."""
    return bytes_field(number, value.encode())


def named(name: str, content: bytes) -> bytes:
    """Encode a pair of a name and a message."""
    return text(1, name) + bytes_field(2, content)


def any_value(value: Any) -> bytes:
    """Encode a value as YAML, of which JSON is a subset."""
    return bytes_field(2, msgspec.json.encode(value))


def extensions(number: int, value: Json) -> Iterator[bytes]:
    """Encode the members of an object whose names begin with ``x-``."""
    for name, each in value.items():
        if name.startswith("x-"):
            yield bytes_field(number, named(name, any_value(each)))
