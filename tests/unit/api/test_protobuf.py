"""The protobuf encoding of Kubernetes: schemas that are a schema or something else."""

from typing import Any

import pytest

from stretto.api.schema.kubernetes import struct
from stretto.api.schema.protobuf import (
    ProtobufError,
    bytes_field,
    decode_message,
    encode_message,
    varint_field,
)

SCHEMA = struct("apiextensions/v1.JSONSchemaProps")
PRESERVE = "x-kubernetes-preserve-unknown-fields"
TEXT = {"type": "string"}
STRING = bytes_field(5, b"string") + bytes_field(6, b"") + varint_field(18, 0)
"""Go writes empty values too (format, uniqueItems), which JSON omits."""


@pytest.mark.parametrize(
    ("number", "message", "expected"),
    [
        (24, bytes_field(1, STRING), {"items": TEXT}),
        (24, bytes_field(2, STRING) + bytes_field(2, STRING), {"items": [TEXT, TEXT]}),
        (30, varint_field(1, 1) + bytes_field(2, STRING), {"additionalProperties": TEXT}),
        (30, varint_field(1, 1), {"additionalProperties": True}),
        (30, varint_field(1, 0), {"additionalProperties": False}),
        (24, bytes_field(1, varint_field(38, 0)), {"items": {PRESERVE: False}}),
        (30, varint_field(1, 1) + bytes_field(2, b""), {"additionalProperties": {}}),
        (8, bytes_field(1, b'{"a": [1, "b"]}'), {"default": {"a": [1, "b"]}}),
    ],
)
def test_a_message_of_a_go_client_is_the_schema_that_it_states(
    number: int, message: bytes, expected: dict[str, Any]
) -> None:
    assert decode_message(bytes_field(number, message), SCHEMA) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "object", "properties": {"a": {"items": {"type": "string"}}}}},
        {"additionalProperties": {"type": "integer"}},
        {"additionalProperties": False},
        {"dependencies": {"a": ["b", "c"], "d": {"type": "object"}}},
        {"enum": ["a", 1, None, {"b": []}], "default": "a"},
    ],
)
def test_a_schema_survives_the_way_there_and_back(schema: dict[str, Any]) -> None:
    assert decode_message(encode_message(schema, SCHEMA), SCHEMA) == schema


def test_json_in_a_message_is_escaped_as_by_go() -> None:
    message = encode_message({"default": "<&>\u2028"}, SCHEMA)
    assert message == bytes_field(8, bytes_field(1, rb'"\u003c\u0026\u003e\u2028"'))


POD = struct("core/v1.Pod")
METADATA = 1


@pytest.mark.parametrize(
    "body",
    [
        varint_field(METADATA, 3),
        bytes_field(METADATA, varint_field(1, 3)),
        bytes_field(METADATA, bytes_field(7, b"3")),
        bytes_field(METADATA, varint_field(11, 3)),
        bytes_field(METADATA, bytes_field(11, varint_field(1, 3))),
        bytes_field(METADATA, bytes_field(8, bytes_field(1, b"3"))),
        bytes_field(METADATA, bytes_field(17, bytes_field(7, bytes_field(1, b"{")))),
        b"\x0a\xff",
    ],
    ids=[
        "a number for a message", "a number for a text", "bytes for a number",
        "a number for an entry", "a number for a key", "bytes in a time", "broken JSON", "cut off",
    ],
)  # fmt: skip
def test_fields_of_another_wire_type_are_refused(body: bytes) -> None:
    with pytest.raises(ProtobufError):
        decode_message(body, POD)


def test_a_message_that_is_too_deep_is_refused() -> None:
    message = b""
    for _ in range(2_000):
        message = bytes_field(24, bytes_field(1, message))
    with pytest.raises(ProtobufError):
        decode_message(message, SCHEMA)
