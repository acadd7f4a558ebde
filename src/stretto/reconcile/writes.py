"""Writes of controllers: one object each, with the resource version that was read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.reconciler import accepted
from stretto.stores.store import Deletion, Patch, Record, Store, Update


def create(store: Store, kind: Kind, fields: Fields) -> Record | None:
    """Create an object.

    Raises:
        RetryError: the store refused it.
    """
    reply = store.create(kind, [msgspec.json.encode(fields)])[0]
    return accepted(reply, f"create {kind.kind} {fields['metadata'].get('name')}").record


def update(store: Store, old: StoredObject, fields: Fields) -> Record | None:
    """Replace an object; its status does not change.

    Raises:
        RetryError: the object has changed since it was read, or the store refused the update.
    """
    record = old.record
    change = Update(record.namespace, record.name, msgspec.json.encode(fields), record.version)
    reply = store.update(record.kind, [change])[0]
    return accepted(reply, f"update {record.kind.kind} {record.name}").record


def patch(store: Store, old: StoredObject, change: Mapping[str, Any]) -> None:
    """Merge a patch into an object; its status does not change.

    Raises:
        RetryError: the store refused the patch.
    """
    record = old.record
    item = Patch(record.namespace, record.name, change, uid=record.uid)
    accepted(store.patch(record.kind, [item])[0], f"patch {record.kind.kind} {record.name}")


def patch_status(store: Store, old: StoredObject, status: Mapping[str, Any]) -> None:
    """Merge a patch into the status of an object.

    Raises:
        RetryError: the store refused the patch.
    """
    record = old.record
    change = Patch(record.namespace, record.name, {"status": status}, uid=record.uid)
    reply = store.patch_status(record.kind, [change])[0]
    accepted(reply, f"status of {record.kind.kind} {record.name}")


def annotate_status(store: Store, old: StoredObject, annotations: Mapping[str, str]) -> None:
    """Merge annotations into an object by a write of its status, which keeps its generation.

    Raises:
        RetryError: the store refused the patch.
    """
    record = old.record
    change = {"metadata": {"annotations": annotations}}
    item = Patch(record.namespace, record.name, change, uid=record.uid)
    reply = store.patch_status(record.kind, [item])[0]
    accepted(reply, f"annotations of {record.kind.kind} {record.name}")


def delete(store: Store, old: StoredObject) -> None:
    """Delete an object.

    Raises:
        RetryError: the store refused the deletion.
    """
    record = old.record
    reply = store.delete(record.kind, [Deletion(record.namespace, record.name, record.uid)])[0]
    if reply.code.value != "NotFound":
        accepted(reply, f"delete {record.kind.kind} {record.name}")


def with_finalizer(fields: Fields, finalizer: str, present: bool) -> Fields | None:
    """Return an object with or without a finalizer; ``None`` if nothing changes."""
    metadata = fields["metadata"]
    finalizers = list(metadata.get("finalizers") or ())
    if (finalizer in finalizers) == present:
        return None
    changed = [*finalizers, finalizer] if present else [x for x in finalizers if x != finalizer]
    return {**fields, "metadata": {**metadata, "finalizers": changed}}
