"""Conversion of JSON to structs and back; every error contains the path of the malformed field.

An object stays the bytes in which it arrived. A struct is only decoded from it and is never written
back: a change is a ``set_fields`` or a patch on the bytes, so that unknown fields are preserved.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar, cast

import msgspec

from stretto.api.kinds.table import TABLE
from stretto.api.types.raw import MetadataOnly, RawObject
from stretto.api.wire.kinds import Kind
from stretto.api.wire.limits import measured
from stretto.api.wire.meta import Wire
from stretto.api.wire.refusals import refusal
from stretto.base.errors import InputError

_T = TypeVar("_T")

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])

Path = tuple[str | int, ...]


def decode(kind: Kind, body: bytes, where: str = "") -> Wire:
    """Decode an object of ``kind`` from its JSON; a kind without a struct gives a ``RawObject``.

    Raises:
        InputError: the JSON is malformed; the message contains the path.
    """
    struct = TABLE.struct(kind)
    if struct is not None:
        return decode_as(struct, body, where)
    head = decode_as(MetadataOnly, body, where or kind.kind.lower())
    return RawObject(kind, head.metadata, body)


def struct_of(kind: Kind) -> type[Wire]:
    """The struct that ``decode`` returns for a kind."""
    return TABLE.struct(kind) or RawObject


def decode_as(struct: type[_T], body: bytes, where: str = "") -> _T:
    """Decode any struct of ``api`` from its JSON.

    ``where`` is the name of the object in an error; empty means the name of the struct. Null
    members count as absent, as in Kubernetes.

    Raises:
        InputError: the JSON is malformed; the message contains the path.
    """
    measured(body, where or _kind_word(struct))
    try:
        return cast("_T", _decoder(cast("Any", struct)).decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError) and b"null" in body:
            return _decode_without_nulls(struct, body, where)
        raise refusal(error, body, where or _kind_word(struct), struct) from error


def _decode_without_nulls(struct: type[_T], body: bytes, where: str) -> _T:
    """Decode a copy without null members, as a second attempt."""
    try:
        return msgspec.convert(without_nulls(parse(body, where)), struct)
    except msgspec.ValidationError as error:
        raise refusal(error, body, where or _kind_word(struct), struct) from error


@cache
def _decoder(struct: Any) -> msgspec.json.Decoder[Any]:
    """The decoder of a struct, created once."""
    return msgspec.json.Decoder(struct)


def _kind_word(struct: type[Any]) -> str:
    """The name of an object of this struct in errors."""
    return struct.__name__.lower()


def encode(item: Wire) -> bytes:
    """Encode a struct as JSON; a whole object begins with ``apiVersion`` and ``kind``."""
    if isinstance(item, RawObject):
        return item.body
    body = msgspec.json.encode(item)
    kind = TABLE.of_struct(type(item))
    if kind is None:
        return body
    head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}"'.encode()
    return head + (b"}" if body == b"{}" else b"," + body[1:])


def kind_of_struct(item: Wire) -> Kind:
    """The kind of a whole object.

    Raises:
        KeyError: the struct is only a part of an object.
    """
    if isinstance(item, RawObject):
        return item.of
    kind = TABLE.of_struct(type(item))
    if kind is None:
        raise KeyError(type(item).__name__)
    return kind


# ---------------------------------------------------------------- raw objects


def parse(body: bytes, where: str) -> Any:
    """Parse untyped JSON, after a check of its size and depth."""
    try:
        return msgspec.json.decode(measured(body, where))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refusal(error, body, where) from error


def parse_object(body: bytes, where: str) -> dict[str, Any]:
    """Parse untyped JSON that must be an object."""
    found = parse(body, where)
    if not isinstance(found, dict):
        raise InputError(where, found, "a JSON object", "begin with { and end with }")
    return found


def without_nulls(value: Any) -> Any:
    """Return a copy in which no object has a null member; nulls in lists stay."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


def set_fields(body: bytes, fields: Mapping[Path, Any]) -> bytes:
    """Return ``body`` with the fields at the given paths set; None removes a field.

    Everything else is copied byte by byte, so that order, unknown fields and the format of numbers
    are preserved. Missing objects on a path are created; a list index must exist.
    """
    if not fields:
        return body
    below: dict[str | int, dict[Path, Any]] = {}
    for path, value in fields.items():
        below.setdefault(path[0], {})[path[1:]] = value
    if all(isinstance(name, int) for name in below):
        return _set_items(body, cast("dict[int, dict[Path, Any]]", below))
    members = _members(body, fields)
    for name, inner in below.items():
        key = str(name)
        if () in inner:
            if inner[()] is None:
                members.pop(key, None)
            else:
                members[key] = msgspec.Raw(msgspec.json.encode(inner[()]))
            continue
        old = members.get(key)
        if old is not None or any(value is not None for value in inner.values()):
            members[key] = msgspec.Raw(set_fields(b"{}" if old is None else bytes(old), inner))
    return msgspec.json.encode(members)


def _set_items(body: bytes, below: Mapping[int, Mapping[Path, Any]]) -> bytes:
    """``set_fields`` on a list, whose items are identified by index."""
    try:
        items: list[msgspec.Raw] = _ITEMS.decode(body)
        for index, inner in below.items():
            whole = msgspec.json.encode(inner[()]) if () in inner else None
            items[index] = msgspec.Raw(whole or set_fields(bytes(items[index]), inner))
    except (msgspec.DecodeError, RecursionError, IndexError) as error:
        raise InputError("set_fields", list(below), "an index of an existing list") from error
    return msgspec.json.encode(items)


def _members(body: bytes, fields: Mapping[Path, Any]) -> dict[str, msgspec.Raw]:
    """The members of an object as raw JSON; null counts as an empty object."""
    try:
        return _MEMBERS.decode(body) if body != b"null" else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        paths: Sequence[str] = [".".join(map(str, path)) for path in fields]
        raise InputError(", ".join(paths), body[:80], "an object on the way there") from error
