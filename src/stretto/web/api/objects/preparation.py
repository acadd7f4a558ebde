"""Initial values and derived fields of single kinds, before a new or changed object is checked."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.web.api.call import Call
from stretto.web.api.state import ApiState

Json = dict[str, Any]


def prepare_new(state: ApiState, call: Call, item: Json) -> None:
    """Set what the server decides about a new object."""
    found = _NEW.get(call.resource.key)
    if found is not None:
        found(state, item)


def prepare_changed(state: ApiState, call: Call, item: Json, old: Json) -> None:
    """Set what the server decides about a changed object."""
    found = _CHANGED.get(call.resource.key)
    if found is not None:
        found(state, item, old)


def _pod(state: ApiState, item: Json) -> None:
    status: Json = {"phase": "Pending", "qosClass": qos_class(item["spec"])}
    if item["spec"].get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": state.now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    item["status"] = status


def qos_class(spec: Json) -> str:
    """The quality of service of a pod: Guaranteed, Burstable or BestEffort."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    sets = (
        [spec["resources"]]
        if spec.get("resources")
        else [each.get("resources") or {} for each in containers]
    )
    counted = [
        {
            kind: {
                key: value
                for key, value in (each.get(kind) or {}).items()
                if key in ("cpu", "memory") and value != "0"
            }
            for kind in ("requests", "limits")
        }
        for each in sets
    ]
    if not any(each["requests"] or each["limits"] for each in counted):
        return "BestEffort"
    guaranteed = all(
        set(each["limits"]) == {"cpu", "memory"} and each["requests"] == each["limits"]
        for each in counted
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _namespace(_state: ApiState, item: Json) -> None:
    item["status"] = {"phase": "Active"}
    spec = item.setdefault("spec", {})
    finalizers = spec.get("finalizers") or []
    if "kubernetes" not in finalizers:
        spec["finalizers"] = [*finalizers, "kubernetes"]


def _claim(_state: ApiState, item: Json) -> None:
    item["status"] = {"phase": "Pending"}


def _volume(state: ApiState, item: Json) -> None:
    item["status"] = {"phase": "Pending", "lastPhaseTransitionTime": state.now}


_NEW: Final[Mapping[tuple[str, str], Callable[[ApiState, Json], None]]] = {
    ("", "Pod"): _pod,
    ("", "Namespace"): _namespace,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
}


def _changed_namespace(_state: ApiState, item: Json, old: Json) -> None:
    item["spec"] = old.get("spec", {})


_CHANGED: Final[Mapping[tuple[str, str], Callable[[ApiState, Json, Json], None]]] = {
    ("", "Namespace"): _changed_namespace,
}
