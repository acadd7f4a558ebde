"""Request bodies of writes, and replies about the objects of the writes."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.codec import set_fields
from stretto.api.edit.patch import PatchType
from stretto.api.types.heads import DISRUPTION_TARGET, decode_object_head
from stretto.api.wire.kinds import DEFAULT_NAMESPACE, Kind
from stretto.api.wire.limits import measured
from stretto.base.errors import InputError
from stretto.stores.embedded.json_edit import status_change
from stretto.stores.kube.login.messages import HttpResponse
from stretto.stores.kube.paths import place
from stretto.stores.kube.records import record_of
from stretto.stores.kube.transport.answers import status_of
from stretto.stores.store import (
    Bind,
    Deletion,
    Eviction,
    Patch,
    Record,
    Reply,
    StatusReason,
    Update,
    WriteOutcome,
)

_ENCODE: Final = msgspec.json.encode


class CreateBody(msgspec.Struct, frozen=True):
    """A new object, or the reason why it is invalid."""

    #: Its namespace.
    namespace: str
    #: Objects with the same key are created one after another.
    key: tuple[str, str | int]
    #: Its JSON with apiVersion and kind.
    body: bytes = b""
    #: Reason why it is invalid; empty if it is valid.
    error: str = ""


def create_body(kind: Kind, body: bytes, index: int) -> CreateBody:
    """Read the fields that the path of a new object needs; the server validates the rest."""
    try:
        head = decode_object_head(measured(body, kind.kind.lower()))
        if not (head.api_version and head.kind):
            body = set_fields(body, {("apiVersion",): kind.api_version, ("kind",): kind.kind})
    except InputError as error:
        return CreateBody("", ("", index), error=str(error))
    namespace = (head.metadata.namespace or DEFAULT_NAMESPACE) if kind.namespaced else ""
    return CreateBody(namespace, (namespace, head.metadata.name or index), body)


def binding_body(bind: Bind) -> bytes:
    """The Binding object of a pod."""
    meta: dict[str, Any] = {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid}
    if bind.annotations:
        meta["annotations"] = dict(bind.annotations)
    target = {"kind": "Node", "name": bind.node}
    return _ENCODE({"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target})


def eviction_body(eviction: Eviction) -> bytes:
    """The Eviction object of a pod."""
    meta = {"name": eviction.name, "namespace": eviction.namespace}
    options = _delete_options(eviction.uid, None)
    named = {"apiVersion": "policy/v1", "kind": "Eviction"}
    return _ENCODE({**named, "metadata": meta, "deleteOptions": options})


def disruption_patch(eviction: Eviction, pod: Record) -> Patch | None:
    """The condition of an evicted pod that the API server does not write.

    The server's eviction adds the condition to running pods only. kube-scheduler adds it to every
    victim, and the failure policies of Jobs read it. ``None`` if the server writes it, or if the
    pod has it or is being deleted.
    """
    status = msgspec.json.decode(pod.body).get("status") or {}
    waits = status.get("phase", "Pending") == "Pending"
    if pod.deleting or not (waits or eviction.beyond_budget):
        return None
    if any(each.get("type") == DISRUPTION_TARGET for each in status.get("conditions") or ()):
        return None
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": eviction.reason or "evicted by the scheduler",
    }
    return Patch(
        eviction.namespace,
        eviction.name,
        {"status": {"conditions": [condition]}},
        version=pod.version,
        uid=eviction.uid,
        type=PatchType.STRATEGIC,
    )


def update_body(update: Update, version: int | None) -> bytes:
    """The new JSON of an object, with the required version.

    Raises:
        InputError: the body is too large or malformed.
    """
    shown = None if version is None else str(version)
    return set_fields(measured(update.body, "object"), {("metadata", "resourceVersion"): shown})


def patch_body(kind: Kind, patch: Patch, *, status: bool) -> bytes:
    """The JSON of a patch of an object or of its status; empty if it changes nothing.

    Raises:
        InputError: the patch is too large or of a type that is not supported.
        TypeError, ValueError, RecursionError: the patch is not JSON.
    """
    if status:
        change = status_change(kind, patch.patch)
    else:
        change = {key: value for key, value in patch.patch.items() if key != "status"}
    if not change:
        return b""
    if patch.type is PatchType.JSON:
        raise InputError("patch", patch.type.value, "a merge patch or a strategic merge patch")
    return measured(_ENCODE(_with_conditions(change, patch)), "patch")


def delete_body(deletion: Deletion) -> bytes:
    """The DeleteOptions of a deletion."""
    return _ENCODE(_delete_options(deletion.uid, deletion.version))


def _delete_options(uid: str, version: int | None) -> dict[str, Any]:
    """DeleteOptions with the conditions on uid and version."""
    wanted = {"uid": uid or None, "resourceVersion": None if version is None else str(version)}
    conditions = {name: value for name, value in wanted.items() if value is not None}
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    return {**options, "preconditions": conditions} if conditions else options


def _with_conditions(change: Mapping[str, Any], patch: Patch) -> dict[str, Any]:
    """A patch with the required version and uid."""
    wanted: dict[str, Any] = {}
    if patch.uid:
        wanted["uid"] = patch.uid
    if patch.version is not None:
        wanted["resourceVersion"] = str(patch.version)
    if not wanted:
        return dict(change)
    return {**change, "metadata": {**(change.get("metadata") or {}), **wanted}}


def item_key(item: Update | Patch | Deletion | Bind | Eviction) -> tuple[str, str]:
    """Key of a write: writes of one object have the same key and are sent one after another."""
    return item.namespace, item.name


def not_found_reply(kind: Kind, namespace: str, name: str) -> Reply:
    """The reply to a write of an object that does not exist."""
    text = f"{kind.kind} {place(namespace, name)} was not found"
    return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, text)


def changed_reply(found: Record) -> Reply:
    """The reply to a write whose conditions the object does not meet."""
    where = place(found.namespace, found.name)
    text = f"{found.kind.kind} {where} has uid {found.uid} and version {found.version} now"
    return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, text, found)


def deleted_record(kind: Kind, deletion: Deletion, answer: HttpResponse) -> Record:
    """The record of a deleted object: marked, in its last state, or only its identity."""
    try:
        return record_of(kind, answer.body)
    except InputError:
        uid = status_of(answer).more.uid or deletion.uid
        return Record(kind, deletion.namespace, deletion.name, uid, 0, b"{}")
