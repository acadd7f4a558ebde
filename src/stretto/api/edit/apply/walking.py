"""Traversal of typed values for merges, comparisons and field sets: members with path elements."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.edit.apply.fieldset import field, keyed, path_text, valued
from stretto.api.schema.golang import go_syntax, go_value, reflected_type
from stretto.api.schema.types import (
    ANY,
    NUMBERS,
    RAW,
    TEXTS,
    Form,
    Merge,
    StructType,
    ValueType,
)

MISSING: Final = object()
"""An absent value; null is a value."""

_UNTYPED_MAP: Final = ValueType(Form.MAP, ANY, merge=Merge.GRANULAR)


class ApplyError(Exception):
    """The schema does not allow a configuration; the text contains the path."""


def atom(kind: ValueType, value: Any) -> ValueType:
    """The actual type of a value: untyped objects are granular maps, untyped lists are atomic."""
    if kind.form is Form.ANY and kind.go_type != RAW:
        return _UNTYPED_MAP if isinstance(value, dict) else ANY
    return kind


def is_leaf(kind: ValueType) -> bool:
    """Return whether values of a type are atomic: they have one owner as a whole."""
    return kind.merge is Merge.ATOMIC


def member_type(kind: ValueType, name: str) -> ValueType | None:
    """The type of a member of an object; ``None`` if the schema does not contain it."""
    if kind.form is Form.STRUCT:
        struct = kind.struct
        known = struct.fields.get(name)
        if known is not None:
            return known.type
        if struct.others is not None:
            return struct.others
        return ANY if struct.is_open else None
    return kind.item or ANY


def is_field(kind: ValueType, name: str) -> bool:
    """Return whether a member is a declared field."""
    return kind.form is Form.STRUCT and name in kind.struct.fields


_NO_SCALAR: Final[dict[type, str]] = {
    dict: "associative list without keys has an element that's a map type",
    list: "not supported: associative list with lists as elements",
    type(None): "associative list without keys has an element that's an explicit null",
}
"""Messages about items of a set by their Python types."""


def item_element(kind: ValueType, item: Any, index: int) -> str:
    """The path element of an item of a set or of a keyed list.

    Raises:
        ApplyError: the item has no key.
    """
    if kind.merge is Merge.SET:
        if item is None or isinstance(item, dict | list):
            raise ApplyError(f"element {index}: {_NO_SCALAR[type(item)]}")
        return valued(item)
    if not isinstance(item, dict):
        noun = "a null element" if item is None else "non-map elements"
        raise ApplyError(f"element {index}: associative list with keys may not have {noun}")
    found = {key: item.get(key) for key in kind.sorted_keys}
    if None in found.values():
        stated = {key: each for key, each in found.items() if each is not None}
        known = {**kind.key_defaults, **stated}
        found = {key: known[key] for key in found if known.get(key) is not None}
    return keyed(found)


def items(kind: ValueType, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the items of a list with their path elements; a repeated element counts once."""
    seen: set[str] = set()
    for index, each in enumerate(values):
        element = item_element(kind, each, index)
        if element not in seen:
            seen.add(element)
            yield element, each


def grouped(kind: ValueType, values: list[Any]) -> dict[str, list[Any]]:
    """Return the items of a list by their path elements, with repeated ones."""
    found: dict[str, list[Any]] = {}
    for index, each in enumerate(values):
        found.setdefault(item_element(kind, each, index), []).append(each)
    return found


def struct_value(struct: StructType) -> ValueType:
    """The value type of objects of a struct."""
    return ValueType(Form.STRUCT, find=lambda: struct, merge=Merge.GRANULAR)


def check_typed(value: Any, kind: ValueType, path: tuple[str, ...] = ()) -> None:
    """Check a configuration against its schema.

    Raises:
        ApplyError: a field is not declared, a value has the wrong type, or an item is repeated.
    """
    kind = atom(kind, value)
    if value is None or kind.form is Form.ANY:
        return
    if kind.form in (Form.STRUCT, Form.MAP):
        if not isinstance(value, dict):
            raise ApplyError(f"{path_text(path)}: expected map, got &{{{go_value(value)}}}")
        known = kind.struct.fields if kind.form is Form.STRUCT else {}
        for name, each in value.items():
            declared = known.get(name)
            inner = member_type(kind, name) if declared is None else declared.type
            if inner is None:
                raise ApplyError(f"{path_text(path)}.{name}: field not declared in schema")
            if type(each) not in inner.applied:
                check_typed(each, inner, (*path, field(name)))
    elif kind.form is Form.LIST:
        _check_list(value, kind, path)
    else:
        _check_scalar(value, kind, path)


def _check_list(value: Any, kind: ValueType, path: tuple[str, ...]) -> None:
    if not isinstance(value, list):
        raise ApplyError(f"{path_text(path)}: expected list, got &{{{go_value(value)}}}")
    seen: set[str] = set()
    inner = kind.item or ANY
    for index, each in enumerate(value):
        if kind.merge is Merge.ATOMIC:
            element = f"i:{index}"
        else:
            try:
                element = item_element(kind, each, index)
            except ApplyError as error:
                raise ApplyError(f"{path_text(path)}: {error}") from error
            if element in seen:
                text = f"duplicate entries for key {path_text((element,))}"
                raise ApplyError(f"{path_text(path)}: {text}")
            seen.add(element)
        if type(each) not in inner.applied:
            check_typed(each, inner, (*path, element))


def _check_scalar(value: Any, kind: ValueType, path: tuple[str, ...]) -> None:
    if kind.form in NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        text = f"expected numeric (int or float), got {reflected_type(value)}"
    elif kind.form in TEXTS and not isinstance(value, str):
        text = f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    elif kind.form is Form.BOOL and not isinstance(value, bool):
        text = f"expected boolean, got &{{{go_value(value)}}}"
    elif isinstance(value, dict | list):
        text = f"expected any scalar, got &{{{go_value(value)}}}"
    else:
        return
    raise ApplyError(f"{path_text(path)}: {text}")
