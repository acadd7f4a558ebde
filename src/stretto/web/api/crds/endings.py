"""Deletion of definitions: their objects are deleted first."""

from typing import Any, Final

from stretto.reconcile.conditions import true_condition, with_condition
from stretto.web.api.crds.status import write_status
from stretto.web.api.crds.versions import stored_kind
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

_CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer of definitions that have objects."""
_PENDING: Final = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionPending",
    "message": (
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    ),
}
_IN_PROGRESS: Final = {
    **_PENDING,
    "reason": "InstanceDeletionInProgress",
    "message": "CustomResource deletion is in progress",
}
_COMPLETED: Final = {
    "type": "Terminating",
    "status": "False",
    "reason": "InstanceDeletionCompleted",
    "message": "removed all instances",
}


def mark_end(item: Json, now: str) -> None:
    """Mark a definition for deletion: its objects are deleted first."""
    finalizers = item["metadata"].get("finalizers") or []
    if _CLEANUP not in finalizers:
        item["metadata"]["finalizers"] = [*finalizers, _CLEANUP]
    status = item.get("status") or {}
    conditions = with_condition(status.get("conditions"), _PENDING, now)
    item["status"] = {**status, "conditions": conditions}


def is_ending(definition: Json) -> bool:
    """Return whether the objects of a definition are being deleted; no others are then created."""
    conditions = (definition.get("status") or {}).get("conditions")
    return true_condition(conditions, "Terminating") is not None


def begin_end(state: ApiState, resource: ServedResource, found: StoredItem) -> bool:
    """Report that the deletion of the objects has begun; return whether the status has changed."""
    status = found.item.get("status") or {}
    conditions = with_condition(status.get("conditions"), _IN_PROGRESS, state.now)
    finalizers = found.item["metadata"].get("finalizers") or ()
    if _CLEANUP not in finalizers or conditions == status.get("conditions"):
        return False
    write_status(state, resource, found, {**status, "conditions": conditions})
    return True


def end_definition(state: ApiState, resource: ServedResource, found: StoredItem) -> None:
    """Delete the objects of a definition, then the definition.

    Objects with finalizers are marked. The definition stays until its objects are deleted and until
    it has no finalizers of other clients.
    """
    finalizers = found.item["metadata"].get("finalizers") or []
    if _CLEANUP not in finalizers or not _delete_objects(state, found.item):
        return
    current = state.storage.find(resource.stored, "", found.record.name)
    if current is None:
        return
    left = [each for each in finalizers if each != _CLEANUP]
    if not left:
        state.storage.remove(resource, current.record)
        return
    before = current.item.get("status") or {}
    conditions = with_condition(before.get("conditions"), _COMPLETED, state.now)
    status = {**before, "conditions": conditions}
    metadata = {**current.item["metadata"], "finalizers": left}
    item = {**current.item, "metadata": metadata}
    write_status(state, resource, StoredItem(item, current.record), status)


def _delete_objects(state: ApiState, definition: Json) -> bool:
    """Delete the objects of a definition; return whether none is left."""
    kind = stored_kind(definition)
    served = next((each for each in state.resources.custom() if each.stored == kind), None)
    is_clear = True
    for record in state.storage.listing(kind).records:
        stored = state.storage.find(kind, record.namespace, record.name)
        if stored is None or served is None:
            continue
        metadata = stored.item["metadata"]
        if not metadata.get("finalizers"):
            state.storage.remove(served, stored.record)
            continue
        is_clear = False
        if not stored.record.deleting:
            ends = {"deletionTimestamp": state.now, "deletionGracePeriodSeconds": 0}
            marked = {**stored.item, "metadata": {**metadata, **ends}}
            state.storage.replace(served, stored.record, marked, state.now)
    return is_clear
