"""Parts of objects with separate paths: finalizers, approvals, parts of a running pod."""

from typing import Any, Final

from stretto.web.api.call import Call
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import check_change, restore
from stretto.web.api.objects.ownership import own
from stretto.web.api.objects.signing import stamp_conditions
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.subresources.bodies import object_body, requested_change
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import store_changed

Json = dict[str, Any]

_RESIZED: Final = ("resources", "resizePolicy")
"""Members of a container that a resize may change."""


def finalize(state: ApiState, call: Call) -> ApiResponse:
    """Change the finalizers of a namespace; without finalizers it is removed."""
    item = object_body(call)
    found = state.storage.get(call.resource, "", call.route.name)
    check_change(call, item, found, needs_version=False)
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
    if call.verb == "get":
        return answer(state, call, state.storage.get(call.resource, "", call.route.name).item)
    change = requested_change(state, call)
    found = state.storage.get(call.resource, "", call.route.name)
    item, owned = change(found.item)
    check_change(call, item, found, needs_version=False)
    status = {**(found.item.get("status") or {})}
    status["conditions"] = (item.get("status") or {}).get("conditions") or []
    changed = {**found.item, "metadata": dict(item["metadata"]), "status": status}
    stamp_conditions(state, changed, found.item)
    restore(changed, found.item)
    if not owned:
        own(state, call, found.item, changed)
    admission = AdmittedWrite(call, "UPDATE", changed, found.item, "approval")
    return answer(state, call, store_changed(state, admission, found))


def part_of_pod(state: ApiState, call: Call) -> ApiResponse:
    """Change the ephemeral containers or the resources of a pod.

    The manager owns every field in which the request differs, including unchanged ones.
    """
    space, name = call.route.namespace, call.route.name
    if call.verb == "get":
        return answer(state, call, state.storage.get(call.resource, space, name).item)
    change = requested_change(state, call)
    found = state.storage.get(call.resource, space, name)
    item, owned = change(found.item)
    check_change(call, item, found, needs_version=False)
    restore(item, found.item)
    if not owned:
        own(state, call, found.item, item)
    changed = _changed(call.route.subresource, item, found.item)
    admission = AdmittedWrite(call, "UPDATE", changed, found.item, call.route.subresource)
    return answer(state, call, store_changed(state, admission, found))


def _changed(part: str, item: Json, old: Json) -> Json:
    """Return the stored pod with the requested part."""
    metadata = {key: each for key, each in old["metadata"].items() if key != "managedFields"}
    if "managedFields" in item["metadata"]:
        metadata["managedFields"] = item["metadata"]["managedFields"]
    spec, wanted = dict(old["spec"]), item.get("spec") or {}
    if part == "ephemeralcontainers":
        spec.pop("ephemeralContainers", None)
        if wanted.get("ephemeralContainers"):
            spec["ephemeralContainers"] = wanted["ephemeralContainers"]
    else:
        spec = _resized(spec, wanted)
    if spec != old["spec"] and metadata.get("generation"):
        metadata["generation"] += 1
    return {**old, "metadata": metadata, "spec": spec}


def _resized(old: Json, wanted: Json) -> Json:
    """Return a spec with the resources of another, or the other one if its containers differ."""
    spec = dict(old)
    for part in ("containers", "initContainers"):
        before, after = old.get(part) or [], wanted.get(part) or []
        names = [[each.get("name") for each in side] for side in (before, after)]
        if names[0] != names[1]:
            return wanted
        if before:
            pairs = zip(before, after, strict=True)
            spec[part] = [_with_resources(was, new) for was, new in pairs]
    return spec


def _with_resources(old: Json, new: Json) -> Json:
    kept = {key: each for key, each in old.items() if key not in _RESIZED}
    return {**kept, **{key: new[key] for key in _RESIZED if key in new}}
