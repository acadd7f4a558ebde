"""Go's names of JSON values and of types, as quoted in messages of an API server."""

import json
from decimal import Decimal
from typing import Any, Final

from stretto.api.schema.types import Form, ValueType

_VALUES: Final[dict[type, tuple[str, str]]] = {
    bool: ("bool", "bool"),
    dict: ("object", "map"),
    list: ("array", "slice"),
    str: ("string", "string"),
    int: ("number", "int64"),
}
"""Maps the Python type of a JSON value to its names in Go's decoder and in Go's reflection."""
_NUMBER: Final = ("number", "float64")
_PRINTED: Final[dict[type, str]] = {dict: "map[string]interface {}", list: "[]interface {}"}
"""Maps the Python type of a JSON value to the Go type, if it differs from the kind."""
_TYPES: Final[dict[Form, str]] = {
    Form.DOUBLE: "float64",
    Form.QUANTITY: "resource.Quantity",
    Form.BYTES: "[]uint8",
    Form.TIME: "string",
    Form.MICRO_TIME: "string",
    Form.INT_OR_STRING: "int32",  # what is no text is read as a number
}

_ESCAPED: Final = {each: f"\\u{ord(each):04x}".encode() for each in "<>&\u2028\u2029"}
"""Characters that Go escapes in JSON, for HTML and JavaScript."""


def html_escaped(text: bytes) -> bytes:
    """JSON as Go's encoder writes it, from JSON in UTF-8."""
    for character, escape in _ESCAPED.items():
        text = text.replace(character.encode(), escape)
    return text


def json_type(value: Any) -> str:
    """The type of a JSON value in messages of Go's decoder."""
    return _VALUES.get(type(value), _NUMBER)[0]


def reflected_kind(value: Any) -> str:
    """The kind of a JSON value in Go's reflection."""
    return _VALUES.get(type(value), _NUMBER)[1]


def reflected_type(value: Any) -> str:
    """The type of a JSON value as printed by Go's ``%T``."""
    if value is None:
        return "<nil>"
    return _PRINTED.get(type(value), reflected_kind(value))


def struct_type(name: str) -> str:
    """The Go type of a struct: ``v1.Container`` of ``core/v1.Container``."""
    return name.rpartition("/")[2]


def go_type(kind: ValueType) -> str:
    """The Go type of a value."""
    if kind.go_type:
        return kind.go_type
    if kind.form is Form.STRUCT:
        return struct_type(kind.struct.name)
    if kind.form is Form.LIST and kind.item is not None:
        return f"[]{go_type(kind.item)}"
    if kind.form is Form.MAP and kind.item is not None:
        return f"map[string]{go_type(kind.item)}"
    return _TYPES.get(kind.form, str(kind.form.value))


def go_value(value: Any) -> str:
    """Format a value in Go's default format: ``map[a:1 b:[x y]]``."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_value, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _float(value) if isinstance(value, float) else str(value)


def _float(value: float) -> str:
    """Format a number with the fewest digits; from a million on, with an exponent."""
    number = Decimal(repr(value)).normalize()
    mantissa, _, power = f"{number:e}".partition("e")
    return f"{number:f}" if -4 <= int(power) < 6 else f"{mantissa}e{int(power):+03d}"


def go_syntax(value: Any) -> str:
    """Format a value in Go's syntax, as by ``%#v``: ``[]interface {}{"x", 1}``."""
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"{reflected_type(value)}{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"{reflected_type(value)}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else go_value(value)
