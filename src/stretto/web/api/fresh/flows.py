"""The priority levels of a new server, and the conditions of flow schemas."""

from typing import Any, Final

from stretto.api.edit.apply.managers import (
    ManagerKey,
    WriteFrame,
    encode_managers,
    managed_apply,
    managers_of,
)
from stretto.api.wire.kinds import Kind
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

GROUP: Final = "flowcontrol.apiserver.k8s.io"
"""API group of flow control."""
PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
"""Manager of the levels that a server creates."""
_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"
_NOTES: Final = {"apf.kubernetes.io/autoupdate-spec": "true"}
_SCHEMA: Final = Kind(GROUP, "v1", "FlowSchema", "flowschemas", namespaced=False)
_LEVEL: Final = Kind(
    GROUP, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", namespaced=False
)
_QUEUES: Final = {
    "global-default": (20, 50, 128, 6),
    "leader-election": (10, 0, 16, 4),
    "node-high": (40, 25, 64, 6),
    "system": (30, 33, 64, 6),
    "workload-high": (40, 50, 128, 6),
    "workload-low": (100, 90, 128, 6),
}
"""Levels with queues: shares, lendable percent, queues, hand size."""
_LENGTH: Final = 50


def priority_levels() -> list[Json]:
    """Return the levels of a new server."""
    found = [_level("exempt", {"type": "Exempt", "exempt": _shares(0, 0)})]
    rejecting = {**_shares(5, 0), "limitResponse": {"type": "Reject"}}
    found.append(_level("catch-all", {"type": "Limited", "limited": rejecting}))
    for name, (shares, lendable, queues, hand) in _QUEUES.items():
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": _LENGTH}
        response = {"type": "Queue", "queuing": queuing}
        limited = {**_shares(shares, lendable), "limitResponse": response}
        found.append(_level(name, {"type": "Limited", "limited": limited}))
    return found


def _shares(shares: int, lendable: int) -> Json:
    return {"nominalConcurrencyShares": shares, "lendablePercent": lendable}


def _level(name: str, spec: Json) -> Json:
    return {"metadata": {"name": name, "annotations": _NOTES}, "spec": spec}


def settle_flows(state: ApiState) -> None:
    """Write to the status of each flow schema whether its level exists."""
    for record in state.storage.listing(_SCHEMA).records:
        found = state.storage.find(_SCHEMA, "", record.name)
        if found is not None:
            _settle(state, found)


def _settle(state: ApiState, found: StoredItem) -> None:
    resource = state.resources.find(GROUP, "v1", "flowschemas")
    wanted = _condition(state, found.item)
    present = (found.item.get("status") or {}).get("conditions") or ()
    if resource is None or any(_same(each, wanted) for each in present):
        return
    item = found.item
    config = {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {"name": item["metadata"]["name"]},
        "status": {"conditions": [wanted]},
    }
    key = ManagerKey(_CONSUMER, "Apply", item["apiVersion"], "status")
    frame = WriteFrame(resource.struct, key, state.now, {"f:spec": {}, "f:metadata": {}})
    merged, after = managed_apply(item, config, managers_of(item), frame, force=True)
    merged["metadata"] = {**merged["metadata"], "managedFields": encode_managers(after)}
    state.storage.replace(resource, found.record, merged)


def _condition(state: ApiState, item: Json) -> Json:
    level = ((item.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name", "")
    known = state.storage.find(_LEVEL, "", level) is not None
    text = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" '
    return {
        "type": "Dangling",
        "status": "False" if known else "True",
        "lastTransitionTime": state.now,
        "reason": "Found" if known else "NotFound",
        "message": text + ("and it exists" if known else "but there is no such object"),
    }


def _same(one: Json, two: Json) -> bool:
    return all(one.get(name) == two[name] for name in ("type", "status", "reason", "message"))
