"""Edits of an object by the types of its parts: first its own, then those of its fields."""

from collections.abc import Callable
from typing import Any

from stretto.api.schema.kubernetes import struct
from stretto.api.schema.types import Form, StructType, ValueType

Json = dict[str, Any]

Edit = Callable[[Json], None]
"""Changes a value of one struct in place."""
_StructPlan = tuple[Edit | None, tuple[tuple[str, ValueType], ...]]
"""Edit of a struct, and its fields that contain edited structs."""


class StructEdit:
    """An edit of every struct in an object."""

    def __init__(self, find: Callable[[StructType], Edit | None]) -> None:
        """Create an edit from a function that returns the edit of one struct."""
        self._find = find
        self._found: dict[str, Edit | None] = {}
        self._plans: dict[str, _StructPlan] = {}

    def __call__(self, value: Json, kind: StructType) -> None:
        """Edit an object of a struct in place."""
        own, fields = self._plans.get(kind.name) or self._planned(kind)
        if own is not None:
            own(value)
        for name, inner in fields:
            member = value.get(name)
            if member is not None:
                self._inside(member, inner)

    def _planned(self, kind: StructType) -> _StructPlan:
        """Return the edit of a struct, and its fields that contain edited structs."""
        fields = tuple(
            (field.name, field.type)
            for field in struct(kind.name).fields.values()
            if any(self._edits(inner) for inner in _structs(field.type))
        )
        found = self._plans[kind.name] = self._edit_of(kind), fields
        return found

    def _inside(self, value: Any, kind: ValueType) -> None:
        if kind.form is Form.STRUCT:
            if isinstance(value, dict):
                self(value, kind.struct)
            return
        item = kind.item
        if item is None:
            return
        members = value.values() if isinstance(value, dict) else value
        if item.form is Form.STRUCT:
            inner = item.struct
            for each in members:
                if isinstance(each, dict):
                    self(each, inner)
            return
        for each in members:
            if each is not None:
                self._inside(each, item)

    def _edit_of(self, kind: StructType) -> Edit | None:
        if kind.name not in self._found:
            self._found[kind.name] = self._find(kind)
        return self._found[kind.name]

    def _edits(self, name: str) -> bool:
        """Return whether a struct, or one that it contains, is edited."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            found = waiting.pop()
            if found in seen:
                continue
            seen.add(found)
            kind = struct(found)
            if self._edit_of(kind) is not None:
                return True
            waiting += [inner for field in kind.fields.values() for inner in _structs(field.type)]
        return False


def _structs(kind: ValueType) -> list[str]:
    if kind.form is Form.STRUCT:
        return [kind.struct.name]
    return _structs(kind.item) if kind.item is not None else []
