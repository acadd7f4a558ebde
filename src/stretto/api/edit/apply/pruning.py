"""Removal of fields that the applier owned before and that now have no owner."""

from typing import Any

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.compare import owned_fields
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.merge import without
from stretto.api.schema.types import ValueType

Json = dict[str, Any]


def removed(item: Json, last: FieldSet, held: FieldSet, kind: ValueType) -> Json:
    """Return an object without fields that its applier owned before and that now have no owner.

    Args:
        item: the object.
        last: the fields that the applier owned before.
        held: the fields that have owners now.
        kind: the type of the object.
    """
    members = _with_members(held)
    gone = fieldset.difference(_with_members(last), members)
    return dict(without(item, _closed(gone, members), kind))


def brought_back(before: Json, after: Json, held: FieldSet, kind: ValueType) -> Json:
    """Restore removed fields that have owners in this version.

    Args:
        before: the object before the removal.
        after: the object without the removed fields.
        held: the fields that have owners in this version.
        kind: the type of both objects.
    """
    members = _with_members(held)
    left = fieldset.union(_with_members(owned_fields(after, kind)), members)
    gone = fieldset.difference(_with_members(owned_fields(before, kind)), left)
    return dict(without(before, _closed(gone, members), kind))


def only_removed(before: Json, after: Json, last: FieldSet, kind: ValueType) -> Json:
    """Restore removed fields that the applier did not own.

    Args:
        before: the object before the removal.
        after: the object without the removed fields.
        last: the fields that the applier owned before.
        kind: the type of both objects.
    """
    left = _with_members(owned_fields(after, kind))
    gone = fieldset.difference(_with_members(owned_fields(before, kind)), left)
    owned = fieldset.intersection(gone, _with_members(last))
    return dict(without(before, _closed(owned, left), kind))


def _with_members(fields: FieldSet) -> FieldSet:
    """Return a set in which every inner path is a member too."""
    return {
        key: {fieldset.SELF: {}, **_with_members(fieldset.children(node))}
        if fieldset.children(node)
        else {}
        for key, node in fields.items()
        if key != fieldset.SELF
    }


def _closed(gone: FieldSet, held: FieldSet) -> FieldSet:
    """Return a set to remove, without inner paths above fields that still have owners."""
    kept: FieldSet = {}
    for key, node in gone.items():
        if key == fieldset.SELF:
            continue
        other = held.get(key)
        below = fieldset.children(node)
        if other is None:
            kept[key] = {}
        elif below:
            inner = _closed(below, fieldset.children(other))
            if inner:
                kept[key] = inner
    return kept
