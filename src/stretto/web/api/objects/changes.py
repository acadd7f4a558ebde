"""Checks and responses of every write: version and identity, the rules of the kind, the form."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import invalid as invalid_field
from stretto.api.checks.fields.errors import repeated
from stretto.api.wire.kinds import Kind
from stretto.api.wire.values import is_equal
from stretto.stores.store import Record
from stretto.web.api import failures
from stretto.web.api.call import Call, version_number
from stretto.web.api.crds.objects import stored_custom
from stretto.web.api.objects.growth import check_growth
from stretto.web.api.objects.rendering import rendered, without_type
from stretto.web.api.objects.versions import canonical_form, shown_form, shown_forms
from stretto.web.api.resources import ServedResource
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

RETURNED: Final = frozenset(
    {
        ("", "Pod"), ("", "Service"), ("", "ServiceAccount"), ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"), ("", "ResourceQuota"), ("", "PodTemplate"),
        ("storage.k8s.io", "StorageClass"), ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"), ("storage.k8s.io", "VolumeAttachment"),
        ("storage.k8s.io", "VolumeAttributesClass"), ("resource.k8s.io", "ResourceClaim"),
        ("resource.k8s.io", "ResourceClaimTemplate"), ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceSlice"),
    }
)  # fmt: skip
"""Kinds whose deletion returns the object."""


def shape(call: Call, item: Json) -> Json:
    """Return a stored object in the served version, with the fields that Go encodes."""
    return shown_form(call.resource, item, call.request.memory)


def shapes(call: Call, items: Sequence[Json]) -> list[Json]:
    """Return stored objects in the served version; a webhook converts all of them in one call."""
    return shown_forms(call.resource, items, call.request.memory)


def is_canonical(resource: ServedResource) -> bool:
    """Return whether the store keeps the objects of a resource in the form that Go encodes."""
    return resource.definition is None and resource.kind == resource.stored


def is_outdated(resource: ServedResource, record: Record) -> bool:
    """Return whether an object is stored in a version other than the current storage version."""
    if resource.definition is None:
        return False
    return bool(rendered(record)["apiVersion"].rpartition("/")[2] != resource.version["storage"])


def is_same(item: Json, old: Json) -> bool:
    """Return whether an object equals the stored one, except for the times of managed fields."""
    return is_equal(_comparable(item), _comparable(old))


def _comparable(item: Json) -> Json:
    metadata = {
        key: each
        for key, each in item["metadata"].items()
        if key not in ("resourceVersion", "managedFields")
    }
    fields = [
        {key: each for key, each in entry.items() if key != "time"}
        for entry in item["metadata"].get("managedFields") or ()
    ]
    return {**without_type(item), "metadata": metadata, "managed": fields}


def canonical(call: Call, item: Json) -> Json:
    """Return an object as the store keeps it; it may share parts with the given one."""
    if call.resource.definition is not None:
        return stored_custom(item, call.resource, call.request.memory)
    return canonical_form(call.resource, item) if is_canonical(call.resource) else item


def served(call: Call, stored: StoredItem) -> StoredItem:
    """Return a stored object in the version of a call, for comparison with the written object."""
    if is_canonical(call.resource):
        return stored
    return StoredItem(shape(call, stored.item), stored.record)


def check_change(call: Call, item: Json, old: StoredItem, *, needs_version: bool) -> None:
    """Refuse a change of another object or version, and one that adds values to a large object."""
    _check_version(call, item, old, needs=needs_version)
    check_growth(call, item, old)


def _check_version(call: Call, item: Json, old: StoredItem, *, needs: bool) -> None:
    """Refuse a change of another version, or of another object with the same name.

    A patch has no precondition on the uid; the rules of metadata refuse a changed uid.
    """
    metadata, resource = item["metadata"], call.resource
    name = old.record.name
    uid = metadata.get("uid")
    if uid and uid != old.record.uid and call.verb != "patch":
        raise failures.conflict(
            resource.group,
            resource.resource,
            name,
            other_uid(call, old.record.namespace, name, (uid, old.record.uid)),
        )
    version = metadata.get("resourceVersion")
    if not version or version == "0":
        if needs:
            detail = "must be specified for an update"
            error = invalid_field("metadata.resourceVersion", 0, detail)
            kind = Kind(resource.group, resource.kind.version, resource.resource, "")
            cause = (error.reason, error.message, error.field)
            raise failures.invalid(kind, name, [cause])
        return
    if stated_version(item) != old.record.version:
        raise failures.conflict(resource.group, resource.resource, name, failures.MODIFIED)


def stated_version(item: Json) -> int:
    """Return the resource version in an object; 0 if there is none.

    Raises:
        ApiError: the version is not a number.
    """
    text = str(item["metadata"].get("resourceVersion") or "")
    try:
        return version_number(text) if text else 0
    except ValueError as error:
        raise failures.internal(str(error)) from error


_KEYS: Final = {
    ("", "services"): "services/specs",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        "apiextensions.k8s.io/customresourcedefinitions"
    ),
}
"""Parts of etcd keys that differ from the plural."""


def other_uid(call: Call, namespace: str, name: str, uids: tuple[str, str]) -> str:
    """Return the message about a write with a wrong uid, including the object's key in etcd."""
    resource = call.resource
    part = _KEYS.get((resource.group, resource.resource), resource.resource)
    if resource.definition is not None:
        part = f"{resource.group}/{resource.resource}"
    key = "/".join(each for each in ("", part, namespace, name) if each)
    root = "" if call.options.dry_run else "/registry"
    return (
        f"StorageError: invalid object, Code: 4, Key: {root}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uids[0]}, "
        f"UID in object meta: {uids[1]}"
    )


def restore(item: Json, old: Json) -> None:
    """Copy the fields that a change cannot set."""
    metadata, before = item["metadata"], old["metadata"]
    if "creationTimestamp" in before:
        metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    for name in ("uid", "deletionGracePeriodSeconds"):
        if metadata.get(name) is None and name in before:
            metadata[name] = before[name]
    metadata.pop("selfLink", None)
    metadata.pop("generation", None)
    if "generation" in before:
        metadata["generation"] = before["generation"]
    metadata["resourceVersion"] = before["resourceVersion"]


def merge_owners(call: Call, metadata: Json) -> None:
    """Drop repeated owners, with a warning."""
    owners = metadata.get("ownerReferences") or []
    again = repeated(msgspec.json.encode(each, order="deterministic") for each in owners)
    if again:
        twice = [owners[index].get("uid", "") for index in sorted(again)]
        kept = [each for index, each in enumerate(owners) if index not in again]
        metadata["ownerReferences"] = kept
        call.warnings.append(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner "
            "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
            f"requests; duplicate UID(s) observed: {', '.join(dict.fromkeys(twice))}"
        )
