"""Owners of fields: ``metadata.managedFields`` and how writes change it.

The rules are those of Kubernetes: an update owns the fields that it changes, an apply owns the
fields that it names, and an apply that would change a field of another manager conflicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.compare import FieldChanges, compare, owned_fields
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.last_applied import MANAGER, annotated, taken_over
from stretto.api.edit.apply.merge import merge, without
from stretto.api.edit.apply.walking import ApplyError, check_typed, struct_value
from stretto.api.schema.types import StructType, ValueType

Json = dict[str, Any]

MAX_UPDATERS: Final = 10
"""Entries of updates that an object keeps; older ones are merged."""

_STRIPPED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        fieldset.SELF: {},
        "f:name": {},
        "f:namespace": {},
        "f:creationTimestamp": {},
        "f:selfLink": {},
        "f:uid": {},
        "f:clusterName": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:resourceVersion": {},
    },
}
"""Fields without owners."""


@dataclass(frozen=True)
class ManagerKey:
    """Who owns fields."""

    #: Name of the manager.
    manager: str
    #: ``Apply`` or ``Update``.
    operation: str
    #: API version of the fields.
    api_version: str
    #: Subresource; empty for the object itself.
    subresource: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What makes two entries the same: an applier's version does not count."""
        version = "" if self.operation == "Apply" else self.api_version
        return self.manager, self.operation, version, self.subresource


@dataclass(frozen=True)
class ManagerEntry:
    """One entry of ``managedFields``."""

    #: The owner.
    key: ManagerKey
    #: Its fields.
    fields: FieldSet
    #: When they last changed; empty if unknown.
    time: str = ""


Managers = dict[tuple[str, str, str, str], ManagerEntry]
"""Entries by identity."""


class OwnershipError(Exception):
    """An apply would change fields of other managers."""

    def __init__(self, conflicts: list[tuple[ManagerEntry, tuple[str, ...]]]) -> None:
        super().__init__(conflicts)
        #: Pairs of an owner and the path of its field.
        self.conflicts = conflicts


@dataclass(frozen=True)
class WriteFrame:
    """What a write knows about its object: types, writer and time."""

    #: Struct of the object.
    struct: StructType
    #: The writer.
    key: ManagerKey
    #: RFC 3339 time of the write.
    now: str
    #: Sub-trees that the write resets, so that it owns nothing there.
    reset: FieldSet

    @property
    def kind(self) -> ValueType:
        """The type of the object."""
        return struct_value(self.struct)


def decode_managers(entries: Any) -> Managers:
    """The managers of an object.

    Raises:
        ApplyError: an entry is malformed.
    """
    found: Managers = {}
    for each in entries or ():
        operation = each.get("operation")
        if operation not in ("Apply", "Update"):
            raise ApplyError(f"invalid operation {operation!r} in metadata.managedFields")
        if not each.get("apiVersion"):
            raise ApplyError("an entry of metadata.managedFields has no apiVersion")
        if each.get("fieldsType") != "FieldsV1":
            raise ApplyError(f"invalid fieldsType {each.get('fieldsType')!r}, expected FieldsV1")
        key = ManagerKey(
            each.get("manager", ""),
            operation,
            each.get("apiVersion", ""),
            each.get("subresource", ""),
        )
        found[key.identity] = ManagerEntry(key, each.get("fieldsV1") or {}, each.get("time") or "")
    return found


def encode_managers(managers: Managers) -> list[Json]:
    """The entries as in ``metadata.managedFields``, in their order."""
    ordered = sorted(
        managers.values(),
        key=lambda each: (
            each.key.operation,
            each.time,
            each.key.manager,
            each.key.api_version,
            each.key.subresource,
        ),
    )
    return [_encoded(each) for each in ordered if each.fields]


def _encoded(entry: ManagerEntry) -> Json:
    found: Json = {
        "manager": entry.key.manager,
        "operation": entry.key.operation,
        "apiVersion": entry.key.api_version,
    }
    if not entry.key.manager:
        del found["manager"]
    if entry.time:
        found["time"] = entry.time
    found |= {"fieldsType": "FieldsV1", "fieldsV1": entry.fields}
    if entry.key.subresource:
        found["subresource"] = entry.key.subresource
    return found


def managed_update(old: Json, new: Json, managers: Managers, frame: WriteFrame) -> Managers:
    """The managers after an update from one object to another."""
    found = _filtered(compare(_plain(old), _plain(new), frame.kind), frame.reset)
    others = {
        identity: replace(each, fields=_taken(each.fields, found))
        for identity, each in managers.items()
    }
    gained = fieldset.union(found.modified, found.added)
    kept = {identity: each for identity, each in others.items() if each.fields}
    if gained:
        mine = frame.key.identity
        before = kept[mine].fields if mine in kept else {}
        kept[mine] = ManagerEntry(frame.key, fieldset.union(before, gained), frame.now)
    return _capped(kept)


def fields_of_new(empty: Json, new: Json, kind: StructType, reset: FieldSet) -> FieldSet:
    """The fields that the creator of an object owns; a pure function of the object.

    Args:
        empty: an object of the kind without content.
        new: the new object.
        kind: its struct.
        reset: sub-trees that the write resets.
    """
    changes = compare(_plain(empty), _plain(new), struct_value(kind))
    found = _filtered(changes, reset)
    return fieldset.union(found.modified, found.added)


def _taken(fields: FieldSet, found: FieldChanges) -> FieldSet:
    left = fieldset.difference(fields, fieldset.union(found.modified, found.added))
    return fieldset.difference(left, found.removed)


