"""Storage of a changed scale: the replicas of the workload and their owners."""

from typing import Any

from stretto.api.checks.fields.errors import invalid
from stretto.api.edit.apply.managers import Managers
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.objects.changes import check_change, restore, served
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.subresources.scale.ownership import (
    own_scale,
    owned_scale,
    rescaled_metadata,
)
from stretto.web.api.subresources.scale.replicas import (
    SCALE,
    parts_of,
    replica_paths,
    scale_of,
    with_value,
)
from stretto.web.api.writes import prepared_change, store_changed

Json = dict[str, Any]


def with_replicas(state: ApiState, call: Call, old: StoredItem, replicas: int) -> Json:
    """Store an object with other replicas, owned by the manager of the call.

    Raises:
        ApiError: the write is refused.
    """
    old = served(call, old)
    before = owned_scale(call, old.item)
    wanted = {**before, "spec": {"replicas": replicas}}
    return rescaled(state, call, old, wanted, own_scale(state, call, before, wanted))


def rescaled(state: ApiState, call: Call, old: StoredItem, wanted: Json, owners: Managers) -> Json:
    """Store an object with the replicas of a scale and its owners; return it as stored.

    Raises:
        ApiError: the write is refused.
    """
    old = served(call, old)
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        raise _negative(call, old.record.name, replicas)
    item = with_value(old.item, parts_of(replica_paths(call)[0]), replicas)
    item["metadata"] = rescaled_metadata(call, old.item, wanted, owners)
    check_change(call, item, old, needs_version=False)
    restore(item, old.item)
    admission = AdmittedWrite(
        call, "UPDATE", item, old.item, "scale", wanted, scale_of(call, old.item), SCALE
    )
    state.change(admission)
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    item |= with_value(item, parts_of(replica_paths(call)[0]), replicas)
    prepared_change(state, call, item, old.item)
    return store_changed(state, admission, old)


def _negative(call: Call, name: str, replicas: int) -> failures.ApiError:
    """422 about negative replicas; for custom kinds it contains the path in their objects."""
    kind, path, detail = SCALE, "spec.replicas", "must be greater than or equal to 0"
    if call.resource.definition is not None:
        kind, path = call.resource.kind, replica_paths(call)[0]
        detail = "should be a non-negative integer"
    error = invalid(path, replicas, detail)
    return failures.invalid(kind, name, [(error.reason, error.message, error.field)])
