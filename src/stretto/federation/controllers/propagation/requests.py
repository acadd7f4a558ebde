"""Writes that bring one object to a member, with the states that follow from their replies."""

from dataclasses import replace

import msgspec

from stretto.api.edit.patch import PatchType
from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.federation import names
from stretto.federation.controllers.propagation.deliveries import Delivery
from stretto.federation.objects.members.orphans import is_orphaned
from stretto.federation.objects.members.versions import digest
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject
from stretto.stores.store import Deletion, Patch, Update, Write, WriteVerb


def creation(type_: FederatedType, wanted: Fields) -> Delivery:
    """The write that creates an object."""
    return Delivery(
        Write(WriteVerb.CREATE, type_.kind, (msgspec.json.encode(wanted),)),
        f"create {type_.kind.kind} {wanted['metadata'].get('name')}",
        Status.PENDING_CREATE,
        Status.OK,
        Status.CREATION_FAILED,
        f"correct the object, or serve {type_.kind.kind} in that cluster",
        digest(wanted),
    )


def change(present: StoredObject, after: Fields, failed: Status, input_: str = "") -> Delivery:
    """The write that replaces an object if its version is still the one that was read."""
    record = present.record
    change = Update(record.namespace, record.name, msgspec.json.encode(after), record.version)
    return Delivery(
        Write(WriteVerb.UPDATE, record.kind, (change,)),
        f"update {record.kind.kind} {record.name}",
        Status.UPDATE_TIMED_OUT,
        Status.OK,
        failed,
        "correct the object or its overrides",
        input_,
    )


def application(present: StoredObject, fields: Fields, input_: str, *, guarded: bool) -> Delivery:
    """The write that applies fields to an object.

    Args:
        present: the object.
        fields: the fields, including those that identify the object.
        input_: digest of the input of the fields.
        guarded: true if the version must still be the one that was read.
    """
    record = present.record
    version = record.version if guarded else None
    item = Patch(
        record.namespace, record.name, fields, version, uid=record.uid, type=PatchType.APPLY
    )
    return Delivery(
        Write(WriteVerb.PATCH, record.kind, (item,)),
        f"apply {record.kind.kind} {record.name}",
        Status.UPDATE_TIMED_OUT,
        Status.OK,
        Status.UPDATE_FAILED,
        "correct the object or its overrides",
        input_,
    )


def removal(present: StoredObject, federated: StoredObject) -> Delivery:
    """The write that deletes an object, or releases one that outlives its federated object."""
    if federated.is_terminating and is_orphaned(federated, present):
        return release(present)
    return deletion(present)


def deletion(present: StoredObject) -> Delivery:
    """The write that deletes an object."""
    record = present.record
    item = Deletion(record.namespace, record.name, record.uid)
    return Delivery(
        Write(WriteVerb.DELETE, record.kind, (item,)),
        f"delete {record.kind.kind} {record.name}",
        Status.WAITING_FOR_REMOVAL,
        Status.WAITING_FOR_REMOVAL,
        Status.DELETION_FAILED,
    )


def release(present: StoredObject) -> Delivery:
    """The write that removes the marks of the federation and keeps the object."""
    labels = {key: value for key, value in present.labels.items() if key != names.MANAGED}
    own = (names.PROPAGATED_LABELS, names.PROPAGATED_ANNOTATIONS, names.ADOPTED)
    notes = {
        key: value
        for key, value in present.annotations.items()
        if key not in own and key != names.SOURCE_GENERATION
    }
    metadata = {**present.metadata, "labels": labels, "annotations": notes}
    after = {**present.fields, "metadata": metadata}
    update = change(present, after, Status.LABEL_REMOVAL_FAILED)
    return replace(update, meanwhile=Status.LABEL_REMOVAL_TIMED_OUT, done=None, hint="")
