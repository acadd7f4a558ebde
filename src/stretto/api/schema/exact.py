"""Recognition of objects that decoding does not change.

Most objects are already in the form that Go encodes, because the server has decoded them before.
The types of this module accept only such objects, and msgspec checks a whole object in a fraction
of the time of a decoding. They do not accept all of them: for the others, decoding decides.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from stretto.api.schema.times import PLAIN_MICROSECONDS, PLAIN_SECONDS
from stretto.api.schema.types import FieldType, Form, StructType, ValueType
from stretto.api.wire.quantity import canonical
from stretto.base.errors import InputError


def is_exact(item: Mapping[str, Any], kind: StructType) -> bool:
    """Return whether decoding an object of a struct certainly returns an equal one."""
    exact = _EXACT.get(kind.name) or _struct(kind)
    try:
        msgspec.convert(item, exact, dec_hook=_accepted)
    except (msgspec.ValidationError, InputError):
        return False
    return True


class _Shown:
    """The value true; Go omits the value false."""


class _Amount:
    """The canonical text of a quantity in thousandths or more; others are rounded in some maps."""


def _accepted(kind: type, value: Any) -> object:
    """Return an instance of one of the classes above for a value that it describes.

    Raises:
        ValueError: decoding may change the value.
        InputError: a text is no quantity.
    """
    if kind is _Shown:
        is_exact = value is True
    else:
        is_exact = type(value) is str and canonical(value) == value and value[-1] not in "nu"
    if is_exact:
        return kind()
    raise ValueError(value)


_ANY_TEXT: Final = str
_TEXT: Final = Annotated[str, Meta(min_length=1)]
_ANY_SMALL: Final = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_SMALL: Final = Annotated[int, Meta(ge=1, le=2**31 - 1)]
_ALL: Final[Mapping[Form, Any]] = {
    Form.ANY: dict[str, Any],
    Form.STRING: _ANY_TEXT,
    Form.DURATION: _ANY_TEXT,
    Form.BOOL: bool,
    Form.INT32: _ANY_SMALL,
    Form.INT64: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
    Form.TIME: Annotated[str, Meta(pattern=PLAIN_SECONDS)],
    Form.MICRO_TIME: Annotated[str, Meta(pattern=PLAIN_MICROSECONDS)],
    Form.QUANTITY: _Amount,
    Form.INT_OR_STRING: _ANY_SMALL | _ANY_TEXT,
}
"""Types of values in lists and maps, and of fields that Go encodes even if they are empty."""
_NOT_EMPTY: Final[Mapping[Form, Any]] = {
    **_ALL,
    Form.STRING: _TEXT,
    Form.DURATION: _TEXT,
    Form.BOOL: _Shown,
    Form.INT32: _SMALL,
    Form.INT64: Annotated[int, Meta(ge=1, le=2**63 - 1)],
    Form.INT_OR_STRING: _SMALL | _TEXT,
}
"""Types of fields that Go omits if they are empty."""
_EXACT: Final[dict[str, type[msgspec.Struct] | None]] = {}
"""Types of structs by name; ``None`` while one is built, because it may contain itself."""


def _struct(kind: StructType) -> type[msgspec.Struct]:
    """Return the type of a struct; it has no field whose values it cannot describe."""
    _EXACT[kind.name] = None
    fields: list[tuple[str, Any, Any]] = []
    for known in kind.fields.values():
        found, attribute = _field(known), f"field{len(fields)}"
        if found is not None and known.is_emitted:
            fields.append((attribute, found, msgspec.field(name=known.name)))
        elif found is not None:
            optional = msgspec.field(default=UNSET, name=known.name)
            fields.append((attribute, found | UnsetType, optional))
    name = f"Exact{kind.go_name}"
    exact = msgspec.defstruct(name, fields, forbid_unknown_fields=True, gc=False, kw_only=True)
    _EXACT[kind.name] = exact
    return exact


def _field(known: FieldType) -> Any:
    """Return the type of a field; ``None`` without one."""
    kind = known.type
    if kind.form not in (Form.LIST, Form.MAP, Form.STRUCT):
        return (_ALL if known.shows_empty else _NOT_EMPTY).get(kind.form)
    found = _value(kind)
    if found is None or known.shows_empty or kind.form is Form.STRUCT:
        return found
    return Annotated[found, Meta(min_length=1)]


def _value(kind: ValueType) -> Any:
    """Return the type of a value that may be empty; ``None`` without one."""
    if kind.form is Form.STRUCT:
        name = kind.struct.name
        return _EXACT[name] if name in _EXACT else _struct(kind.struct)
    if kind.item is None:
        return _ALL.get(kind.form)
    item = _value(kind.item)
    if item is None:
        return None
    return list[item] if kind.form is Form.LIST else dict[str, item]  # type: ignore[valid-type]
