"""Traversal of typed values for merges, comparisons and field sets: members with path elements."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from stretto.api.edit.apply.fieldset import field, keyed, keyed_rows, path_text, valued
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
from stretto.api.wire.values import PLAIN, identities

Json = dict[str, Any]

MISSING: Final = object()
"""An absent value; null is a value."""

_UNTYPED_MAP: Final = ValueType(Form.MAP, ANY, merge=Merge.GRANULAR)


class ApplyError(Exception):
    """The schema does not allow a configuration; the arguments are texts with the path."""

    def __str__(self) -> str:
        """Return the text of the only error, or the texts of all."""
        if len(self.args) == 1:
            return str(self.args[0])
        return "\n".join(["errors:", *(f"  {each}" for each in self.args)])


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
        known = {**kind.key_defaults, **item}
        found = {key: known[key] for key in found if key in known}
        if not found:
            raise ApplyError(f"element {index}: {_keyless(kind)}")
    return keyed(found)


def _keyless(kind: ValueType) -> str:
    names = " ".join(f'"{key}"' for key in kind.keys)
    text = f"associative list with keys has an element that omits all key fields [{names}]"
    return f"{text} (and doesn't have default values for any key fields)"


def elements(kind: ValueType, values: list[Any]) -> Iterable[str]:
    """The path elements of the items of a set or of a keyed list, in their order.

    Raises:
        ApplyError: the iteration reaches an item without a key.
    """
    if kind.merge is Merge.SET and PLAIN.issuperset(map(type, values)):
        return [f"v:{text}" for text in identities(values)]
    if kind.merge is Merge.KEYED and _MAPS.issuperset(map(type, values)):
        columns = [[each.get(key) for each in values] for key in kind.sorted_keys]
        if not any(None in column for column in columns):
            return keyed_rows(kind.sorted_keys, columns)
    return (item_element(kind, each, index) for index, each in enumerate(values))


_MAPS: Final = frozenset({dict})
"""Type of the items of a keyed list."""


class Repeated(tuple[Any, ...]):
    """Items of a list with one path element, which have one owner as a whole."""

    __slots__ = ()


def items(kind: ValueType, values: list[Any]) -> dict[str, Any]:
    """Return the items of a list by their path elements; the first of repeated ones counts."""
    found = grouped(kind, values)
    if len(found) < len(values):
        return {key: each[0] if type(each) is Repeated else each for key, each in found.items()}
    return found


def grouped(kind: ValueType, values: list[Any]) -> dict[str, Any]:
    """Return the items of a list by their path elements, with repeated ones together."""
    if len(values) == 1:
        return {item_element(kind, values[0], 0): values[0]}
    names = list(elements(kind, values))
    found = dict(zip(names, values, strict=True))
    if len(found) == len(names):
        return found
    groups: dict[str, list[Any]] = {}
    for name, each in zip(names, values, strict=True):
        groups.setdefault(name, []).append(each)
    return {name: each[0] if len(each) == 1 else Repeated(each) for name, each in groups.items()}


@lru_cache(maxsize=256)
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
        _check_members(value, kind, path)
    elif kind.form is Form.LIST:
        _check_list(value, kind, path)
    else:
        _check_scalar(value, kind, path)


def _check_members(value: Json, kind: ValueType, path: tuple[str, ...]) -> None:
    known = kind.struct.fields if kind.form is Form.STRUCT else {}
    found: list[str] = []
    for name, each in value.items():
        declared = known.get(name)
        inner = member_type(kind, name) if declared is None else declared.type
        if inner is None:
            found.append(f"{path_text(path)}.{name}: field not declared in schema")
            break
        if type(each) not in inner.applied:
            try:
                check_typed(each, inner, (*path, field(name)))
            except ApplyError as error:
                found += error.args
    if found:
        raise ApplyError(*found)


def _check_list(value: Any, kind: ValueType, path: tuple[str, ...]) -> None:
    if not isinstance(value, list):
        raise ApplyError(f"{path_text(path)}: expected list, got &{{{go_value(value)}}}")
    inner, found = kind.item or ANY, list[str]()
    for element, each in zip(_distinct(value, kind, path, found), value, strict=False):
        if type(each) not in inner.applied and not _has_applied(each, inner):
            try:
                check_typed(each, inner, (*path, element))
            except ApplyError as error:
                found += error.args
    if found:
        raise ApplyError(*found)


def _has_applied(value: Any, kind: ValueType) -> bool:
    """Return whether an object has only scalars with the types of its fields."""
    if type(value) is not dict or kind.form is not Form.STRUCT:
        return False
    fields = kind.struct.fields
    for name, each in value.items():
        known = fields.get(name)
        if known is None or type(each) not in known.type.applied:
            return False
    return True


def _distinct(
    value: list[Any], kind: ValueType, path: tuple[str, ...], found: list[str]
) -> Iterator[str]:
    """Yield the path elements of the items of a list, up to one without a key.

    Errors about it and about repeated items are added to those that are found.
    """
    if kind.merge is Merge.ATOMIC:
        yield from (f"i:{index}" for index in range(len(value)))
        return
    seen: set[str] = set()
    try:
        for element in elements(kind, value):
            if element in seen:
                text = f"duplicate entries for key {path_text((element,))}"
                found.append(f"{path_text(path)}: {text}")
            seen.add(element)
            yield element
    except ApplyError as error:
        found.append(f"{path_text(path)}: {error}")


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
