"""Field managers: ``metadata.managedFields``, and its change by writes.

The rules are those of Kubernetes: an update owns the fields that it changes, an apply owns the
fields in its configuration, and an apply that would change a field of another manager conflicts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.compare import FieldChanges, compare, owned_fields
from stretto.api.edit.apply.fieldset import SELF, FieldSet
from stretto.api.edit.apply.last_applied import MANAGER, annotated, taken_over
from stretto.api.edit.apply.merge import merge
from stretto.api.edit.apply.pruning import InVersion, pruned
from stretto.api.edit.apply.walking import ApplyError, check_typed, struct_value
from stretto.api.schema.types import StructType, ValueType
from stretto.api.wire.values import is_equal

Json = dict[str, Any]

MAX_UPDATERS: Final = 10
"""Maximum number of update entries of an object; older ones are merged."""

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
"""Fields without a manager."""


@dataclass(frozen=True)
class ManagerKey:
    """Owner of fields."""

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
        """Identity of an entry: the API version of an applier does not count."""
        version = "" if self.operation == "Apply" else self.api_version
        return self.manager, self.operation, version, self.subresource


@dataclass(frozen=True)
class ManagerEntry:
    """An entry of ``managedFields``."""

    #: The owner.
    key: ManagerKey
    #: Its fields.
    fields: FieldSet
    #: Time of their last change; empty if unknown.
    time: str = ""


Managers = dict[tuple[str, str, str, str], ManagerEntry]
"""Entries by identity."""


class OwnershipError(Exception):
    """An apply would change fields of other managers."""

    def __init__(self, conflicts: list[tuple[ManagerEntry, tuple[str, ...]]]) -> None:
        super().__init__(conflicts)
        #: (owner, path of its field) of each conflict.
        self.conflicts = conflicts


class VersionError(ApplyError):
    """An object does not match the schema of a version in which a manager owns fields."""


@dataclass(frozen=True)
class WriteFrame:
    """Context of a write: types, writer and time."""

    #: Struct of the object.
    struct: StructType
    #: The writer.
    key: ManagerKey
    #: RFC 3339 time of the write.
    now: str
    #: Sub-trees that the write resets; the write owns nothing in them.
    reset: FieldSet
    #: Converts objects to the versions of managers; ``None``: all versions have the same fields.
    in_version: InVersion | None = None
    #: Versions that exist, if all have the same fields; ``None``: any.
    versions: frozenset[str] | None = None

    @property
    def kind(self) -> ValueType:
        """The type of the object."""
        return struct_value(self.struct)


def decode_managers(entries: Any) -> Managers:
    """Decode the managers of an object.

    Raises:
        ApplyError: an entry is malformed.
    """
    found: Managers = {}
    known: set[_Names] = set()
    for each in entries or ():
        operation = each.get("operation")
        if operation not in ("Apply", "Update"):
            raise ApplyError(f"invalid operation {operation!r} in metadata.managedFields")
        if not each.get("apiVersion"):
            raise ApplyError("an entry of metadata.managedFields has no apiVersion")
        if each.get("fieldsType") != "FieldsV1":
            raise ApplyError(f"invalid fieldsType {each.get('fieldsType')!r}, expected FieldsV1")
        fields = _readable(each.get("fieldsV1") or {}, known)
        key = ManagerKey(
            each.get("manager", ""),
            operation,
            each.get("apiVersion", ""),
            each.get("subresource", ""),
        )
        found[key.identity] = ManagerEntry(key, fields, each.get("time") or "")
    return found


def managers_of(item: Json) -> Managers:
    """Return the managers of an object; none if an entry is malformed, as after their removal."""
    try:
        return decode_managers(item["metadata"].get("managedFields"))
    except ApplyError:
        return {}


_Names = tuple[str, ...]
"""The path elements of a node."""


def _readable(fields: Any, known: set[_Names]) -> FieldSet:
    """Return a set of fields without path elements of unknown types, as later versions have them.

    Args:
        fields: the set.
        known: the path elements of nodes without others, which the items of a list have in common.

    Raises:
        ApplyError: a key is no path element.
    """
    if not isinstance(fields, dict):
        raise ApplyError(f"invalid fieldsV1 {fields!r}, expected an object")
    names = tuple(fields)
    if names in known and _has_leaves_only(fields):
        return fields
    found: FieldSet = {}
    are_items = _are_items(names)
    for key, below in fields.items():
        if key == SELF:
            found[key] = {}
        elif are_items or key.startswith("f:") or _is_known(key):
            found[key] = _readable(below, known) if below != {} else {}
    if len(found) == len(names):
        known.add(names)
    return found


def _has_leaves_only(fields: Json) -> bool:
    return not any(fields.values()) and _MAPS.issuperset(map(type, fields.values()))


def _are_items(names: _Names) -> bool:
    """Return whether all path elements are items of one list; read at once, not one by one.

    Each text is one value between its brackets: scalars contain neither brackets nor line breaks.
    """
    read = _ITEMS.get(names[-1][:2]) if names else None
    if read is None:
        return False
    texts = [each[2:] for each in names if each.startswith(names[-1][:2])]
    if len(texts) + (SELF in names) < len(names):
        return False
    try:
        return len(read(f"[[{_NEXT.join(texts)}]]")) == len(texts)
    except (ValueError, msgspec.DecodeError):
        return False


_MAPS: Final = frozenset({dict})
_NEXT: Final = "],\n["
"""Text between two items of a list of lists; a text in JSON contains no line break."""
_Scalar = str | int | float | bool | None
_ITEMS: Final[Mapping[str, Callable[[str], list[Any]]]] = {
    "k:": msgspec.json.Decoder(list[tuple[dict[str, _Scalar]]]).decode,
    "v:": msgspec.json.Decoder(list[tuple[_Scalar]]).decode,
}
"""Readers of many items of keyed lists and of sets."""


def _is_known(key: str) -> bool:
    """Return whether the type of a path element is known.

    Raises:
        ApplyError: the key is no path element.
    """
    if key[1:2] != ":":
        raise ApplyError(f"invalid path element {key!r} in fieldsV1")
    read = _ELEMENTS.get(key[0])
    if read is None:
        return False
    try:
        read(key[2:])
    except (ValueError, msgspec.DecodeError) as error:
        raise ApplyError(f"invalid path element {key!r} in fieldsV1") from error
    return True


def _keys(text: str) -> None:
    """Read the keys of a list item; a text that is no JSON object raises an error."""
    msgspec.json.decode(text, type=dict[str, Any])


_ELEMENTS: Final[Mapping[str, Callable[[str], object]]] = {
    "f": str,
    "k": _keys,
    "v": msgspec.json.decode,
    "i": int,
}
"""Readers of path elements by type."""


def encode_managers(managers: Managers) -> list[Json]:
    """Encode the entries as in ``metadata.managedFields``, in their order."""
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
    return [encoded_entry(each) for each in ordered if each.fields]


def encoded_entry(entry: ManagerEntry) -> Json:
    """Encode one entry as in ``metadata.managedFields``."""
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
    """Return the managers after an update from one object to another.

    Raises:
        VersionError: an object does not match a version in which a manager owns fields.
    """
    changes = _VersionedChanges(_plain(old), _plain(new), frame)
    kept = _reduced(managers, changes)
    found = changes.own
    gained = found.gained
    if gained:
        mine = frame.key.identity
        before = kept[mine].fields if mine in kept else {}
        kept[mine] = ManagerEntry(frame.key, fieldset.union(before, gained), frame.now)
    return _capped(kept)


class _VersionedChanges:
    """Changes of a write, in each version in which managers own fields."""

    def __init__(self, old: Json, new: Json, frame: WriteFrame) -> None:
        self._items = (old, new)
        self._frame = frame
        self._all = compare(old, new, frame.kind)
        #: Changes in the version of the write.
        self.own = _filtered(self._all, frame.reset)
        self._known: dict[str, FieldChanges | None] = {frame.key.api_version: self.own}

    def of(self, api_version: str) -> FieldChanges | None:
        """Return the changes in a version; ``None`` if the version does not exist."""
        if self._frame.in_version is None:
            versions = self._frame.versions
            return self.own if versions is None or api_version in versions else None
        if api_version not in self._known:
            self._known[api_version] = self._compared(self._frame.in_version, api_version)
        return self._known[api_version]

    def _compared(self, in_version: InVersion, api_version: str) -> FieldChanges | None:
        shown = in_version(self._items, api_version)
        if shown is None:
            return None
        (old, new), kind = shown
        is_own = kind is self._frame.kind and all(map(_has_parts, (old, new), self._items))
        found = self._all if is_own else compare(old, new, kind)
        return _filtered(found, {})  # only the version of the write resets


def _has_parts(item: Json, other: Json) -> bool:
    """Return whether an object has the parts of another one, except for its version."""
    names = item.keys() - {"apiVersion"}
    return names == other.keys() - {"apiVersion"} and all(item[key] is other[key] for key in names)


def _reduced(managers: Managers, changes: _VersionedChanges, mine: Any = None) -> Managers:
    """Return managers without the fields that a write takes over, except the manager ``mine``."""
    kept: Managers = {}
    for identity, each in managers.items():
        found = changes.of(each.key.api_version)
        if identity == mine:
            kept[identity] = each
        elif found is not None:
            kept[identity] = replace(each, fields=_taken(each.fields, found))
    return {identity: each for identity, each in kept.items() if each.fields}


def fields_of_new(empty: Json, new: Json, kind: StructType, reset: FieldSet) -> FieldSet:
    """The fields that the creator of an object owns; a pure function of the object.

    Args:
        empty: an object of the kind without content.
        new: the new object.
        kind: its struct.
        reset: sub-trees that the write resets.
    """
    found = compare(_plain(empty), _plain(new), struct_value(kind))
    return _managed(fieldset.union(found.modified, found.added), reset)


def _taken(fields: FieldSet, found: FieldChanges) -> FieldSet:
    left = fieldset.difference(fields, found.gained)
    return fieldset.difference(left, found.removed)


def _filtered(found: FieldChanges, reset: FieldSet) -> FieldChanges:
    """A comparison without fields that have no manager or that the write resets."""
    sets = (found.added, found.modified, found.removed)
    return FieldChanges(*(_managed(each, reset) for each in sets))


def _managed(fields: FieldSet, reset: FieldSet) -> FieldSet:
    return fieldset.difference(fieldset.without_prefix(fields, reset), _STRIPPED)


def _plain(item: Json) -> Json:
    """An object without its managed fields."""
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping) or "managedFields" not in metadata:
        return item
    return {**item, "metadata": {key: metadata[key] for key in metadata if key != "managedFields"}}


def _capped(managers: Managers) -> Managers:
    """Return managers with at most ten update entries; the oldest are merged, one per version."""
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
    """Return the object and its managers after an apply of a configuration.

    Raises:
        ApplyError: the configuration does not match the schema.
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
        owners = {**after, mine: ManagerEntry(frame.key, named)}
        merged = _pruned(merged, last, owners, frame)
    # A comparison of an object with itself takes no time.
    changes = _VersionedChanges(live, live if is_equal(merged, live) else merged, frame)
    if not force:
        allowed = taken_over(live, frame.kind) if frame.key.manager == MANAGER else {}
        _check_conflicts(after, changes, allowed, mine)
    kept = _reduced(after, changes, mine)
    if mine in kept and merged != live:
        kept[mine] = replace(kept[mine], time=frame.now)
    if frame.key.manager == MANAGER:
        merged = annotated(merged, config)
    return merged, kept


