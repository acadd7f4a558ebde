"""The status of an object: GET, PUT, PATCH."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.web.api.call import Call
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import check_change, restore, served, shape
from stretto.web.api.objects.ownership import own
from stretto.web.api.objects.signing import stamp_conditions
from stretto.web.api.objects.strategies import SIGNING_REQUEST, STATUS_ONLY, strategy_of
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.subresources.bodies import requested_change
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import store_changed

Json = dict[str, Any]

_KEPT: Final = {("apps", "Deployment"): ("labels",), ("", "Pod"): ("ownerReferences",)}
"""Metadata that a write of the status does not change, by kind."""


def status(state: ApiState, call: Call) -> ApiResponse:
    """Read or change the status of an object."""
    resource, route = call.resource, call.route
    if call.verb == "get":
        found = state.storage.get(resource, route.namespace, route.name)
        return answer(state, call, shape(call, found.item))
    change = requested_change(state, call)
    found = state.storage.get(resource, route.namespace, route.name)
    item, owned = change(found.item)
    return answer(state, call, _store(state, call, served(call, found), item, owned=owned))


def _store(state: ApiState, call: Call, old: StoredItem, item: Json, *, owned: bool) -> Json:
    needs_version = strategy_of(call.resource).needs_version
    check_change(call, item, old, needs_version=needs_version)
    restore(item, old.item)
    _keep_all_else(call, item, old.item)
    prepare = _PREPARED.get(call.resource.key)
    if prepare is not None:
        prepare(state, item, old.item)
    if not owned:
        own(state, call, old.item, item)
    admission = AdmittedWrite(call, "UPDATE", item, old.item, "status")
    state.change(admission)
    _keep_all_else(call, item, old.item)  # including changes by admission
    return store_changed(state, admission, old)


def _keep_all_else(call: Call, item: Json, old: Json) -> None:
    """Copy everything except the status from the stored object."""
    for name in [*item, *old]:
        if name in ("status", "metadata", "kind", "apiVersion"):
            continue
        item.pop(name, None)
        if name in old:
            item[name] = old[name]
    metadata, before = item["metadata"], old["metadata"]
    if call.resource.definition is not None or call.resource.key in STATUS_ONLY:
        managed = metadata.get("managedFields")
        item["metadata"] = dict(before)
        if managed is not None:
            item["metadata"]["managedFields"] = managed
        return
    for name in _KEPT.get(call.resource.key, ()):
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]


def _pod(_state: ApiState, item: Json, old: Json) -> None:
    """Keep the QoS class of a pod."""
    quality = (old.get("status") or {}).get("qosClass")
    if quality:
        item["status"] = {"qosClass": quality, **(item.get("status") or {})}


def _volume(state: ApiState, item: Json, old: Json) -> None:
    """Set the time of the last phase change of a PersistentVolume."""
    field = "lastPhaseTransitionTime"
    status, before = item.get("status") or {}, old.get("status") or {}
    since, known = status.get(field), before.get(field)
    if status.get("phase") == before.get("phase"):
        since = since or known
    elif since in (None, known):
        since = state.now
    if since:
        item["status"] = {**status, field: since}


_PREPARED: Final[Mapping[tuple[str, str], Callable[[ApiState, Json, Json], None]]] = {
    ("", "Pod"): _pod,
    ("", "PersistentVolume"): _volume,
    SIGNING_REQUEST: stamp_conditions,
}
"""Changes of the server to a status by kind; called with the new and the stored object."""
