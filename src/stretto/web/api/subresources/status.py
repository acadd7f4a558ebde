"""The status of an object: GET, PUT, PATCH."""

from typing import Any, Final

from stretto.web.api.call import Call
from stretto.web.api.failures import no_method
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import check_version, restore, shape
from stretto.web.api.objects.ownership import own
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.subresources.bodies import requested_change
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import store_changed

Json = dict[str, Any]

_KEPT_LABELS: Final = frozenset({("apps", "Deployment")})
"""Kinds whose labels a status cannot change."""
_KEPT_OWNERS: Final = frozenset({("", "Pod")})
"""Kinds whose owners a status cannot change."""


def status(state: ApiState, call: Call) -> ApiResponse:
    """Read or change the status of an object."""
    resource, route = call.resource, call.route
    if call.verb not in ("get", "update", "patch"):
        raise no_method()
    if call.verb == "get":
        found = state.storage.get(resource, route.namespace, route.name)
        return answer(state, call, shape(call, found.item))
    change = requested_change(state, call)
    found = state.storage.get(resource, route.namespace, route.name)
    item, owned = change(found.item)
    return answer(state, call, _store(state, call, found, item, owned=owned))


def _store(state: ApiState, call: Call, old: StoredItem, item: Json, *, owned: bool) -> Json:
    check_version(call, item, old, needs=call.resource.definition is not None)
    restore(item, old.item)
    _keep_all_else(call, item, old.item)
    if not owned:
        own(state, call, old.item, item)
    admission = AdmittedWrite(call, "UPDATE", item, old.item, "status")
    for admit in state.mutating:
        admit(state, admission)
    return store_changed(state, admission, old)


def _keep_all_else(call: Call, item: Json, old: Json) -> None:
    """Take everything but the status from the stored object."""
    for name in [*item, *old]:
        if name in ("status", "metadata", "kind", "apiVersion"):
            continue
        item.pop(name, None)
        if name in old:
            item[name] = old[name]
    if call.resource.key == ("", "Pod"):
        quality = (old.get("status") or {}).get("qosClass")
        if quality:
            item["status"] = {"qosClass": quality, **(item.get("status") or {})}
    metadata, before = item["metadata"], old["metadata"]
    if call.resource.definition is not None:
        managed = metadata.get("managedFields")
        item["metadata"] = dict(before)
        if managed is not None:
            item["metadata"]["managedFields"] = managed
        return
    kept = []
    if call.resource.key in _KEPT_LABELS:
        kept.append("labels")
    if call.resource.key in _KEPT_OWNERS:
        kept.append("ownerReferences")
    for name in kept:
        metadata.pop(name, None)
        if name in before:
            metadata[name] = before[name]
