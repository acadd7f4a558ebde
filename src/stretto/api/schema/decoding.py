"""Decoding of JSON values as in Go, and their encoding without empty fields.

The result contains the members that kube-apiserver would return: unknown members are dropped and
reported, empty optional fields are omitted, and structs that Go embeds by value are present.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.schema.golang import go_type, json_type, struct_type
from stretto.api.schema.octets import Base64Error, canonical_base64
from stretto.api.schema.times import TimeTextError, go_time
from stretto.api.schema.types import EMBEDDED, FieldType, Form, StructType, ValueType
from stretto.api.wire.quantity import format_milli, kept_text, milli, nano
from stretto.base.errors import InputError

_OTHER_SUFFIX: Final = re.compile(r"[+-]?[0-9]*+(?:\.[0-9]*+)?[eEinumkKMGTP]*+[-+]?[0-9]*+")
"""Texts that would be quantities with another suffix."""
_BAD_SUFFIX: Final = "unable to parse quantity's suffix"
_BAD_QUANTITY: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
MOST_UNKNOWN: Final = 100
"""Errors of strict decoding after which Go's decoder adds no other."""
_NANOS_PER_MILLI: Final = 10**6
_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)
_WHOLE: Final = frozenset({Form.INT32, Form.INT64})


class DecodeError(Exception):
    """A value does not match its type; the text is that of kube-apiserver."""


@dataclass
class Decoding:
    """State and findings of one decoding."""

    #: Paths of unknown members, in order.
    unknown: list[str] = field(default_factory=list)
    #: True if too large integers wrap, as in Go's conversion of values that are already decoded.
    wraps: bool = False

    def add_unknown(self, path: "_Path", name: str) -> None:
        """Add an unknown member of an object; Go reports the first hundred of a text."""
        if self.wraps or len(self.unknown) < MOST_UNKNOWN:
            text = f"{_text_of(path)}.{name}" if path else name
            self.unknown.append(_EMBEDDED.sub("", text).replace(_KEY, ""))


def decode(value: Any, struct: StructType, found: Decoding) -> dict[str, Any]:
    """Decode an object of a struct.

    Raises:
        DecodeError: a value has the wrong type.
    """
    if not isinstance(value, dict):
        raise DecodeError(
            f"json: cannot unmarshal {json_type(value)} into Go value of type "
            f"{struct_type(struct.name)}"
        )
    return _struct(value, struct, (), found)


_Path = tuple[Any, ...]
"""The outer path and a step: a field, an index or a key of a map; empty for the whole object.

Most paths are never shown: their texts would take half of the time of a decoding.
"""


def _text_of(path: _Path) -> str:
    parts: list[str] = []
    while path:
        path, step = path
        if type(step) is int:
            parts.append(f"[{step}]")
        else:
            parts.append(step if step.startswith(_KEY) else f".{step}")
    return "".join(reversed(parts)).removeprefix(".")


def _struct(
    value: dict[str, Any], struct: StructType, path: _Path, found: Decoding
) -> dict[str, Any]:
    fields = struct.fields
    result: dict[str, Any] = {}
    for name, member in value.items():
        known = fields.get(name)
        if known is None:
            found.add_unknown(path, name)
        elif (type(member) is known.type.taken and (member or known.is_pointer)) or (
            type(member) is int and member and known.type.form in _WHOLE and member in _INT32
        ):
            result[name] = member
        elif member is not None:
            reader = _READERS[known.type.form]
            decoded = reader(member, known.type, (path, known.step), (struct, found))
            is_shown = known.shows_empty or (decoded and not known.omits_zero)
            if is_shown or not _is_empty(decoded, known):
                result[name] = decoded
    for each in struct.emitted:
        if each.name not in result:
            result[each.name] = zero(each)
    return result


def _is_empty(value: Any, known: FieldType) -> bool:
    """Return whether Go omits a decoded value."""
    if known.type.form is Form.STRUCT:
        return known.omits_zero and is_zero(value)
    return not value and (value != {} or known.type.form is not Form.ANY)


def drop_empty(item: dict[str, Any], kind: StructType) -> None:
    """Replace the empty lists and maps of a decoded object by absent ones.

    Go distinguishes both, but the protobuf form of a stored object does not. A decoded object keeps
    the empty lists that Go encodes or that defaults read, until their owners are set.
    """
    for known in kind.keeping:
        if known.name in item and not item[known.name]:
            if known.omits_empty:
                del item[known.name]
            else:
                item[known.name] = None
    for known in kind.above_keeping:
        value = item.get(known.name)
        if value:
            _drop_below(value, known.type)


def _drop_below(value: Any, kind: ValueType) -> None:
    if kind.form is Form.STRUCT:
        drop_empty(value, kind.struct)
    elif kind.item is not None:
        for each in value.values() if kind.form is Form.MAP else value:
            if each:
                _drop_below(each, kind.item)


def is_zero(value: Any) -> bool:
    """Return whether a value has no content, as Go's ``omitzero``."""
    if isinstance(value, dict):
        return all(map(is_zero, value.values()))
    return value in (None, "", 0, False) or value == []


def zero(known: FieldType) -> Any:
    """The encoded value of an absent field."""
    if known.is_pointer:
        return None
    if known.type.form is Form.STRUCT:
        inner = known.type.struct
        return _struct({}, inner, (), Decoding()) if inner.emitted else {}
    return _ZEROS.get(known.type.form)


_ZEROS: Final = {
    Form.STRING: "",
    Form.BOOL: False,
    Form.INT32: 0,
    Form.INT64: 0,
    Form.DOUBLE: 0,
    Form.QUANTITY: "0",
    Form.DURATION: "0s",
    Form.INT_OR_STRING: 0,
}

