"""JSON messages in their usual form, decoded and checked in one pass.

The table of fields defines a type for each message. A body in which every value has the type of its
field decodes to the same mapping as with `stretto.offers.messages.text`. All other bodies are left
to that module, which converts values and reports errors as Mesos does.
"""

from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final, Literal, Required, TypedDict

import msgspec

from stretto.offers.messages.schema import Field, Label, Message, message_type, schema

_PLAIN: Final[dict[str, Any]] = {
    "string": str,
    "bytes": Annotated[
        str,
        msgspec.Meta(
            pattern=r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\Z"
        ),
    ],
    "bool": bool,
    "double": float,
    "float": float,
    "int32": int,
    "int64": int,
    "uint32": int,
    "uint64": int,
}
"""Types of plain values; bytes are canonical base64."""
_NEVER: Final = Annotated[int, msgspec.Meta(ge=1, le=0)]
"""The type of a field that is never set in a body of the usual form."""


def decode(name: str, body: bytes) -> Message | None:
    """Decode the message ``name`` from a body in its usual form; ``None`` for other bodies.

    Raises:
        KeyError: the table has no such message.
    """
    try:
        return _decoder(name).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder(name: str) -> "msgspec.json.Decoder[Message]":
    return msgspec.json.Decoder(_message(name))


@cache
def _message(name: str) -> Any:
    """The type of a message; fields through which it may contain itself are never set."""
    fields = message_type(name).fields.values()
    types = {
        each.name: _NEVER if name in _reachable(each.type) else _field(each) for each in fields
    }
    return TypedDict(name.replace(".", "_"), types, total=False)  # type: ignore[operator]


def _field(field: Field) -> Any:
    single = _value(field.type)
    if field.label is Label.REQUIRED:
        return Required[single]
    if field.label is Label.REPEATED:
        return Annotated[GenericAlias(list, single), msgspec.Meta(min_length=1)]
    return GenericAlias(dict, (str, single)) if field.label is Label.MAP else single


def _value(kind: str) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind]
    names = schema().enums.get(kind)
    return _message(kind) if names is None else Literal[tuple(names)]


@cache
def _reachable(name: str) -> frozenset[str]:
    """A message and the messages that it may contain, at any depth."""
    messages, found, todo = schema().messages, set(), [name]
    while todo:
        here = todo.pop()
        if here in messages and here not in found:
            found.add(here)
            todo += [each.type for each in messages[here].fields.values()]
    return frozenset(found)
