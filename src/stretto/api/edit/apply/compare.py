"""The field set of a typed value, and the differences between two values."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import LEAF, SELF, FieldSet
from stretto.api.edit.apply.walking import (
    MISSING,
    Repeated,
    atom,
    elements,
    grouped,
    is_field,
    is_leaf,
    items,
    member_type,
)
from stretto.api.schema.types import ANY, Form, Merge, ValueType
from stretto.api.wire.values import NESTED, PLAIN, has_plain_only, has_texts_only, is_alike, is_flat

Json = dict[str, Any]


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
        if kind.merge is Merge.SET and PLAIN.issuperset(map(type, value)):
            node.update(dict.fromkeys(sorted(elements(kind, value)), LEAF))
            return False
        inner, shapes = kind.item or ANY, _Shapes()
        has_members = inner.merge is Merge.GRANULAR
        found = items(kind, value)
        for element in sorted(found):
            each = found[element]
            if has_members and has_plain_only(each):
                node[element] = shapes[tuple(each)]
                continue
            below: FieldSet = {SELF: LEAF}
            _own(each, inner, below)
            node[element] = below if len(below) > 1 else LEAF
        return False
    for name, each in sorted(value.items()):
        element = f"f:{name}"
        if type(each) in PLAIN:  # it has its own owner, whatever its type
            node[element] = LEAF
            continue
        below = {}
        member = _own(each, member_type(kind, name) or ANY, below)
        empty = each is None or each == {}
        if member or empty or not is_field(kind, name):
            node[element] = {SELF: LEAF, **below} if below else LEAF
        elif below:
            node[element] = below
    return False


class _Shapes(dict[tuple[str, ...], FieldSet]):
    """Nodes of objects whose members have no members, by the names of the members."""

    def __missing__(self, names: tuple[str, ...]) -> FieldSet:
        """Build a node, which all objects with these names share."""
        node = {SELF: LEAF, **{fieldset.field(name): LEAF for name in sorted(names)}}
        found = self[names] = node if names else LEAF
        return found


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
        _compare_members(before, after, kind, nodes)
    else:
        former = grouped(kind, old) if isinstance(old, list) else {}
        latter = grouped(kind, new) if isinstance(new, list) else {}
        _compare_items(former, latter, kind.item or ANY, nodes)
    return False


def _compare_members(before: Json, after: Json, kind: ValueType, nodes: _Nodes) -> None:
    """Compare the members of two objects."""
    added, modified, _ = nodes
    for name, new in after.items():
        old = before.get(name, MISSING)
        if old is new:
            continue
        element = f"f:{name}"
        if old is MISSING:
            is_nested = type(new) in NESTED and new
            added[element] = _all_of(new, member_type(kind, name) or ANY) if is_nested else LEAF
        elif type(old) is type(new) and type(new) in PLAIN:
            if old != new:
                modified[element] = LEAF
        else:
            _descend(element, (old, new), member_type(kind, name) or ANY, nodes)
    for name, old in before.items():
        if name not in after:
            nodes[2][f"f:{name}"] = _all_of(old, member_type(kind, name) or ANY)


def _shape(old: Any, new: Any) -> type | None:
    """Return the type of two containers, of which one may be absent; ``None`` for other values."""
    one = type(old) if old and type(old) in NESTED else None
    two = type(new) if new and type(new) in NESTED else None
    if one is None or two is None:
        return one or two
    return one if one is two else None


def _compare_items(before: Json, after: Json, kind: ValueType, nodes: _Nodes) -> None:
    """Compare the items of two lists by their path elements."""
    added, modified, removed = nodes
    node = _WholeItems(kind).node
    for element, new in after.items():
        old = before.get(element, MISSING)
        if old is MISSING:
            added[element] = node(new) if type(new) in NESTED else LEAF
        elif type(old) is Repeated or type(new) is Repeated:
            if type(old) is not type(new):
                added[element], removed[element] = node(new), node(old)
            elif not is_alike([*old], [*new]):
                modified[element] = LEAF
        elif type(new) not in PLAIN or type(old) is not type(new) or old != new:
            _descend(element, (old, new), kind, nodes)
    for element, old in before.items():
        if element not in after:
            removed[element] = node(old) if type(old) in NESTED else LEAF


class _WholeItems:
    """Nodes of the items of a list that only one side has."""

    def __init__(self, kind: ValueType) -> None:
        self._kind = kind
        self._has_members = kind.merge is Merge.GRANULAR
        self._shapes = _Shapes()

    def node(self, item: Any) -> FieldSet:
        """Return the node of an item; repeated ones share a leaf."""
        if type(item) not in NESTED:
            return LEAF
        if self._has_members and is_flat(item):
            return self._shapes[tuple(item)]
        return _all_of(item, self._kind)


def _descend(element: str, pair: tuple[Any, Any], kind: ValueType, nodes: _Nodes) -> None:
    old, new = pair
    if old is new or (kind.form is Form.MAP and has_texts_only(new) and old == new):
        return
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    if _compare(old, new, kind, (added, modified, removed)):
        nodes[1][element] = LEAF
    if added:
        nodes[0][element] = added
    if modified:
        nodes[1][element] = modified
    if removed:
        nodes[2][element] = removed


def _all_of(value: Any, kind: ValueType) -> FieldSet:
    """The node of a value that only one side has, with all its members."""
    if type(value) not in NESTED or not value:
        return LEAF
    if kind.form is Form.ANY:
        kind = atom(kind, value)
    if kind.merge is Merge.ATOMIC:
        return LEAF
    found: FieldSet = {SELF: LEAF}
    if isinstance(value, dict):
        for name, each in value.items():
            is_nested = type(each) in NESTED and each
            inner = _all_of(each, member_type(kind, name) or ANY) if is_nested else LEAF
            found[f"f:{name}"] = inner
    else:
        node = _WholeItems(kind.item or ANY).node
        for element, each in grouped(kind, value).items():
            found[element] = node(each) if type(each) in NESTED else LEAF
    return found