def _filtered(found: FieldChanges, reset: FieldSet) -> FieldChanges:
    """A comparison without the fields that have no owner or that the write resets."""
    return FieldChanges(
        *(
            fieldset.difference(fieldset.without_prefix(each, reset), _STRIPPED)
            for each in (found.added, found.modified, found.removed)
        )
    )


def _plain(item: Json) -> Json:
    """An object without its managed fields."""
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping) or "managedFields" not in metadata:
        return item
    return {**item, "metadata": {key: metadata[key] for key in metadata if key != "managedFields"}}


def _capped(managers: Managers) -> Managers:
    """Managers with at most ten entries of updates; the oldest are merged into one a version."""
    updates = [each for each in managers.values() if each.key.operation == "Update"]
    excess = len(updates) - MAX_UPDATERS
    if excess <= 0:
        return managers
    ordered = sorted(updates, key=lambda each: (each.time, each.key.identity))
    kept = dict(managers)
    for each in ordered[: excess + 1]:
        del kept[each.key.identity]
        key = ManagerKey("ancient-changes", "Update", each.key.api_version)
        before = kept.get(key.identity)
        fields = each.fields if before is None else fieldset.union(before.fields, each.fields)
        kept[key.identity] = ManagerEntry(key, fields, each.time)
    return kept


# ---------------------------------------------------------------- apply


def managed_apply(
    live: Json, config: Json, managers: Managers, frame: WriteFrame, *, force: bool
) -> tuple[Json, Managers]:
    """The object and its managers after an applied configuration.

    Raises:
        ApplyError: the configuration does not fit the schema.
        OwnershipError: it would change fields of other managers, and ``force`` is not set.
    """
    check_typed(config, frame.kind)
    live, config = _plain(live), _plain(config)
    merged = merge(live, config, frame.kind)
    named = owned_fields(config, frame.kind)
    owned = fieldset.difference(fieldset.without_prefix(named, frame.reset), _STRIPPED)
    mine = frame.key.identity
    last = managers.get(mine)
    after = {**managers, mine: ManagerEntry(frame.key, owned, last.time if last else "")}
    if last is not None:
        holders = [named, *(each.fields for key, each in after.items() if key != mine)]
        merged = _pruned(merged, last.fields, holders, frame)
    found = _filtered(compare(live, merged, frame.kind), frame.reset)
    changed = fieldset.union(found.modified, found.added)
    if not force:
        allowed = taken_over(live, frame.kind) if frame.key.manager == MANAGER else {}
        _check_conflicts(after, changed, allowed, mine)
    kept = {
        identity: each if identity == mine else replace(each, fields=_taken(each.fields, found))
        for identity, each in after.items()
    }
    kept = {identity: each for identity, each in kept.items() if each.fields}
    if mine in kept and merged != live:
        kept[mine] = replace(kept[mine], time=frame.now)
    if frame.key.manager == MANAGER:
        merged = annotated(merged, config)
    return merged, kept


def _check_conflicts(managers: Managers, changed: FieldSet, allowed: FieldSet, mine: Any) -> None:
    """Refuse changes of fields that other managers own, unless all are allowed.

    Raises:
        OwnershipError: names those that are not allowed.
    """
    conflicts = [
        (managers[identity], path)
        for identity in sorted(managers)
        if identity != mine
        for path in fieldset.paths(
            fieldset.difference(fieldset.intersection(managers[identity].fields, changed), allowed)
        )
    ]
    if conflicts:
        raise OwnershipError(conflicts)


def _pruned(merged: Json, last: FieldSet, holders: list[FieldSet], frame: WriteFrame) -> Json:
    """An object without the fields that the applier owned before, and that have no owner now."""
    held: FieldSet = {}
    for each in holders:
        held = fieldset.union(held, _with_members(each))
    gone = fieldset.difference(_leaves(last), held)
    return dict(without(merged, _closed(gone, held), frame.kind))


def _with_members(fields: FieldSet) -> FieldSet:
    """A set in which every inner path is a member too."""
    return {
        key: {fieldset.SELF: {}, **_with_members(fieldset.children(node))}
        if fieldset.children(node)
        else {}
        for key, node in fields.items()
        if key != fieldset.SELF
    }


_leaves = _with_members


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


def conflict_text(error: OwnershipError) -> tuple[str, list[Json]]:
    """The message and the causes of a conflict."""
    causes: list[Json] = []
    by_owner: dict[str, list[str]] = {}
    for entry, path in error.conflicts:
        owner = _owner_text(entry.key)
        by_owner.setdefault(owner, []).append(fieldset.path_text(path))
        causes.append(
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {owner}",
                "field": fieldset.path_text(path),
            }
        )
    count = len(error.conflicts)
    head = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: "
    parts = []
    for owner in sorted(by_owner):
        fields = by_owner[owner]
        if len(fields) == 1 and count == 1:
            parts.append(f"conflict with {owner}: {fields[0]}")
        else:
            listed = "".join(f"\n- {each}" for each in fields)
            parts.append(f"conflicts with {owner}:{listed}")
    return head + "\n".join(parts), causes


def _owner_text(key: ManagerKey) -> str:
    text = msgspec.json.encode(key.manager).decode()
    if key.subresource:
        text += f" with subresource {msgspec.json.encode(key.subresource).decode()}"
    if key.operation == "Update":
        text += f" using {key.api_version}"
    return text
