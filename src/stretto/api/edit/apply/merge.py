"""Merge of an applied configuration into an object, and removal of fields."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.walking import MISSING, atom, is_leaf, items, member_type
from stretto.api.schema.types import ANY, ValueType
from stretto.api.wire.values import NESTED, is_flat


def merge(old: Any, new: Any, kind: ValueType) -> Any:
    """Return an object with an applied configuration merged in."""
    if new is MISSING:
        return old
    kind = atom(kind, new)
    if old is MISSING or old is None or is_leaf(kind) or new is None:
        return new if not isinstance(new, dict) or is_leaf(kind) else _clean(new, kind)
    if isinstance(new, dict) and isinstance(old, dict):
        merged = dict(old)
        for name, value in new.items():
            if type(value) in NESTED:
                inner = member_type(kind, name) or ANY
                merged[name] = merge(old.get(name, MISSING), value, inner)
            else:
                merged[name] = value
        return merged
    if isinstance(new, list) and isinstance(old, list):
        return _merge_lists(old, new, kind)
    return new


def _clean(new: dict[str, Any], kind: ValueType) -> dict[str, Any]:
    if is_flat(new):
        return new
    return {
        name: merge(MISSING, value, member_type(kind, name) or ANY) for name, value in new.items()
    }


def _merge_lists(old: list[Any], new: list[Any], kind: ValueType) -> list[Any]:
    """Merge two lists: new items keep the order of the new list, others their old place."""
    before, after = items(kind, old), items(kind, new)
    inner = kind.item or ANY
    values = [
        merge(before.get(element, MISSING), each, inner) if type(each) in NESTED else each
        for element, each in after.items()
    ]
    shared = ((at, element) for at, element in enumerate(after) if element in before)
    place, awaited = next(shared, _NONE)
    merged: list[Any] = []
    done = 0
    for element, each in before.items():
        if element not in after:
            merged.append(each)
        elif element == awaited:
            merged += values[done : place + 1]
            done = place + 1
            place, awaited = next(shared, _NONE)
        elif not awaited:  # an item that an earlier one has moved; structured-merge-diff goes on
            merged += values[done : done + 1]
            done += 1
    return merged + values[done:]


_NONE: Final = (0, "")
"""Place and path element if the rest of a new list contains no old item."""


def extracted(value: Any, wanted: FieldSet, kind: ValueType) -> Any:
    """Return the part of a value in a field set; ``MISSING`` if there is none."""
    kind = atom(kind, value)
    if isinstance(value, dict) and not is_leaf(kind):
        kept = {}
        for name, each in value.items():
            node = wanted.get(fieldset.field(name))
            if node is not None:
                kept[name] = _extracted(each, node, member_type(kind, name) or ANY)
        return kept
    if isinstance(value, list) and not is_leaf(kind):
        return [
            _extracted(each, wanted[element], kind.item or ANY)
            for element, each in items(kind, value).items()
            if element in wanted
        ]
    return value


def _extracted(value: Any, node: Mapping[str, Any], kind: ValueType) -> Any:
    below = fieldset.children(node)
    return extracted(value, below, kind) if below else value