def _pruned(merged: Json, last: ManagerEntry, owners: Managers, frame: WriteFrame) -> Json:
    """Return an object without fields that the applier owned before and that now have no owner."""
    held: dict[str, FieldSet] = {}
    for each in owners.values():
        version = (frame if frame.in_version is None else each).key.api_version
        held[version] = fieldset.union(held.get(version, {}), each.fields)
    in_version = frame.in_version or _same_versions(frame.kind)
    named = owners[frame.key.identity].fields
    found, version = pruned(merged, (last.key.api_version, last.fields), named, held, in_version)
    if version == frame.key.api_version:
        return found
    shown = in_version([found], frame.key.api_version)
    return found if shown is None else shown[0][0]


def _same_versions(kind: ValueType) -> InVersion:
    """Return the converter of a kind whose versions have the same fields."""
    return lambda items, _: (items, kind)


def _check_conflicts(
    managers: Managers, changes: _VersionedChanges, allowed: FieldSet, mine: Any
) -> None:
    """Refuse changes of fields that other managers own, unless all are allowed.

    Raises:
        OwnershipError: contains the changes that are not allowed.
    """
    conflicts = []
    for identity in sorted(managers):
        entry = managers[identity]
        found = None if identity == mine else changes.of(entry.key.api_version)
        if found is None:
            continue
        changed = found.gained
        taken = fieldset.difference(fieldset.intersection(entry.fields, changed), allowed)
        conflicts += [(entry, path) for path in fieldset.paths(taken)]
    if conflicts:
        raise OwnershipError(conflicts)
