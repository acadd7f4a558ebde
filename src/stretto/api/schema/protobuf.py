"""The protobuf encoding of Kubernetes, by the field numbers of the types.

Clients in Go use it by default. Four magic bytes precede an envelope that contains the object with
its kind and version.
"""

import base64
import struct as packing
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import msgspec

from stretto.api.schema.golang import html_escaped
from stretto.api.schema.types import (
    SCALARS,
    FieldType,
    Form,
    StructType,
    Union,
    ValueType,
)
from stretto.api.wire.limits import MAX_VALUES, measured, value_count
from stretto.base.errors import InputError

Json = dict[str, Any]

MAGIC: Final = b"k8s\x00"
"""First bytes of every encoded object."""
_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_INTEGERS: Final = (Form.INT32, Form.INT64, Form.BOOL)  # a set would call the hash of Enum
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_VARINT: Final = 10
_MALFORMED: Final = (
    IndexError,
    UnicodeDecodeError,
    OverflowError,
    RecursionError,
    packing.error,
    msgspec.DecodeError,
    InputError,
)
"""Exceptions caused by malformed messages."""
_NANOS: Final = 1_000_000_000
_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(0x80))
"""The numbers that are encoded in one byte: most tags and lengths."""


class ProtobufError(Exception):
    """The bytes are not an object in this encoding."""


class TooManyValuesError(ProtobufError):
    """A message has more fields than a reader accepts."""


class _CountedFields:
    """Reader of the fields of messages, which counts those of a message and of its inner ones."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self, raw: bytes) -> Iterator[tuple[int, Any]]:
        """Yield the numbers and values of the fields of a message.

        Raises:
            TooManyValuesError: there are too many.
        """
        for each in _members(raw):
            self.count(1)
            yield each

    def count(self, values: int) -> None:
        """Count values that are not fields.

        Raises:
            TooManyValuesError: there are too many.
        """
        self._left -= values
        if self._left < 0:
            raise TooManyValuesError("too many values")


class EncodedObject(msgspec.Struct, frozen=True):
    """An object with its kind, still encoded."""

    #: ``apiVersion``.
    api_version: str
    #: ``kind``.
    kind: str
    #: The encoded object.
    raw: bytes


# ---------------------------------------------------------------- decoding


def open_envelope(body: bytes) -> EncodedObject:
    """Decode an envelope.

    Raises:
        ProtobufError: the bytes are not an envelope.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("not a protobuf message of Kubernetes")
    try:
        return _opened(body[len(MAGIC) :])
    except _MALFORMED as error:
        raise ProtobufError("the envelope is cut off or malformed") from error


def _opened(body: bytes) -> EncodedObject:
    version = kind = ""
    raw = b""
    for number, value in _members(body):
        if number == 1 and isinstance(value, bytes):
            for inner, text in _members(value):
                if isinstance(text, bytes):
                    version, kind = (
                        (text.decode(), kind) if inner == 1 else (version, text.decode())
                    )
        elif number == 2 and isinstance(value, bytes):
            raw = value
    return EncodedObject(version, kind, raw)


def decode_message(raw: bytes, struct: StructType, most: int = MAX_VALUES) -> Json:
    """Decode a message of at most a number of fields to JSON.

    Raises:
        ProtobufError: the bytes are malformed.
        TooManyValuesError: the message and its inner ones have more fields.
    """
    try:
        return _message(raw, _numbered(struct), _CountedFields(most))
    except _MALFORMED as error:
        raise ProtobufError(str(error)) from error


_Table = dict[int, Any]


@cache
def _numbered(struct: StructType) -> _Table:
    """Fields in the order of their numbers; an embedded message is a separate table."""
    table: _Table = {}
    for field in struct.fields.values():
        if not field.numbers:
            continue
        place = table
        for number in field.numbers[:-1]:
            place = place.setdefault(number, {})
        place[field.numbers[-1]] = field
    return _ordered(table)


def _ordered(table: _Table) -> _Table:
    """Return a table in the order of its numbers."""
    return {
        number: _ordered(field) if isinstance(field, dict) else field
        for number, field in sorted(table.items())
    }


def _message(raw: bytes, table: _Table, fields: _CountedFields) -> Json:
    found: Json = {}
    for number, value in fields(raw):
        field = table.get(number)
        if isinstance(field, dict) and isinstance(value, bytes):
            found |= _message(value, field, fields)
        elif isinstance(field, FieldType):
            _store(found, field, value, fields)
    return found


