"""The fields of a typed value, and the fields in which two values differ."""

from dataclasses import dataclass, field
from typing import Any

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.walking import (
    MISSING,
    atom,
    is_field,
    is_leaf,
    items,
    member_type,
)
from stretto.api.schema.types import ANY, Form, ValueType


@dataclass
class FieldChanges:
    """How one value differs from another."""

    #: Paths that only the new value has.
    added: FieldSet = field(default_factory=dict)
    #: Leaves whose values differ.
    modified: FieldSet = field(default_factory=dict)
    #: Paths that only the old value has.
    removed: FieldSet = field(default_factory=dict)


def owned_fields(value: Any, kind: ValueType) -> FieldSet:
    """The fields that an applied configuration names."""
    found: FieldSet = {}
    _own(value, kind, found)
    return found


def _own(value: Any, kind: ValueType, node: FieldSet) -> bool:
    """Collect the fields of a value; returns whether its own path belongs to the set."""
    kind = atom(kind, value)
    if is_leaf(kind) or not isinstance(value, dict | list):
        return not (value is None and kind.form in (Form.LIST, Form.MAP, Form.STRUCT))
    if isinstance(value, list):
        for element, each in items(kind, value):
            below: FieldSet = {}
            _own(each, kind.item or ANY, below)
            node[element] = {fieldset.SELF: {}, **below} if below else {}
        return False
    for name, each in value.items():
        below = {}
        member = _own(each, member_type(kind, name) or ANY, below)
        empty = each is None or each == {}
        if member or empty or not is_field(kind, name):
            node[fieldset.field(name)] = {fieldset.SELF: {}, **below} if below else {}
        elif below:
            node[fieldset.field(name)] = below
    return False


def compare(old: Any, new: Any, kind: ValueType) -> FieldChanges:
    """How a value differs from an older one."""
    found = FieldChanges()
    _compare(old, new, kind, _Nodes(found.added, found.modified, found.removed))
    return found


@dataclass(frozen=True)
class _Nodes:
    """The nodes of one path in the three sets."""

    #: Added.
    added: FieldSet
    #: Modified.
    modified: FieldSet
    #: Removed.
    removed: FieldSet


def _compare(old: Any, new: Any, kind: ValueType, nodes: _Nodes) -> str:
    """Compare two values; returns which set their own path belongs to."""
    if old is new:
        return ""
    kind = atom(kind, old if new in (MISSING, None) else new)
    shapes = {type(each) for each in (old, new) if isinstance(each, dict | list) and each}
    if is_leaf(kind) or len(shapes) != 1:
        return _leaf(old, new)
    if dict in shapes:
        _compare_members(old, new, kind, nodes)
    else:
        _compare_items(old, new, kind, nodes)
    if old is MISSING:
        return "added"
    return "removed" if new is MISSING else ""


def _leaf(old: Any, new: Any) -> str:
    if old is MISSING:
        return "added"
    if new is MISSING:
        return "removed"
    return "" if old == new else "modified"


def _compare_members(old: Any, new: Any, kind: ValueType, nodes: _Nodes) -> None:
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    for name in before.keys() | after.keys():
        inner = member_type(kind, name) or ANY
        pair = before.get(name, MISSING), after.get(name, MISSING)
        _descend(fieldset.field(name), pair, inner, nodes)


def _compare_items(old: Any, new: Any, kind: ValueType, nodes: _Nodes) -> None:
    before = dict(items(kind, old)) if isinstance(old, list) else {}
    after = dict(items(kind, new)) if isinstance(new, list) else {}
    for element in before.keys() | after.keys():
        pair = before.get(element, MISSING), after.get(element, MISSING)
        _descend(element, pair, kind.item or ANY, nodes)


def _descend(element: str, pair: tuple[Any, Any], kind: ValueType, nodes: _Nodes) -> None:
    below = _Nodes({}, {}, {})
    word = _compare(*pair, kind, below)
    for name, node, inner in (
        ("added", nodes.added, below.added),
        ("modified", nodes.modified, below.modified),
        ("removed", nodes.removed, below.removed),
    ):
        if word == name:
            node[element] = {fieldset.SELF: {}, **inner} if inner else {}
        elif inner:
            node[element] = inner
