"""What every write checks and answers: version and identity, the rules of the kind, the form."""

from typing import Any

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.fields.errors import invalid as invalid_field
from stretto.api.checks.kinds.table import check_kind
from stretto.api.checks.kinds.warnings import warnings_of
from stretto.api.schema.decoding import Decoding, decode
from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.crds.objects import check_custom, shown_custom
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]


def shape(call: Call, item: Json) -> Json:
    """A stored object in the served version, with what Go would encode."""
    resource = call.resource
    kind = resource.kind
    if resource.definition is not None:
        item = shown_custom(item, resource)
    elif resource.struct.fields:
        inner = {key: each for key, each in item.items() if key not in ("kind", "apiVersion")}
        item = decode(inner, resource.struct, Decoding())
    rest = {key: each for key, each in item.items() if key not in ("kind", "apiVersion")}
    return {"kind": kind.kind, "apiVersion": kind.api_version, **rest}


def check_version(call: Call, item: Json, old: StoredItem, *, needs: bool) -> None:
    """Refuse a change of another version or of another object with the same name."""
    metadata, resource = item["metadata"], call.resource
    name = old.record.name
    uid = metadata.get("uid")
    if uid and uid != old.record.uid:
        raise failures.conflict(
            resource.group,
            resource.resource,
            name,
            "StorageError: invalid object, Code: 4, Key: , ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {old.record.uid}",
        )
    version = metadata.get("resourceVersion")
    if not version:
        if needs:
            detail = "must be specified for an update"
            error = invalid_field("metadata.resourceVersion", 0, detail)
            kind = resource.kind
            if resource.definition is not None:
                kind = Kind(kind.group, kind.version, kind.plural, kind.plural)
            cause = (error.reason, error.message, error.field)
            raise failures.invalid(kind, name, [cause])
        return
    if not str(version).isdigit():
        raise failures.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if int(version) != old.record.version:
        raise failures.conflict(resource.group, resource.resource, name, failures.MODIFIED)


def restore(item: Json, old: Json) -> None:
    """Take over what a change cannot name."""
    metadata, before = item["metadata"], old["metadata"]
    for name in ("uid", "creationTimestamp"):
        if not metadata.get(name) and name in before:
            metadata[name] = before[name]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]
    metadata.pop("selfLink", None)
    metadata.pop("generation", None)
    if "generation" in before:
        metadata["generation"] = before["generation"]
    metadata["resourceVersion"] = before["resourceVersion"]


def kind_errors(call: Call, item: Json, old: Json | None) -> Errors:
    """The refused fields of a kind of Kubernetes or of a custom one."""
    if call.resource.definition is not None:
        return check_custom(call.resource, item, old, call.route.subresource)
    errors = check_kind(call.resource.key, item, old)
    if not errors and not call.route.subresource:
        call.warnings += warnings_of(call.resource.key, item)
    return errors