def _store(found: Json, field: FieldType, value: Any, fields: _CountedFields) -> None:
    kind = field.type
    if kind.form is Form.LIST and kind.item is not None:
        items = found.setdefault(field.name, [])
        if isinstance(value, bytes) and kind.item.form in _INTEGERS:
            fields.count(len(value))
            items += [_signed(each) for each in _packed(value)]
        else:
            items.append(_value(value, kind.item, fields))
    elif kind.form is Form.MAP and kind.item is not None:
        entry = dict(fields(_bytes(value)))
        key = _bytes(entry.get(1, b"")).decode()
        inner = entry.get(2)
        found.setdefault(field.name, {})[key] = (
            _value(inner, kind.item, fields) if inner is not None else _empty(kind.item)
        )
    else:
        content = _value(value, kind, fields)
        if content or field.is_pointer or not field.omits_empty or kind.form not in SCALARS:
            found[field.name] = content


def _empty(kind: ValueType) -> Any:
    return {Form.STRING: "", Form.BYTES: "", Form.QUANTITY: "0", Form.LIST: []}.get(kind.form, {})


def _value(value: Any, kind: ValueType, fields: _CountedFields) -> Any:
    form = kind.form
    if isinstance(value, int) is not (form in _INTEGERS):
        raise ProtobufError(f"a value of another wire type than {form.name.lower()}")
    if form is Form.STRUCT:
        return _message(value, _numbered(kind.struct), fields)
    if form is Form.STRING:
        return value.decode()
    if form is Form.BOOL:
        return bool(value)
    if form in _INTEGERS:
        return _signed(value)
    if form is Form.BYTES:
        return base64.b64encode(value).decode()
    if form is Form.DOUBLE:
        return packing.unpack("<d", value)[0]
    if form is Form.LIST and kind.item is not None:
        return [_value(each, kind.item, fields) for _, each in fields(value)]
    if kind.union is not None:
        return _united(value, kind, kind.union, fields)
    return _special(dict(fields(value)), form, fields)


def _united(raw: bytes, kind: ValueType, union: Union, fields: _CountedFields) -> Any:
    """Decode a struct, or the other value if the message contains no struct."""
    found: Json = {}
    other = FieldType("other", union.type)
    for number, value in fields(raw):
        if number == union.struct:
            return _message(_bytes(value), _numbered(kind.struct), fields)
        if number == union.other:
            _store(found, other, value, fields)
    return found.get("other", False if union.type.form is Form.BOOL else [])


def _special(parts: dict[int, Any], form: Form, fields: _CountedFields) -> Any:
    """Decode values that Go encodes as separate messages."""
    if form in (Form.TIME, Form.MICRO_TIME):
        return _time(_number(parts, 1), _number(parts, 2), form)
    if form is Form.QUANTITY:
        return _bytes(parts.get(1, b"0")).decode()
    if form is Form.DURATION:
        return f"{_number(parts, 1) / _NANOS:g}s"
    if form is Form.INT_OR_STRING:
        if parts.get(1):
            return _bytes(parts.get(3, b"")).decode()
        return _number(parts, 2)
    raw = _bytes(parts.get(1, b""))
    fields.count(value_count(raw))
    return msgspec.json.decode(measured(raw, "body")) if raw else None


def _bytes(value: Any) -> bytes:
    """Check that a value is bytes.

    Raises:
        ProtobufError: the value is a number.
    """
    if isinstance(value, bytes):
        return value
    raise ProtobufError("a number where bytes are expected")


def _number(parts: dict[int, Any], number: int) -> int:
    """Return a signed number of a message; 0 if absent.

    Raises:
        ProtobufError: the value is not a number.
    """
    value = parts.get(number, 0)
    if isinstance(value, int):
        return _signed(value)
    raise ProtobufError("bytes where a number is expected")


