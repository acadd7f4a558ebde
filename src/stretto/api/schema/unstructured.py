"""Errors of the conversion of strategically merged values to structs of Go, with its texts."""

import re
from functools import lru_cache
from typing import Any, Final

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.golang import go_type, reflected_kind
from stretto.api.schema.types import FieldType, Form, StructType, ValueType

_PLACE: Final = re.compile(r"Go struct field \S+")
"""Place of a scalar in an error; a scalar with its own decoder does not know it."""
_KINDS: Final = {
    Form.STRING: "string",
    Form.BOOL: "bool",
    Form.INT32: "int32",
    Form.INT64: "int64",
    Form.DOUBLE: "float64",
}
"""Kinds in Go's reflection of scalars without their own decoder."""
_CONVERTIBLE: Final = frozenset({("int64", "string"), ("float64", "int32"), ("float64", "int64")})
"""Pairs of kinds that Go converts, but the conversion of objects does not."""


def object_fault(value: Any, struct: StructType) -> str:
    """Return why an object does not match its struct; empty if it does."""
    return _struct(value, struct)


def conversion_fault(value: Any, kind: ValueType) -> str:
    """Return why a value does not match its type; empty if it does."""
    if value is None or kind.form is Form.ANY:
        return ""
    if kind.form is Form.STRUCT:
        return _struct(value, kind.struct)
    if kind.form is Form.LIST:
        items = value if isinstance(value, list) else None
        return _items(value, items, "slice", kind)
    if kind.form is Form.MAP:
        members = list(value.values()) if isinstance(value, dict) else None
        return _items(value, members, "map", kind)
    return _scalar(value, kind)


def _struct(value: Any, struct: StructType) -> str:
    """Return the fault of the first field in the order of the struct."""
    if not isinstance(value, dict):
        return f"cannot restore struct from: {reflected_kind(value)}"
    fields, faults = struct.fields, dict[str, str]()
    for name, each in value.items():
        field = fields.get(name)
        if field is None or each is None or type(each) is field.type.taken:
            continue
        if fault := conversion_fault(each, field.type):
            faults[name] = fault
    return next((faults[name] for name in fields if name in faults), "") if faults else ""


def _items(value: Any, items: list[Any] | None, word: str, kind: ValueType) -> str:
    if items is None:
        return f"cannot restore {word} from {reflected_kind(value)}"
    if kind.item is None:
        return ""
    return next((fault for each in items if (fault := conversion_fault(each, kind.item))), "")


def _scalar(value: Any, kind: ValueType) -> str:
    wanted, found = _KINDS.get(kind.form), reflected_kind(value)
    if wanted is None:
        return _decoded(value, kind)
    if found == wanted or (found, wanted) == ("int64", "int32"):
        return ""
    if found == "float64" and wanted != "string" and float(value).is_integer():
        return ""
    if (found, wanted) == ("int64", "float64"):
        return ""
    if (found, wanted) in _CONVERTIBLE:
        return f"cannot convert {found} to {go_type(kind)}"
    return f"unrecognized type: {wanted}"


@lru_cache(maxsize=1024)
def _holder(kind: ValueType) -> StructType:
    """Return a struct of one value of a type."""
    return StructType("", {"value": FieldType("value", kind)})


def _decoded(value: Any, kind: ValueType) -> str:
    """Return the error of a scalar with its own decoder, such as a quantity or a time."""
    if kind.form is Form.BYTES and not isinstance(value, str):
        return f"cannot restore slice from {reflected_kind(value)}"
    try:
        decode({"value": value}, _holder(kind), Decoding())
    except DecodeError as error:
        text = _PLACE.sub("Go value", str(error))
        return f"error decoding from json: {text}" if kind.form is Form.BYTES else text
    return ""
