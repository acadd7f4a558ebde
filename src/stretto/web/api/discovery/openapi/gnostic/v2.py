"""The OpenAPI v2 document as a protobuf message of gnostic, the form that kubectl reads.

Only the fields in documents of this server are encoded, by their numbers in gnostic's
``OpenAPIv2.proto``.
"""

from typing import Any, Final

from stretto.api.schema.protobuf import bytes_field, varint_field
from stretto.web.api.discovery.openapi.gnostic.wire import any_value, extensions, named, text

Json = dict[str, Any]

ACCEPTED: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""Media type in Accept headers of clients."""
MEDIA: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Media type of the response."""

_METHODS: Final = {
    "get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8,
}  # fmt: skip


def document(value: Json) -> bytes:
    """Encode a document."""
    paths = b"".join(
        bytes_field(2, named(name, _path(each))) for name, each in value["paths"].items()
    )
    schemas = b"".join(
        bytes_field(1, named(name, _schema(each))) for name, each in value["definitions"].items()
    )
    info = text(1, value["info"]["title"]) + text(2, value["info"]["version"])
    return b"".join(
        (
            text(1, value["swagger"]),
            bytes_field(2, info),
            bytes_field(8, paths),
            bytes_field(9, schemas),
        )
    )


def _path(value: Json) -> bytes:
    operations = (
        bytes_field(number, _operation(value[name]))
        for name, number in _METHODS.items()
        if name in value
    )
    parameters = (bytes_field(9, _parameter(each)) for each in value.get("parameters", ()))
    return b"".join((*operations, *parameters))


def _operation(value: Json) -> bytes:
    texts = (
        text(number, each)
        for name, number in (("tags", 1), ("produces", 6), ("consumes", 7), ("schemes", 10))
        for each in value.get(name, ())
    )
    parameters = (bytes_field(8, _parameter(each)) for each in value.get("parameters", ()))
    responses = (
        bytes_field(1, named(status, bytes_field(1, _response(each))))
        for status, each in value["responses"].items()
    )
    return b"".join(
        (
            *texts,
            text(5, value["operationId"]),
            *parameters,
            bytes_field(9, b"".join(responses)),
            *extensions(13, value),
        )
    )


def _response(value: Json) -> bytes:
    found = text(1, value["description"])
    if "schema" in value:
        found += bytes_field(2, bytes_field(1, _schema(value["schema"])))
    return found


def _parameter(value: Json) -> bytes:
    """Encode a parameter: nested messages define its location."""
    place = value["in"]
    required = varint_field(4 if place == "body" else 1, 1) if value.get("required") else b""
    if place == "body":
        body = text(2, value["name"]) + text(3, place) + required
        return bytes_field(1, bytes_field(1, body + bytes_field(5, _schema(value["schema"]))))
    number, kind = (4, 5) if place == "path" else (3, 6)
    found = required + text(2, place) + text(4, value["name"]) + text(kind, value["type"])
    return bytes_field(1, bytes_field(2, bytes_field(number, found)))


_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_COUNTS: Final = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17,
    "minProperties": 18,
}  # fmt: skip


def _schema(value: Json) -> bytes:
    parts = [text(number, value[name]) for name, number in _TEXTS.items() if name in value]
    parts += [
        varint_field(number, value[name]) for name, number in _COUNTS.items() if name in value
    ]
    if "default" in value:
        parts.append(bytes_field(5, any_value(value["default"])))
    parts += [text(19, each) for each in value.get("required", ())]
    parts += [bytes_field(20, any_value(each)) for each in value.get("enum", ())]
    more = value.get("additionalProperties")
    if isinstance(more, bool):
        parts.append(bytes_field(21, varint_field(2, int(more))))
    elif more is not None:
        parts.append(bytes_field(21, bytes_field(1, _schema(more))))
    if "type" in value:
        parts.append(bytes_field(22, text(1, value["type"])))
    if "items" in value:
        parts.append(bytes_field(23, bytes_field(1, _schema(value["items"]))))
    parts += [bytes_field(24, _schema(each)) for each in value.get("allOf", ())]
    properties = [
        bytes_field(1, named(name, _schema(each)))
        for name, each in value.get("properties", {}).items()
    ]
    if properties:
        parts.append(bytes_field(25, b"".join(properties)))
    return b"".join([*parts, *extensions(31, value)])
