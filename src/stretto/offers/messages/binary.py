"""Protobuf of Mesos' messages: descriptors are created at run time from the table of fields."""

import base64
from functools import cache
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as Wire

from stretto.offers.messages.schema import Field, Label, Message, message_type, schema
from stretto.offers.messages.text import MessageError, missing_fields

_Descriptor = descriptor_pb2.FieldDescriptorProto
_PACKAGE: Final = "offers"
_PLAIN: Final = {
    "double": _Descriptor.TYPE_DOUBLE,
    "float": _Descriptor.TYPE_FLOAT,
    "int32": _Descriptor.TYPE_INT32,
    "int64": _Descriptor.TYPE_INT64,
    "uint32": _Descriptor.TYPE_UINT32,
    "uint64": _Descriptor.TYPE_UINT64,
    "bool": _Descriptor.TYPE_BOOL,
    "string": _Descriptor.TYPE_STRING,
    "bytes": _Descriptor.TYPE_BYTES,
}
_LABELS: Final = {
    Label.OPTIONAL: _Descriptor.LABEL_OPTIONAL,
    Label.REQUIRED: _Descriptor.LABEL_REQUIRED,
    Label.REPEATED: _Descriptor.LABEL_REPEATED,
    Label.MAP: _Descriptor.LABEL_REPEATED,
}


def read(name: str, data: bytes) -> Message:
    """Decode the message ``name`` from its protobuf bytes.

    Raises:
        MessageError: the bytes are not such a message, or a required field is missing.
    """
    wire = _class(name)()
    try:
        wire.ParseFromString(data)
    except DecodeError as error:
        raise MessageError(str(error)) from error
    message = _plain(name, wire)
    missing = missing_fields(name, message)
    if missing:
        raise MessageError(f"missing required fields: {', '.join(missing)}")
    return message


def write(name: str, message: Message) -> bytes:
    """The protobuf bytes of a message; fields that are not in the table are omitted."""
    wire = _class(name)()
    _fill(name, wire, message)
    return wire.SerializePartialToString()


def _plain(name: str, wire: Wire) -> Message:
    fields = message_type(name).fields
    return {
        descriptor.name: _plain_value(fields[descriptor.name], value)
        for descriptor, value in wire.ListFields()
    }


def _plain_value(field: Field, value: Any) -> Any:
    if field.label is Label.MAP:
        return {entry.key: _single(field, entry.value) for entry in value}
    if field.label is Label.REPEATED:
        return [_single(field, each) for each in value]
    return _single(field, value)


def _single(field: Field, value: Any) -> Any:
    if field.type == "bytes":
        return base64.b64encode(value).decode()
    if field.plain:
        return value
    numbers = schema().enums.get(field.type)
    if numbers is None:
        return _plain(field.type, value)
    return next((key for key, number in numbers.items() if number == value), None)


def _fill(name: str, wire: Wire, message: Message) -> None:
    """Set the fields of ``wire``."""
    fields = message_type(name).fields
    for key, value in message.items():
        field = fields.get(key)
        if field is None or value is None:
            continue
        if field.label is Label.MAP:
            for entry_key, each in value.items():
                entry = getattr(wire, key).add()
                entry.key = entry_key
                _fill_single(entry, "value", field, each)
        elif field.label is Label.REPEATED:
            _fill_repeated(wire, key, field, value)
        else:
            _fill_single(wire, key, field, value)


def _fill_repeated(wire: Wire, key: str, field: Field, values: list[Any]) -> None:
    target = getattr(wire, key)
    for each in values:
        if field.type in schema().messages:
            _fill(field.type, target.add(), each)
        else:
            target.append(_raw(field, each))


def _fill_single(wire: Wire, key: str, field: Field, value: Any) -> None:
    if field.type in schema().messages:
        part = getattr(wire, key)
        part.SetInParent()
        _fill(field.type, part, value)
    else:
        setattr(wire, key, _raw(field, value))


def _raw(field: Field, value: Any) -> Any:
    if field.type == "bytes":
        return base64.b64decode(value)
    return value if field.plain else schema().enums[field.type][value]


@cache
def _class(name: str) -> type[Wire]:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(_full(name)))


def _full(name: str) -> str:
    return f"{_PACKAGE}.{name.replace('.', '_')}"


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    """All messages with flat names: ``Offer.Operation`` is ``Offer_Operation``."""
    file = descriptor_pb2.FileDescriptorProto(name="offers", package=_PACKAGE, syntax="proto2")
    for enum, numbers in schema().enums.items():
        target = file.enum_type.add(name=enum.replace(".", "_"))
        for value, number in numbers.items():
            target.value.add(name=f"{target.name}__{value}", number=number)
    for message in schema().messages.values():
        described = file.message_type.add(name=message.name.replace(".", "_"))
        for field in message.fields.values():
            _describe(described, field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _describe(message: descriptor_pb2.DescriptorProto, field: Field) -> None:
    """Add one field; a map is a repeated entry of key and value, as on the wire."""
    target = message.field.add(name=field.name, number=field.number, label=_LABELS[field.label])
    if field.label is not Label.MAP:
        _describe_type(target, field)
        return
    entry = message.nested_type.add(name=f"{field.name}_entry")
    entry.field.add(
        name="key", number=1, label=_Descriptor.LABEL_OPTIONAL, type=_Descriptor.TYPE_STRING
    )
    _describe_type(entry.field.add(name="value", number=2, label=_Descriptor.LABEL_OPTIONAL), field)
    target.type = _Descriptor.TYPE_MESSAGE
    target.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"


def _describe_type(target: descriptor_pb2.FieldDescriptorProto, field: Field) -> None:
    if field.plain:
        target.type = _PLAIN[field.type]
        return
    is_enum = field.type in schema().enums
    target.type = _Descriptor.TYPE_ENUM if is_enum else _Descriptor.TYPE_MESSAGE
    target.type_name = "." + _full(field.type)