def _time(seconds: int, nanos: int, form: Form) -> str | None:
    if not seconds and not nanos:
        return None
    time = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    if form is Form.MICRO_TIME:
        return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _members(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the numbers and values of the fields of a message."""
    at, end = 0, len(raw)
    while at < end:
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(raw, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"wire type {wire}")
        if at + size > end:
            raise ProtobufError("a field is cut off")
        yield number, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, at + _MAX_VARINT):
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise ProtobufError("a number is too long")


def _packed(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        value, at = _varint(raw, at)
        yield value


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


# ---------------------------------------------------------------- encoding


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    """Encode an object in its envelope."""
    meta = bytes_field(1, api_version.encode()) + bytes_field(2, kind.encode())
    return (
        MAGIC
        + bytes_field(1, meta)
        + bytes_field(2, raw)
        + bytes_field(3, b"")
        + bytes_field(4, b"")
    )


def encode_message(item: Json, struct: StructType) -> bytes:
    """Encode an object as a message; members without a field number are omitted.

    A struct inside of it may be encoded already (``bytes``).
    """
    return _encoded(item, _numbered(struct))


def encode_list(metadata: Json, items: list[bytes]) -> bytes:
    """Encode a list of encoded objects."""
    meta = bytes_field(2, str(metadata.get("resourceVersion", "")).encode())
    meta += bytes_field(3, str(metadata.get("continue", "")).encode())
    if "remainingItemCount" in metadata:
        meta += varint_field(4, metadata["remainingItemCount"])
    return bytes_field(1, meta) + b"".join(bytes_field(2, each) for each in items)


def encode_event(word: str, item: bytes) -> bytes:
    """Encode an event of a watch, with its frame."""
    event = bytes_field(1, word.encode()) + bytes_field(2, bytes_field(1, item))
    return len(event).to_bytes(4, "big") + event


def _encoded(item: Json, table: _Table) -> bytes:
    found = bytearray()
    for number, field in table.items():
        if isinstance(field, dict):
            inner = _encoded(item, field)
            if inner:
                found += bytes_field(number, inner)
        elif item.get(field.name) is not None:
            found += _member(number, item[field.name], field.type)
    return bytes(found)


def _member(number: int, value: Any, kind: ValueType) -> bytes:
    if kind.form is Form.LIST and kind.item is not None:
        keeps_null = kind.item.form is Form.ANY
        given = (each for each in value if each is not None or keeps_null)
        return b"".join(_member(number, each, kind.item) for each in given)
    if kind.form is Form.MAP and kind.item is not None:
        found = bytearray()
        for key in sorted(value):
            inner = value[key]
            if kind.item.form is Form.LIST and kind.item.item is not None:
                body = b"".join(_member(1, each, kind.item.item) for each in inner)
                entry = bytes_field(2, body)
            else:
                entry = _member(2, inner, kind.item)
            found += bytes_field(number, bytes_field(1, key.encode()) + entry)
        return bytes(found)
    if kind.form in _INTEGERS:
        return varint_field(number, int(value))
    if kind.form is Form.DOUBLE:
        return double_field(number, value)
    return bytes_field(number, _content(value, kind))


def _content(value: Any, kind: ValueType) -> bytes:
    form = kind.form
    if form is Form.STRUCT:
        return value if isinstance(value, bytes) else _encoded(value, _numbered(kind.struct))
    if kind.union is not None:
        return _encoded_union(value, kind, kind.union)
    if form is Form.STRING:
        return str(value).encode()
    if form is Form.BYTES:
        return base64.b64decode(value)
    if form in (Form.TIME, Form.MICRO_TIME):
        return _encoded_time(value)
    if form is Form.QUANTITY:
        return bytes_field(1, str(value).encode())
    if form is Form.DURATION:
        return varint_field(1, round(float(str(value).rstrip("s") or 0) * _NANOS))
    if form is Form.INT_OR_STRING:
        if isinstance(value, str):
            return varint_field(1, 1) + varint_field(2, 0) + bytes_field(3, value.encode())
        return varint_field(1, 0) + varint_field(2, value) + bytes_field(3, b"")
    return bytes_field(1, html_escaped(msgspec.json.encode(value)))


def _encoded_union(value: Any, kind: ValueType, union: Union) -> bytes:
    if not isinstance(value, dict):
        return _member(union.other, value, union.type)
    schema = bytes_field(union.struct, _encoded(value, _numbered(kind.struct)))
    allows = union.type.form is Form.BOOL  # Go encodes separately that a schema allows the value
    return (_member(union.other, True, union.type) if allows else b"") + schema


def _encoded_time(text: str) -> bytes:
    time = datetime.fromisoformat(text)
    since = time - _EPOCH
    seconds = since.days * 86400 + since.seconds
    nanos = since.microseconds * 1000
    return varint_field(1, seconds) + (varint_field(2, nanos) if nanos else b"")


def bytes_field(number: int, content: bytes) -> bytes:
    """Encode a field of bytes, text or a message."""
    return _tag(number, _BYTES) + _varint_of(len(content)) + content


def varint_field(number: int, value: int) -> bytes:
    """Encode a field of an integer or a boolean."""
    return _tag(number, _VARINT) + _varint_of(value & ((1 << 64) - 1))


def double_field(number: int, value: float) -> bytes:
    """Encode a field of a floating-point number."""
    return _tag(number, _FIXED64) + packing.pack("<d", value)


def _tag(number: int, wire: int) -> bytes:
    return _varint_of(number << 3 | wire)


def _varint_of(value: int) -> bytes:
    if value <= 0x7F:
        return _ONE_BYTE[value]
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
