"""The field set of a typed value, and the differences between two values."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.walking import (
    MISSING,
    atom,
    grouped,
    is_field,
    is_leaf,
    items,
    member_type,
)
from stretto.api.schema.types import ANY, Form, ValueType
from stretto.api.wire.values import NESTED, PLAIN, has_texts_only, is_alike


@dataclass
class FieldChanges:
    """Differences between two values."""

    #: Paths that only the new value has.
    added: FieldSet = field(default_factory=dict)
    #: Leaves whose values differ.
    modified: FieldSet = field(default_factory=dict)
    #: Paths that only the old value has.
    removed: FieldSet = field(default_factory=dict)

    @cached_property
    def gained(self) -> FieldSet:
        """Paths that are added or modified; read when both are complete."""
        return fieldset.union(self.modified, self.added)


def owned_fields(value: Any, kind: ValueType) -> FieldSet:
    """The fields in an applied configuration, in the order of Go, because clients compare texts."""
    found: FieldSet = {}
    _own(value, kind, found)
    return found


def _own(value: Any, kind: ValueType, node: FieldSet) -> bool:
    """Collect the fields of a value; return whether its own path is in the set."""
    kind = atom(kind, value)
    if is_leaf(kind) or not isinstance(value, dict | list):
        return not (value is None and kind.form in (Form.LIST, Form.MAP, Form.STRUCT))
    if isinstance(value, list):
        for element, each in sorted(items(kind, value), key=lambda pair: pair[0]):
            below: FieldSet = {}
            _own(each, kind.item or ANY, below)
            node[element] = {fieldset.SELF: {}, **below} if below else {}
        return False
    for name, each in sorted(value.items()):
        if type(each) in PLAIN:  # it has its own owner, whatever its type
            node[fieldset.field(name)] = {}
            continue
        below = {}
        member = _own(each, member_type(kind, name) or ANY, below)
        empty = each is None or each == {}
        if member or empty or not is_field(kind, name):
            node[fieldset.field(name)] = {fieldset.SELF: {}, **below} if below else {}
        elif below:
            node[fieldset.field(name)] = below
    return False


def compare(old: Any, new: Any, kind: ValueType) -> FieldChanges:
    """Return the differences of a value from an older one."""
    found = FieldChanges()
    _compare(old, new, kind, (found.added, found.modified, found.removed))
    return found


_Nodes = tuple[FieldSet, FieldSet, FieldSet]
"""The nodes of one path in the three sets: added, modified, removed."""


def _compare(old: Any, new: Any, kind: ValueType, nodes: _Nodes) -> bool:
    """Compare two values that are not missing; return whether their own path is modified."""
    if old is new:
        return False
    kind = atom(kind, old if new is None else new)
    shape = None if is_leaf(kind) else _shape(old, new)
    if shape is None:
        return not is_alike(old, new)
    if shape is dict:
        before = old if isinstance(old, dict) else {}
        after = new if isinstance(new, dict) else {}
        for name in before.keys() | after.keys():
            one, two = before.get(name, MISSING), after.get(name, MISSING)
            if one is two:
                continue
            if type(one) in PLAIN and type(two) in PLAIN:
                if not is_alike(one, two):
                    nodes[1][fieldset.field(name)] = {}
                continue
            inner = member_type(kind, name) or ANY
            _descend(fieldset.field(name), (one, two), inner, nodes)
    else:
        before = grouped(kind, old) if isinstance(old, list) else {}
        after = grouped(kind, new) if isinstance(new, list) else {}
        item = kind.item or ANY
        for element in before.keys() & after.keys():
            _compare_items(element, (before[element], after[element]), item, nodes)
        nodes[0].update(_only_in(after, before, item))
        nodes[2].update(_only_in(before, after, item))
    return False


def _shape(old: Any, new: Any) -> type | None:
    """Return the type of two containers, of which one may be absent; ``None`` for other values."""
    one = type(old) if old and type(old) in NESTED else None
    two = type(new) if new and type(new) in NESTED else None
    if one is None or two is None:
        return one or two
    return one if one is two else None


def _only_in(one: Mapping[str, list[Any]], two: Container[str], kind: ValueType) -> FieldSet:
    """Return the nodes of the items that only one of two lists has."""
    return {
        element: {} if len(group) > 1 else _all_of(group[0], kind)
        for element, group in one.items()
        if element not in two
    }


def _compare_items(
    element: str, groups: tuple[Sequence[Any], Sequence[Any]], kind: ValueType, nodes: _Nodes
) -> None:
    """Compare the items of one path element; repeated items have one owner as a whole."""
    old, new = groups
    if len(old) == len(new) == 1:
        _descend(element, (old[0], new[0]), kind, nodes)
    elif len(old) > 1 and len(new) > 1:
        if not is_alike(old, new):
            nodes[1][element] = {}
    elif len(old) > 1:
        nodes[2][element] = {}
        nodes[0][element] = _all_of(new[0], kind)
    else:
        nodes[0][element] = {}
        nodes[2][element] = _all_of(old[0], kind)


def _descend(element: str, pair: tuple[Any, Any], kind: ValueType, nodes: _Nodes) -> None:
    old, new = pair
    if old is MISSING:
        nodes[0][element] = _all_of(new, kind)
        return
    if new is MISSING:
        nodes[2][element] = _all_of(old, kind)
        return
    if old is new or (has_texts_only(new) and old == new):
        return
    below: _Nodes = ({}, {}, {})
    if _compare(old, new, kind, below):
        nodes[1][element] = {}
    for node, inner in zip(nodes, below, strict=True):
        if inner:
            node[element] = inner


def _all_of(value: Any, kind: ValueType) -> FieldSet:
    """The node of a value that only one side has, with all its members."""
    if not isinstance(value, dict | list) or not value:
        return {}
    kind = atom(kind, value)
    if is_leaf(kind):
        return {}
    found: FieldSet = {fieldset.SELF: {}}
    if kind.form is Form.MAP and kind.item is not None and kind.item.form is Form.STRING:
        found.update((fieldset.field(name), {}) for name in value)
    elif isinstance(value, dict):
        for name, each in value.items():
            is_nested = type(each) in NESTED
            inner = _all_of(each, member_type(kind, name) or ANY) if is_nested else {}
            found[f"f:{name}"] = inner
    else:
        item = kind.item or ANY
        for element, group in grouped(kind, value).items():
            found[element] = {} if len(group) > 1 else _all_of(group[0], item)
    return found
