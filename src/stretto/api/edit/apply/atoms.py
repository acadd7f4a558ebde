"""Special members of a configuration: atomic values, and nulls."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.edit.apply.walking import atom, is_leaf, member_type
from stretto.api.schema.types import ANY, Form, ValueType


def atomic_paths(value: Any, kind: ValueType, path: str = "") -> Iterator[str]:
    """Yield the paths of atomic lists, maps and structs, which a merge replaces as a whole."""
    kind = atom(kind, value)
    if not isinstance(value, dict | list):
        return
    if is_leaf(kind) or kind.form is Form.ANY:
        yield path
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from atomic_paths(each, member_type(kind, name) or ANY, f"{path}.{name}")
    else:
        for index, each in enumerate(value):
            yield from atomic_paths(each, kind.item or ANY, f"{path}[{index}]")


_WORDS: Final = {
    Form.STRUCT: "map",
    Form.MAP: "map",
    Form.LIST: "list",
    Form.BOOL: "boolean",
    Form.INT32: "numeric (int or float)",
    Form.INT64: "numeric (int or float)",
    Form.DOUBLE: "numeric (int or float)",
}
"""Words for values by form; the others are strings."""


def null_fault(value: Any, kind: ValueType, path: str = "") -> str:
    """Return the type that a null replaces, with its path; empty if there is no null."""
    kind = atom(kind, value)
    if value is None:
        return f"{path}: expected {_WORDS.get(kind.form, 'string')}, got &{{NULL_VALUE}}"
    members: list[str] = []
    if isinstance(value, dict):
        members = [
            null_fault(each, member_type(kind, name) or ANY, f"{path}.{name}")
            for name, each in value.items()
        ]
    elif isinstance(value, list):
        members = [
            null_fault(each, kind.item or ANY, f"{path}[{index}]")
            for index, each in enumerate(value)
        ]
    return next((each for each in members if each), "")
