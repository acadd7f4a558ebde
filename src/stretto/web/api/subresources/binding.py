"""Binding of a pod to a node."""

from typing import Any, Final

from stretto.api.schema.kubernetes import struct
from stretto.api.wire.kinds import BINDING, POD
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request, internal, other_namespace
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import encoded
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.subresources.typed import read_typed
from stretto.web.api.verbs.answers import accept

Json = dict[str, Any]

SUCCESS: Final[Json] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
"""Response to a binding or an eviction."""


def binding(state: ApiState, call: Call) -> ApiResponse:
    """Bind a pod."""
    wanted = read_typed(call, BINDING, struct("core/v1.Binding"))
    metadata = wanted.get("metadata") or {}
    name = call.route.name or metadata.get("name", "")
    if not name:
        raise bad_request("Name parameter required.")
    if metadata.get("name") != name:
        raise bad_request("name in URL does not match name in Binding object")
    if metadata.get("namespace", call.route.namespace) != call.route.namespace:
        raise other_namespace()
    target = wanted.get("target") or {}
    if target.get("kind") not in (None, "", "Node"):
        word = f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"'
        raise internal(f"target.kind: {word}")
    if not target.get("name"):
        raise internal("target.name: Required value")
    pods = state.resources.find("", "v1", "pods")
    found = state.storage.find(POD, call.route.namespace, name)
    if found is None or pods is None:
        raise failures.not_found("", "pods", name)
    admit_part(state, AdmittedWrite(call, "CREATE", None, None, "binding", wanted, None, BINDING))
    stated = metadata if call.route.name else {**metadata, "uid": ""}
    _check(call, found, stated)
    if not call.options.dry_run:
        state.storage.replace(pods, found.record, _bound(state, found.item, wanted))
    return encoded(SUCCESS, accept(call), 201, call.warnings)


def admit_part(state: ApiState, admission: AdmittedWrite) -> None:
    """Run admission of an object that is a part of another one.

    Raises:
        ApiError: the write is refused.
    """
    state.admit(admission)


def _check(call: Call, found: StoredItem, metadata: Json) -> None:
    """Refuse the binding of another pod, or of a pod that cannot be bound."""
    root = "" if call.options.dry_run else "/registry"
    name = found.record.name
    for key, word, actual in (
        ("uid", "UID", found.record.uid),
        ("resourceVersion", "ResourceVersion", found.version),
    ):
        if metadata.get(key) and metadata[key] != actual:
            place = f"{root}/pods/{found.record.namespace}/{name}"
            raise failures.conflict(
                "",
                "pods",
                name,
                f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: {word} in precondition: "
                f"{metadata[key]}, {word} in object meta: {actual}",
            )
    spec = found.item.get("spec") or {}
    if found.item["metadata"].get("deletionTimestamp"):
        raise _unbindable(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _unbindable(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _unbindable(name, f"pod {name} has non-empty .spec.schedulingGates")


def _unbindable(name: str, why: str) -> ApiError:
    return failures.conflict("", "pods/binding", name, why)


def _bound(state: ApiState, item: Json, wanted: Json) -> Json:
    metadata = dict(item["metadata"])
    for name in ("labels", "annotations"):
        stated = (wanted.get("metadata") or {}).get(name)
        if stated:
            metadata[name] = {**(metadata.get(name) or {}), **stated}
    status = dict(item.get("status") or {})
    status.pop("nominatedNodeName", None)
    conditions = [
        each for each in status.get("conditions") or () if each.get("type") != "PodScheduled"
    ]
    scheduled: Json = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": state.now,
    }
    before = [
        index
        for index, each in enumerate(status.get("conditions") or ())
        if each.get("type") == "PodScheduled"
    ]
    conditions.insert(before[0] if before else len(conditions), scheduled)
    status["conditions"] = conditions
    spec = {**item["spec"], "nodeName": wanted["target"]["name"]}
    return {**item, "metadata": metadata, "spec": spec, "status": status}
