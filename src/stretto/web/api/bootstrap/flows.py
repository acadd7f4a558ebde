"""The flow schemas and levels that always exist, and the conditions of flow schemas."""

from typing import Any, Final

from stretto.api.edit.apply.managers import (
    ManagerKey,
    WriteFrame,
    encode_managers,
    managed_apply,
    managers_of,
)
from stretto.web.api.bootstrap.creation import make_complete
from stretto.web.api.flows.objects import (
    GROUP,
    LEVEL,
    PRODUCER,
    SCHEMA,
    flow_schemas,
    priority_levels,
)
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"


def make_flows(state: ApiState) -> None:
    """Create the levels and flow schemas of kube-apiserver that do not exist."""
    for level in priority_levels():
        make_complete(state, (GROUP, "v1", LEVEL.plural), level, PRODUCER)
    for schema in flow_schemas():
        make_complete(state, (GROUP, "v1", SCHEMA.plural), schema, PRODUCER)


def settle_flows(state: ApiState) -> None:
    """Write to the status of each flow schema whether its level exists."""
    for record in state.storage.listing(SCHEMA).records:
        found = state.storage.find(SCHEMA, "", record.name)
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
    known = state.storage.find(LEVEL, "", level) is not None
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
