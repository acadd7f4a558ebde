"""Subresources without objects of their own: finalize, approval, and those that need a kubelet."""

from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request, no_method, not_found
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import check_version, restore
from stretto.web.api.objects.ownership import own
from stretto.web.api.patching.media import patch_type
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.subresources.bodies import object_body
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.patch import changed_item
from stretto.web.api.writes import store_changed

Json = dict[str, Any]


def finalize(state: ApiState, call: Call) -> ApiResponse:
    """Change the finalizers of a namespace; without any it goes."""
    if call.verb != "update":
        raise no_method()
    item = object_body(call)
    found = state.storage.get(call.resource, "", call.route.name)
    check_version(call, item, found, needs=False)
    finalizers = (item.get("spec") or {}).get("finalizers") or []
    changed: Json = {**found.item, "metadata": item["metadata"]}
    changed["spec"] = {**(found.item.get("spec") or {}), "finalizers": finalizers}
    if not finalizers:
        del changed["spec"]["finalizers"]
    restore(changed, found.item)
    own(state, call, found.item, changed)
    metadata = changed["metadata"]
    is_ending = "deletionTimestamp" in metadata and not metadata.get("finalizers")
    if is_ending and not finalizers:
        state.storage.remove(call.resource, found.record)
        return answer(state, call, changed)
    stored = store_changed(
        state, AdmittedWrite(call, "UPDATE", changed, found.item, "finalize"), found
    )
    return answer(state, call, stored)


def approval(state: ApiState, call: Call) -> ApiResponse:
    """Change the conditions of a CertificateSigningRequest."""
    if call.verb not in ("get", "update", "patch"):
        raise no_method()
    found = state.storage.get(call.resource, "", call.route.name)
    if call.verb == "get":
        return answer(state, call, found.item)
    item = (
        object_body(call)
        if call.verb == "update"
        else changed_item(call, found.item, patch_type(call))
    )
    check_version(call, item, found, needs=False)
    status = {**(found.item.get("status") or {})}
    status["conditions"] = (item.get("status") or {}).get("conditions") or []
    changed = {**found.item, "metadata": dict(item["metadata"]), "status": status}
    restore(changed, found.item)
    own(state, call, found.item, changed)
    admission = AdmittedWrite(call, "UPDATE", changed, found.item, "approval")
    return answer(state, call, store_changed(state, admission, found))


def part_of_pod(state: ApiState, call: Call) -> ApiResponse:
    """Change the ephemeral containers or the resources of a pod."""
    if call.verb not in ("get", "update", "patch"):
        raise no_method()
    found = state.storage.get(call.resource, call.route.namespace, call.route.name)
    if call.verb == "get":
        return answer(state, call, found.item)
    item = (
        object_body(call)
        if call.verb == "update"
        else changed_item(call, found.item, patch_type(call))
    )
    check_version(call, item, found, needs=False)
    changed: Json = {**found.item, "metadata": dict(item["metadata"])}
    spec = dict(found.item["spec"])
    wanted = item.get("spec") or {}
    if call.route.subresource == "ephemeralcontainers":
        spec["ephemeralContainers"] = wanted.get("ephemeralContainers") or []
    else:
        spec = {**spec, **_resized(spec, wanted)}
    changed["spec"] = spec
    restore(changed, found.item)
    own(state, call, found.item, changed)
    if changed["spec"] != found.item["spec"] and changed["metadata"].get("generation"):
        changed["metadata"]["generation"] += 1
    admission = AdmittedWrite(call, "UPDATE", changed, found.item, call.route.subresource)
    return answer(state, call, store_changed(state, admission, found))


def _resized(spec: Json, wanted: Json) -> Json:
    """Containers with the resources of the wanted ones."""
    by_name = {each.get("name"): each for each in wanted.get("containers") or ()}
    containers = [
        {**each, "resources": by_name.get(each["name"], each).get("resources", {})}
        for each in spec.get("containers") or ()
    ]
    return {"containers": containers}


def kubelet(state: ApiState, call: Call) -> ApiResponse:
    """Logs, commands and tunnels, which need a node with a kubelet."""
    found = state.storage.find(call.resource.stored, call.route.namespace, call.route.name)
    if found is None:
        raise not_found(call.resource.group, call.resource.resource, call.route.name)
    node = (found.item.get("spec") or {}).get("nodeName")
    if call.resource.kind.kind == "Pod" and not node:
        if call.route.subresource == "log":
            return ApiResponse(200, b"", "text/plain")
        raise bad_request(f"pod {call.route.name} does not have a host assigned")
    text = "simulated nodes have no kubelet: they run no commands and keep no logs"
    raise ApiError(501, "NotImplemented", text)