_KEY: Final = "\x1f"
"""Separator around a key of a map in a path; errors about types omit the key."""
_EMBEDDED: Final = re.compile(f"{EMBEDDED}.*?{EMBEDDED}")
"""Names of embedded structs in a path; only errors about types contain them."""
_ELEMENTS: Final = re.compile(rf"\[\d+\]|{_KEY}.*?{_KEY}")
"""Parts of a path that are not fields: indexes and keys of maps."""
_Place = tuple[StructType, Decoding]


def _object(value: Any, kind: ValueType, path: _Path, place: _Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _mismatch(value, kind, path, place)
    return _struct(value, kind.struct, path, place[1])


def _list(value: Any, kind: ValueType, path: _Path, place: _Place) -> list[Any]:
    if not isinstance(value, list) or kind.item is None:
        raise _mismatch(value, kind, path, place)
    item, taken = kind.item, kind.item.taken
    if taken is not None and all(type(each) is taken for each in value):
        return list(value)
    reader = _READERS[item.form]
    return [
        _zero_item(item) if each is None else reader(each, item, (path, index), place)
        for index, each in enumerate(value)
    ]


def _map(value: Any, kind: ValueType, path: _Path, place: _Place) -> dict[str, Any]:
    if not isinstance(value, dict) or kind.item is None:
        raise _mismatch(value, kind, path, place)
    item = kind.item
    if item.taken is str and all(type(each) is str for each in value.values()):
        return dict(value)
    if item.form is Form.QUANTITY:
        return {key: _amount(each, item, path, place) for key, each in value.items()}
    reader = _READERS[item.form]
    return {
        key: _zero_item(item)
        if each is None
        else reader(each, item, (path, f"{_KEY}.{key}{_KEY}"), place)
        for key, each in value.items()
    }


def _any(value: Any, _kind: ValueType, _path: _Path, _place: _Place) -> Any:
    return value


def _zero_item(item: ValueType) -> Any:
    if item.form is Form.STRUCT:
        return _struct({}, item.struct, (), Decoding())
    return "" if item.form is Form.BYTES else _ZEROS.get(item.form)


def _string(value: Any, kind: ValueType, path: _Path, place: _Place) -> str:
    if isinstance(value, str):
        return value
    raise _mismatch(value, kind, path, place)


def _bool(value: Any, kind: ValueType, path: _Path, place: _Place) -> bool:
    if isinstance(value, bool):
        return value
    raise _mismatch(value, kind, path, place)


def _int(value: Any, kind: ValueType, path: _Path, place: _Place) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(value, kind, path, place)
    bounds = _INT32 if kind.form is Form.INT32 else _INT64
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value not in bounds and place[1].wraps:
        return (value - bounds.start) % (bounds.stop - bounds.start) + bounds.start
    if not isinstance(value, int) or value not in bounds:
        raise _mismatch(value, kind, path, place, f"number {value}")
    return value


def _double(value: Any, kind: ValueType, path: _Path, place: _Place) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(value, kind, path, place)
    return value


def _bytes(value: Any, kind: ValueType, path: _Path, place: _Place) -> str:
    try:
        return canonical_base64(_string(value, kind, path, place))
    except Base64Error as error:
        raise DecodeError(str(error)) from error


def _time(value: Any, kind: ValueType, path: _Path, place: _Place) -> str:
    try:
        text = _string(value, kind, path, place)
        return go_time(text, micro=kind.form is Form.MICRO_TIME)
    except TimeTextError as error:
        raise DecodeError(str(error)) from error


def _quantity(value: Any, _kind: ValueType, _path: _Path, _place: _Place) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DecodeError(_BAD_QUANTITY)
    text = str(value)
    try:
        return kept_text(text)
    except InputError as error:
        is_other = bool(text.strip()) and _OTHER_SUFFIX.fullmatch(text.strip()) is not None
        raise DecodeError(_BAD_SUFFIX if is_other else _BAD_QUANTITY) from error


def _amount(value: Any, kind: ValueType, path: _Path, place: _Place) -> str:
    """Decode an amount of a resource list, rounded up to thousandths."""
    text = "0" if value is None else _quantity(value, kind, path, place)
    if not text.endswith(("n", "u")) and "." not in text:
        return text
    where = _text_of(path)
    is_exact = nano(text, where) % _NANOS_PER_MILLI == 0
    return text if is_exact else format_milli(milli(text, where))


def _int_or_string(value: Any, kind: ValueType, path: _Path, place: _Place) -> int | str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _mismatch(value, kind, path, place)
    if isinstance(value, float) or (isinstance(value, int) and value not in _INT32):
        number = ValueType(Form.INT32)
        raise _mismatch(value, number, path, place, f"number {value}")
    return value


_Reader = Callable[[Any, ValueType, _Path, _Place], Any]

_READERS: Final[dict[Form, _Reader]] = {
    Form.STRUCT: _object,
    Form.LIST: _list,
    Form.MAP: _map,
    Form.ANY: _any,
    Form.STRING: _string,
    Form.BYTES: _bytes,
    Form.BOOL: _bool,
    Form.INT32: _int,
    Form.INT64: _int,
    Form.DOUBLE: _double,
    Form.TIME: _time,
    Form.MICRO_TIME: _time,
    Form.DURATION: _string,
    Form.QUANTITY: _quantity,
    Form.INT_OR_STRING: _int_or_string,
}


def _mismatch(
    value: Any, kind: ValueType, path: _Path, place: _Place, what: str = ""
) -> DecodeError:
    """Return the message about a value of the wrong type."""
    plain = _ELEMENTS.sub("", _text_of(path)).replace(EMBEDDED, "")
    return DecodeError(
        f"json: cannot unmarshal {what or json_type(value)} into Go struct field "
        f"{place[0].go_name}.{plain} of type {go_type(kind)}"
    )
