"""What an apply removes: fields that its manager owned before, and that have no owner now."""

from typing import Any

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.compare import owned_fields
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.merge import without
from stretto.api.schema.types import ValueType

Json = dict[str, Any]


def removed(item: Json, last: FieldSet, held: FieldSet, kind: ValueType) -> Json:
    """An object without the fields that its applier owned before, and that have no owner now.

    Args:
        item: the object.
        last: what the applier owned before.
        held: what has owners now.
        kind: the type of the object.
    """
    members = _with_members(held)
    gone = fieldset.difference(_with_members(last), members)
    return dict(without(item, _closed(gone, members), kind))


def brought_back(before: Json, after: Json, held: FieldSet, kind: ValueType) -> Json:
    """An object with the fields that were removed, but have owners in this version.

    Args:
        before: the object before anything was removed.
        after: the object without removed fields.
        held: what has owners in this version.
        kind: the type of both objects.
    """
    members = _with_members(held)
    left = fieldset.union(_with_members(owned_fields(after, kind)), members)
    gone = fieldset.difference(_with_members(owned_fields(before, kind)), left)
    return dict(without(before, _closed(gone, members), kind))


def _with_members(fields: FieldSet) -> FieldSet:
    """A set in which every inner path is a member too."""
    return {
        key: {fieldset.SELF: {}, **_with_members(fieldset.children(node))}
        if fieldset.children(node)
        else {}
        for key, node in fields.items()
        if key != fieldset.SELF
    }


def _closed(gone: FieldSet, held: FieldSet) -> FieldSet:
    """A set to remove, without inner paths below which other fields are still owned."""
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
