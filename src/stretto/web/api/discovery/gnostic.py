"""The OpenAPI v2 document as a protobuf message of gnostic, the form in which kubectl reads it.

Only the fields that documents of this server have are encoded, by their numbers in gnostic's
``OpenAPIv2.proto``.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stretto.api.schema.protobuf import bytes_field, varint_field

Json = dict[str, Any]

ACCEPTED: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""Media type that clients accept."""
MEDIA: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Media type of the answer."""

_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}


def document(value: Json) -> bytes:
    """A document."""
    paths = b"".join(
        bytes_field(2, _named(name, _path(each))) for name, each in value["paths"].items()
    )
    schemas = b"".join(
        bytes_field(1, _named(name, _schema(each))) for name, each in value["definitions"].items()
    )
    info = _text(1, value["info"]["title"]) + _text(2, value["info"]["version"])
    return b"".join(
        (
            _text(1, value["swagger"]),
            bytes_field(2, info),
            bytes_field(8, paths),
            bytes_field(9, schemas),
        )
    )


def _text(number: int, text: str) -> bytes:
    return bytes_field(number, text.encode())


def _named(name: str, content: bytes) -> bytes:
    return _text(1, name) + bytes_field(2, content)


def _any(value: Any) -> bytes:
    """A value as YAML, of which JSON is a part."""
    return bytes_field(2, msgspec.json.encode(value))


def _extensions(number: int, value: Json) -> Iterator[bytes]:
    for name, each in value.items():
        if name.startswith("x-"):
            yield bytes_field(number, _named(name, _any(each)))


def _path(value: Json) -> bytes:
    return b"".join(bytes_field(_METHODS[name], _operation(each)) for name, each in value.items())


def _operation(value: Json) -> bytes:
    parameters = b"".join(
        bytes_field(8, bytes_field(1, _parameter(each))) for each in value.get("parameters", ())
    )
    response = bytes_field(1, _text(1, "OK"))
    responses = bytes_field(1, _named("200", response))
    return b"".join(
        (
            _text(5, value["operationId"]),
            parameters,
            bytes_field(9, responses),
            *_extensions(13, value),
        )
    )


def _parameter(value: Json) -> bytes:
    """A parameter of the query: four messages in one another."""
    query = _text(2, value["in"]) + _text(4, value["name"]) + _text(6, value["type"])
    return bytes_field(2, bytes_field(3, query))


_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_COUNTS: Final = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17,
    "minProperties": 18,
}  # fmt: skip


def _schema(value: Json) -> bytes:
    parts = [_text(number, value[name]) for name, number in _TEXTS.items() if name in value]
    parts += [
        varint_field(number, value[name]) for name, number in _COUNTS.items() if name in value
    ]
    if "default" in value:
        parts.append(bytes_field(5, _any(value["default"])))
    parts += [_text(19, each) for each in value.get("required", ())]
    parts += [bytes_field(20, _any(each)) for each in value.get("enum", ())]
    more = value.get("additionalProperties")
    if isinstance(more, bool):
        parts.append(bytes_field(21, varint_field(2, int(more))))
    elif more is not None:
        parts.append(bytes_field(21, bytes_field(1, _schema(more))))
    if "type" in value:
        parts.append(bytes_field(22, _text(1, value["type"])))
    if "items" in value:
        parts.append(bytes_field(23, bytes_field(1, _schema(value["items"]))))
    parts += [bytes_field(24, _schema(each)) for each in value.get("allOf", ())]
    properties = [
        bytes_field(1, _named(name, _schema(each)))
        for name, each in value.get("properties", {}).items()
    ]
    if properties:
        parts.append(bytes_field(25, b"".join(properties)))
    return b"".join([*parts, *_extensions(31, value)])
