"""Drafts of changes and deletions of single objects: allowed changes and conditions of each verb.

An update or a patch does not change the status, and a status patch changes nothing else. Only a
bind sets the node of a pod. An object with finalizers is only marked until the last one is removed.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from stretto.api.edit.patch import PatchType
from stretto.api.types.heads import ObjectHead, PodHead
from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError
from stretto.stores.embedded.admission import decode_changed
from stretto.stores.embedded.json_edit import (
    merged,
    status_change,
    strategically_merged,
    with_annotations,
    with_status_of,
)
from stretto.stores.embedded.table import TableDraft
from stretto.stores.facts import has_finalizers
from stretto.stores.generation import next_generation
from stretto.stores.store import Deletion, Patch, Record, Reply, StatusReason, Update, WriteOutcome

_COUNTED: Final = frozenset({"annotations", "generation"})
"""Metadata fields whose change may change the generation."""


def draft_update(draft: TableDraft, update: Update) -> Reply:
    """Replace an object; its status does not change."""
    old = draft.find(update.namespace, update.name)
    if old is None:
        return not_found(draft, update.namespace, update.name)
    if update.version is not None and update.version != old.version:
        return _changed(old)
    try:
        head = decode_changed(old.kind, update.body)
        if update.whole:
            _check_fixed(old, (head.metadata.name, head.metadata.namespace), None)
            return _replaced_whole(draft, old, update, head)
        node = head.spec.node_name if isinstance(head, PodHead) else ""
        _check_fixed(old, (head.metadata.name, head.metadata.namespace), node)
        body = with_status_of(update.body, old.body)
        return _replaced(draft, old, next_generation(old.kind, old.body, body), None)
    except InputError as error:
        return invalid(error)


def draft_patch(draft: TableDraft, patch: Patch) -> Reply:
    """Merge a patch into an object; its status does not change."""
    change = {key: value for key, value in patch.patch.items() if key != "status"}
    return _merged(draft, patch, change)


def draft_status_patch(draft: TableDraft, patch: Patch) -> Reply:
    """Merge a patch into the status of an object, and into the annotations of a pod."""
    return _merged(draft, patch, status_change(draft.table.kind, patch.patch), is_status=True)


def draft_deletion(draft: TableDraft, deletion: Deletion, now: str) -> Reply:
    """Delete an object, or mark it if it has finalizers."""
    old = draft.find(deletion.namespace, deletion.name)
    if old is None:
        return not_found(draft, deletion.namespace, deletion.name)
    if _is_other(old, deletion.uid, deletion.version):
        return _changed(old)
    return Reply(WriteOutcome.OK, record=leave(draft, old, now))


def leave(draft: TableDraft, old: Record, now: str) -> Record:
    """Delete an object now, or mark it until its finalizers are removed."""
    if not _is_held(old):
        return draft.remove(old, replace(old, version=draft.version + 1))
    if old.deleting:
        return old
    return draft.put(old, replace(old, version=draft.version + 1, deleting=now))


def invalid(error: InputError) -> Reply:
    """The reply to a malformed body."""
    return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, str(error))


def not_found(draft: TableDraft, namespace: str, name: str) -> Reply:
    """The reply to a write of an object that does not exist."""
    place = f"{namespace}/{name}" if namespace else name
    text = f"{draft.table.kind.kind} {place} was not found"
    return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, text)


def _merged(
    draft: TableDraft, patch: Patch, change: Mapping[str, Any], *, is_status: bool = False
) -> Reply:
    old = draft.find(patch.namespace, patch.name)
    if old is None:
        return not_found(draft, patch.namespace, patch.name)
    if _is_other(old, patch.uid, patch.version):
        return _changed(old)
    if not change:
        return Reply(WriteOutcome.OK, record=old)
    folds = "metadata" in change
    try:
        meta, spec = _object(change, "metadata"), _object(change, "spec")
        named = meta.get("name"), meta.get("namespace")
        _check_fixed(old, named, spec.get("nodeName") if old.kind == POD else None)
        before = with_annotations(old) if folds else old.body
        body = _patched(before, change, patch.type, old.kind)
        if not is_status and ("spec" in change or meta.keys() & _COUNTED):
            body = next_generation(old.kind, old.body, body)
        decode_changed(old.kind, body)
    except InputError as error:
        return invalid(error)
    except (TypeError, ValueError, RecursionError) as error:
        return invalid(InputError("patch", change, f"a JSON merge patch: {error}"))
    return _replaced(draft, old, body, None if folds else old.annotations)


def _patched(body: bytes, change: Mapping[str, Any], type_: PatchType, kind: Kind) -> bytes:
    """Apply a patch to a body; a plain merge preserves all other bytes."""
    if type_ is PatchType.MERGE:
        return merged(body, change)
    if type_ is PatchType.STRATEGIC:
        return strategically_merged(body, change, kind)
    raise InputError("patch", str(type_), "a merge patch or a strategic merge patch")


def _replaced(
    draft: TableDraft, old: Record, body: bytes, annotations: Mapping[str, str] | None
) -> Reply:
    """Replace the body of an object.

    Delete the object if it was marked and has no finalizers left.
    """
    if body == old.body and annotations == old.annotations:
        return Reply(WriteOutcome.OK, record=old)
    new = replace(old, version=draft.version + 1, body=body, annotations=annotations)
    if old.deleting and not _is_held(new):
        return Reply(WriteOutcome.OK, record=draft.remove(old, new))
    return Reply(WriteOutcome.OK, record=draft.put(old, new))


def _replaced_whole(
    draft: TableDraft, old: Record, update: Update, head: PodHead | ObjectHead
) -> Reply:
    """Replace an object as an API server computed it, with status, node and generation."""
    node = head.spec.node_name if isinstance(head, PodHead) else ""
    deleting = old.deleting or update.deleting
    same = (update.body, node, deleting) == (old.body, old.node, old.deleting)
    if same and not old.annotations and not update.ends:
        return Reply(WriteOutcome.OK, record=old)
    version = draft.version + 1
    new = replace(
        old, version=version, body=update.body, node=node, annotations=None, deleting=deleting
    )
    if update.ends:
        return Reply(WriteOutcome.OK, record=draft.remove(old, new))
    return Reply(WriteOutcome.OK, record=draft.put(old, new))


def _check_fixed(old: Record, named: tuple[Any, Any], node: Any) -> None:
    """Reject a changed name of an object or node of a pod; empty or absent values are ignored."""
    what = old.kind.kind.lower()
    for field, value, fixed in (
        ("name", named[0], old.name),
        ("namespace", named[1], old.namespace),
    ):
        if value and value != fixed:
            raise InputError(f"{what}.metadata.{field}", value, f"{fixed!r}: it cannot change")
    if node and node != old.node:
        raise InputError(
            "pod.spec.nodeName",
            node,
            f"{old.node!r}: only a bind assigns a pod to a node" if old.node else "no node",
            "bind the pod instead",
        )


def _object(change: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A member of a patch if it is an object; otherwise an empty one."""
    value = change.get(key)
    return value if isinstance(value, Mapping) else {}


def _is_held(record: Record) -> bool:
    try:
        return has_finalizers(record.body)
    except InputError:
        return False  # an unreadable object must remain deletable


def _is_other(record: Record, uid: str, version: int | None) -> bool:
    return bool(uid and uid != record.uid) or version not in (None, record.version)


def _changed(record: Record) -> Reply:
    """The reply to a write that expected another object or another version."""
    text = (
        f"{record.kind.kind} {record.name} has uid {record.uid} and version {record.version} now; "
        "read it again and decide again"
    )
    return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, text, record)
