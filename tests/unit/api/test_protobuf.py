"""The protobuf encoding of Kubernetes: schemas that are a schema or something else."""

from typing import Any

import pytest

from stretto.api.schema.kubernetes import struct
from stretto.api.schema.protobuf import (
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
