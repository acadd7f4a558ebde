"""JSON of Mesos' messages: accepted values of fields, and errors for others.

Unknown fields and unknown values of optional enums are ignored, null is unset, numbers may be
strings. The texts of the errors are those of Mesos, because clients show and compare them.
"""

import base64
import binascii
import json
import math
import string
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from stretto.offers.messages import typed
from stretto.offers.messages.schema import Field, Label, Message, message_type, schema

INTEGERS: Final = frozenset({"int32", "int64", "uint32", "uint64"})
"""Plain types whose values are integers."""
FLOATS: Final = frozenset({"double", "float"})
"""Plain types whose values are floating-point numbers."""
_BASE64: Final = frozenset(string.ascii_letters + string.digits + "+/")
_MAX_DEPTH: Final = 64


class MessageError(ValueError):
    """Error for a text that is not the expected message, with Mesos' text."""


def parse(body: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        MessageError: the text is not JSON; the error contains the line and the characters after it.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body.decode(errors="replace")
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        near = text[error.pos :].split("\n", 1)[0]
        line = error.lineno
    except (MessageError, RecursionError):
        near, line = text.split("\n", 1)[0], 1
    else:
        near, line = "", 1
    raise MessageError(f"syntax error at line {line} near: {near}")


def decode(name: str, body: bytes) -> Message:
    """Decode the message ``name`` from a JSON text.

    Raises:
        KeyError: there is no such message.
        MessageError: the text is not JSON, or not that message.
    """
    usual = typed.decode(name, body)
    return read(name, parse(body)) if usual is None else usual


def read(name: str, value: object) -> Message:
    """Decode the message ``name`` from a JSON value.

    Raises:
        MessageError: a field has a wrong type, a required field is missing, or the value is not an
            object.
    """
    if not isinstance(value, dict):
        raise MessageError("Expecting a JSON object")
    message = _object(name, value, 0)
    missing = list(_missing(name, message, ""))
    if missing:
        raise MessageError("Missing required fields: " + ", ".join(missing))
    return message


def missing_fields(name: str, message: Message) -> list[str]:
    """Paths of the required fields that are unset."""
    return list(_missing(name, message, ""))


def with_defaults(name: str, message: Message) -> Message:
    """The message with the table's defaults of unset fields, as Mesos shows them in JSON.

    The deprecated ``role`` of resources and frameworks is omitted.
    """
    shown_fields = _shown_fields(name)
    if shown_fields is None:
        return message
    defaults, parts = shown_fields
    shown = dict(message)
    for key, default in defaults:
        if shown.get(key) is None:
            shown[key] = default
    for key, value in message.items():
        field = parts.get(key)
        if field is None or value is None:
            continue
        if field.label is Label.REPEATED:
            shown[key] = [with_defaults(field.type, each) for each in value]
        elif field.label is Label.MAP:
            pairs = value.items()
            shown[key] = {each: with_defaults(field.type, part) for each, part in pairs}
        else:
            shown[key] = with_defaults(field.type, value)
    return shown


@cache
def _shown_fields(name: str) -> tuple[tuple[tuple[str, Any], ...], dict[str, Field]] | None:
    """Fields of a message that are shown with a default, and fields whose parts may be.

    ``None`` for a message without such fields.
    """
    if name not in _with_defaults():
        return None
    fields = message_type(name).fields.values()
    defaults = [e for e in fields if e.default is not None and e.name != "role"]
    parts = {each.name: each for each in fields if each.type in _with_defaults()}
    return tuple((each.name, _default(each)) for each in defaults), parts


@cache
def _with_defaults() -> frozenset[str]:
    """Messages with a field that has a default, at any depth."""
    messages = schema().messages
    found = {
        name
        for name, message in messages.items()
        if any(each.default is not None and each.name != "role" for each in message.fields.values())
    }
    while True:
        more = {
            name
            for name, message in messages.items()
            if name not in found and any(each.type in found for each in message.fields.values())
        }
        if not more:
            return frozenset(found)
        found |= more


def _default(field: Field) -> Any:
    assert field.default is not None
    if field.type == "bool":
        return field.default == "true"
    if field.type in FLOATS:
        return float(field.default)
    return int(field.default) if field.type in INTEGERS else field.default


def write(message: object) -> bytes:
    """The JSON text of a message."""
    return msgspec.json.encode(message)


def _refuse(constant: str) -> None:
    raise MessageError(constant)


def _object(name: str, value: dict[str, Any], depth: int) -> Message:
    if depth > _MAX_DEPTH:
        raise MessageError(f"Nesting deeper than {_MAX_DEPTH} messages")
    fields = message_type(name).fields
    message: Message = {}
    for key in sorted(value):
        field = fields.get(key)
        if field is not None and value[key] is not None:
            _set(message, field, value[key], depth)
    return message


def _set(message: Message, field: Field, value: object, depth: int) -> None:
    """Store the value of one field, if it has one."""
    if field.label is Label.MAP:
        if not isinstance(value, dict):
            raise _unexpected(field, value)
        found = {key: _value(field, each, depth) for key, each in value.items()}
        message[field.name] = {key: each for key, each in found.items() if each is not None}
        return
    if isinstance(value, list):
        if field.label is not Label.REPEATED:
            raise _unexpected(field, value)
        items = (_value(field, each, depth) for each in value if each is not None)
        kept = [item for item in items if item is not None]
        if kept:
            message[field.name] = kept
        return
    single = _value(field, value, depth)
    if single is not None:
        message[field.name] = [single] if field.label is Label.REPEATED else single


def _value(field: Field, value: object, depth: int) -> Any:
    """The value of a field; ``None`` for an unknown value of an optional enum."""
    kind = field.type
    if not field.plain:
        if kind in schema().enums:
            return _enum(field, value)
        if not isinstance(value, dict):
            raise _unexpected(field, value)
        return _object(kind, value, depth + 1)
    if kind == "string":
        if not isinstance(value, str):
            raise _unexpected(field, value)
        return value
    if kind == "bytes":
        return _bytes(field, value)
    if kind == "bool":
        parsed = (
            {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        )
        if isinstance(parsed, str):
            raise MessageError(
                f"Failed to parse '{parsed}' as a JSON boolean for field '{field.name}':"
                f" syntax error at line 1 near: {parsed}"
            )
        if not isinstance(parsed, bool):
            raise _unexpected(field, value)
        return parsed
    return _number(field, value)


def _enum(field: Field, value: object) -> str | None:
    if not isinstance(value, str):
        raise _unexpected(field, value)
    if value in schema().enums[field.type]:
        return value
    if field.label is Label.REQUIRED:
        raise MessageError(f"Failed to find enum for '{value}'")
    return None


def _bytes(field: Field, value: object) -> str:
    if not isinstance(value, str):
        raise _unexpected(field, value)
    data = "".join(value.split("=", 1)[0].split())
    bad = next((each for each in data if each not in _BASE64), None)
    if bad is not None:
        raise MessageError(
            f"Failed to base64 decode bytes field '{field.name}': Invalid character '{bad}'"
        )
    try:
        raw = base64.b64decode(data + "=" * (-len(data) % 4))
    except binascii.Error:
        raw = base64.b64decode(data[: len(data) // 4 * 4])
    return base64.b64encode(raw).decode()


def _number(field: Field, value: object) -> float | int:
    if isinstance(value, str):
        value = _spelled(field, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unexpected(field, value)
    if field.type in FLOATS:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return int(value) if math.isfinite(value) else 0


def _spelled(field: Field, value: str) -> float | int:
    """The number in a string."""
    if field.type in FLOATS and value in ("Infinity", "-Infinity"):
        return math.inf if value == "Infinity" else -math.inf
    try:
        number = msgspec.json.decode(value.encode())
    except msgspec.DecodeError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise MessageError(
            f"Failed to parse '{value}' as a JSON number for field '{field.name}':"
            f" syntax error at line 1 near: {value}"
        )
    return number


def _unexpected(field: Field, value: object) -> MessageError:
    kinds = ((bool, "boolean"), (dict, "object"), (list, "array"), (str, "string"))
    kind = next((name for type_, name in kinds if isinstance(value, type_)), "number")
    return MessageError(f"Not expecting a JSON {kind} for field '{field.name}'")


def _missing(name: str, message: Message, prefix: str) -> Iterator[str]:
    """Unset required fields: those of the message first, then those of its parts."""
    fields = message_type(name).fields
    for field in fields.values():
        if field.label is Label.REQUIRED and field.name not in message:
            yield prefix + field.name
    for field in fields.values():
        if field.type not in schema().messages or field.name not in message:
            continue
        value, path = message[field.name], prefix + field.name
        if field.label is Label.REPEATED:
            for index, each in enumerate(value):
                yield from _missing(field.type, each, f"{path}[{index}].")
        elif field.label is Label.MAP:
            for index, each in enumerate(value.values()):
                yield from _missing(field.type, each, f"{path}[{index}].value.")
        else:
            yield from _missing(field.type, value, path + ".")
