"""Server-side apply in which earlier writes of the same manager count as applied.

A server removes a field when its manager applies a configuration without the field, but only if no
other manager owns it. Fields that the same manager has created or updated count as owned by another
manager. Therefore these fields are first moved to the applied ones.
"""

from typing import Any, Final

import msgspec

from stretto.api.edit.apply.fieldset import union
from stretto.api.edit.patch import PatchType
from stretto.api.wire.kinds import Kind
from stretto.base.errors import StrettoError
from stretto.stores.kube.paths import object_path
from stretto.stores.kube.transport.answers import refused_reply
from stretto.stores.kube.transport.gates import RequestPurpose, purpose_of
from stretto.stores.kube.transport.retry import RequestSender
from stretto.stores.store import Patch, Reply, StatusReason, WriteOutcome

ManagedFields = dict[str, Any]
"""One entry of ``metadata.managedFields``."""

MERGED: Final = PatchType.MERGE.value
"""Media type of the patch that moves fields."""
_UPDATE: Final = "Update"
_APPLY: Final = "Apply"


class OwnedMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Identity of an object, and the managers of its fields."""

    #: Uid.
    uid: str = ""
    #: Version.
    resource_version: str = ""
    #: The managers.
    managed_fields: list[ManagedFields] = []


class OwnedObject(msgspec.Struct, frozen=True):
    """An object of which only the metadata is read."""

    #: The metadata.
    metadata: OwnedMeta = OwnedMeta()


async def ownership_patch(sender: RequestSender, kind: Kind, patch: Patch) -> bytes | Reply:
    """The patch that moves fields written by this client to the applied fields.

    Returns:
        A merge patch, empty if nothing must be moved; a reply if the object cannot be read.
    """
    what = f"get {kind.resource}"
    path = object_path(kind, patch.namespace, patch.name)
    try:
        answer = await sender.read(path, purpose_of(kind, RequestPurpose.READ))
        if answer.status != 200:
            return refused_reply(answer, what)
        found = msgspec.json.decode(answer.body, type=OwnedObject).metadata
    except (StrettoError, msgspec.DecodeError) as error:
        return Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, f"{what}: {error}")
    moved = with_applied(found.managed_fields, sender.options.field_manager)
    if moved is None:
        return b""
    change = {"managedFields": moved, "resourceVersion": found.resource_version}
    return msgspec.json.encode({"metadata": change})


def with_applied(managed: list[ManagedFields], manager: str) -> list[ManagedFields] | None:
    """The managers of an object after all fields of one manager count as applied.

    Args:
        managed: the managers.
        manager: the manager that is about to apply.

    Returns:
        The managers; ``None`` if nothing changes.
    """
    own = [each for each in managed if _is_of(each, manager, _UPDATE)]
    if not own:
        return None
    applied = [each for each in managed if _is_of(each, manager, _APPLY)]
    fields: dict[str, Any] = {}
    for each in (*applied, *own):
        fields = union(fields, each.get("fieldsV1") or {})
    others = [each for each in managed if each not in own and each not in applied]
    return [*others, {**own[-1], "operation": _APPLY, "fieldsV1": fields}]


def _is_of(entry: ManagedFields, manager: str, operation: str) -> bool:
    """Return whether an entry has this manager and operation, and no subresource."""
    found = entry.get("manager"), entry.get("operation"), entry.get("subresource", "")
    return found == (manager, operation, "")
