"""The OpenAPI v3 documents as protobuf messages of gnostic.

Only the fields in documents of this server are encoded, by their numbers in gnostic's
``OpenAPIv3.proto``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from stretto.api.schema.protobuf import bytes_field, double_field, varint_field
from stretto.web.api.discovery.openapi.gnostic.wire import any_value, extensions, named, text

Json = dict[str, Any]

ACCEPTED: Final = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
"""Media type in Accept headers of clients."""
MEDIA: Final = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
"""Media type of the response."""

_METHODS: Final = {
    "get": 4, "put": 5, "post": 6, "delete": 7, "options": 8, "head": 9, "patch": 10,
}  # fmt: skip


def document(body: bytes) -> bytes:
    """Encode a JSON document as a message."""
    value = msgspec.json.decode(body)
    info = text(1, value["info"]["title"]) + text(6, value["info"]["version"])
    return b"".join(
        (
            text(1, value["openapi"]),
            bytes_field(2, info),
            bytes_field(4, _pairs(1, value["paths"], _path)),
            bytes_field(5, _components(value["components"])),
        )
    )


def _pairs(number: int, values: Json, encode: Callable[[Json], bytes]) -> bytes:
    """Encode a map as pairs of names and messages."""
    return b"".join(bytes_field(number, named(name, encode(each))) for name, each in values.items())


def _components(value: Json) -> bytes:
    schemas = bytes_field(1, _pairs(1, value["schemas"], _schema)) if "schemas" in value else b""
    known = value.get("securitySchemes")
    return schemas + (bytes_field(7, _pairs(1, known, _security)) if known else b"")


def _security(value: Json) -> bytes:
    found = text(1, value["type"]) + text(2, value["description"])
    return bytes_field(1, found + text(3, value["name"]) + text(4, value["in"]))


def _path(value: Json) -> bytes:
    operations = (
        bytes_field(number, _operation(value[name]))
        for name, number in _METHODS.items()
        if name in value
    )
    return b"".join((*operations, *_parameters(13, value)))


def _parameters(number: int, value: Json) -> Iterable[bytes]:
    for each in value.get("parameters", ()):
        yield bytes_field(number, bytes_field(1, _parameter(each)))


def _parameter(value: Json) -> bytes:
    parts = [text(1, value["name"]), text(2, value["in"])]
    if "description" in value:
        parts.append(text(3, value["description"]))
    if value.get("required"):
        parts.append(varint_field(4, 1))
    return b"".join([*parts, bytes_field(10, _schema(value["schema"]))])


def _operation(value: Json) -> bytes:
    parts = [text(1, each) for each in value.get("tags", ())]
    if "description" in value:
        parts.append(text(3, value["description"]))
    parts += [text(5, value["operationId"]), *_parameters(6, value)]
    if "requestBody" in value:
        parts.append(bytes_field(7, bytes_field(1, _body(value["requestBody"]))))
    answers = _pairs(2, value["responses"], lambda each: bytes_field(1, _response(each)))
    return b"".join([*parts, bytes_field(8, answers), *extensions(13, value)])


def _body(value: Json) -> bytes:
    needed = varint_field(3, 1) if value.get("required") else b""
    return bytes_field(2, _content(value["content"])) + needed


def _content(value: Json) -> bytes:
    return _pairs(1, value, lambda each: bytes_field(1, _schema(each["schema"])))


def _response(value: Json) -> bytes:
    content = bytes_field(3, _content(value["content"])) if "content" in value else b""
    return text(1, value["description"]) + content


_COUNTS: Final = {
    "maxLength": 15, "minLength": 16, "maxItems": 18, "minItems": 19, "maxProperties": 21,
    "minProperties": 22,
}  # fmt: skip
_BOUNDS: Final = {"multipleOf": 10, "maximum": 11, "minimum": 13}
_FLAGS: Final = {
    "nullable": 1, "exclusiveMaximum": 12, "exclusiveMinimum": 14, "uniqueItems": 20,
}  # fmt: skip
_TEXTS: Final = {"title": 9, "pattern": 17, "type": 25, "description": 34, "format": 35}
_ALTERNATIVES: Final = {"allOf": 26, "oneOf": 27, "anyOf": 28}


def _schema(value: Json) -> bytes:
    """Encode a schema, or a reference to one."""
    if "$ref" in value:
        return bytes_field(2, text(1, value["$ref"]))
    return bytes_field(1, _plain_schema(value))


def _plain_schema(value: Json) -> bytes:
    parts = [varint_field(number, 1) for name, number in _FLAGS.items() if value.get(name)]
    parts += [
        double_field(number, value[name]) for name, number in _BOUNDS.items() if name in value
    ]
    parts += [
        varint_field(number, value[name]) for name, number in _COUNTS.items() if name in value
    ]
    parts += [text(23, each) for each in value.get("required", ())]
    parts += [bytes_field(24, any_value(each)) for each in value.get("enum", ())]
    parts += [text(number, value[name]) for name, number in _TEXTS.items() if name in value]
    for name, number in _ALTERNATIVES.items():
        parts += [bytes_field(number, _schema(each)) for each in value.get(name, ())]
    if "not" in value:
        parts.append(bytes_field(29, _plain_schema(value["not"])))
    if "items" in value:
        parts.append(bytes_field(30, bytes_field(1, _schema(value["items"]))))
    if "properties" in value:
        parts.append(bytes_field(31, _pairs(1, value["properties"], _schema)))
    more = value.get("additionalProperties")
    if isinstance(more, bool):
        parts.append(bytes_field(32, varint_field(2, int(more))))
    elif more is not None:
        parts.append(bytes_field(32, bytes_field(1, _schema(more))))
    if "default" in value:
        parts.append(_default(value["default"]))
    return b"".join([*parts, *extensions(36, value)])


def _default(value: Any) -> bytes:
    """Encode a default; only numbers, booleans and texts can be encoded."""
    if isinstance(value, bool):
        return bytes_field(33, varint_field(2, int(value)))
    if isinstance(value, int | float):
        return bytes_field(33, double_field(1, float(value)))
    return bytes_field(33, text(3, value)) if isinstance(value, str) else bytes_field(33, b"")
