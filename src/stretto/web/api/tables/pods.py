"""Cells of pods and nodes, which depend on many fields of the status."""

from typing import Any, Final

from stretto.api.types.heads import ENDED
from stretto.web.api.tables.values import NONE, UNKNOWN, age, condition, since, spec, status

Json = dict[str, Any]

_ROLE: Final = "node-role.kubernetes.io/"
_OLD_ROLE: Final = "kubernetes.io/role"


def pod(item: Json, now: float) -> list[Any]:
    """Ready, status, restarts, age, address, node, nominated node, readiness gates."""
    reason, ready, total, restarts, last = _summary(item)
    shown = str(restarts)
    if restarts and last:
        shown = f"{restarts} ({since(last, now)} ago)"
    found, body = status(item), spec(item)
    addresses = found.get("podIPs") or ()
    address = addresses[0].get("ip") if addresses else found.get("podIP")
    return [
        f"{ready}/{total}",
        reason,
        shown,
        age(item, now),
        address or NONE,
        body.get("nodeName") or NONE,
        found.get("nominatedNodeName") or NONE,
        _gates(item),
    ]


def _gates(item: Json) -> str:
    gates = spec(item).get("readinessGates") or ()
    if not gates:
        return NONE
    met = sum(
        1
        for gate in gates
        if (condition(item, gate.get("conditionType", "")) or {}).get("status") == "True"
    )
    return f"{met}/{len(gates)}"


def _summary(item: Json) -> tuple[str, int, int, int, str]:
    """Reason, ready containers, all containers, restarts and the time of the last one."""
    found, body = status(item), spec(item)
    reason = found.get("reason") or found.get("phase") or ""
    scheduled = condition(item, "PodScheduled") or {}
    if scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    total = len(body.get("containers") or ())
    sidecars = {
        each.get("name")
        for each in body.get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    }
    total += len(sidecars)
    starting, ready, restarts, last = _init(item, sidecars)
    if starting:
        reason = starting
    if not starting or _is_initialized(item):
        restarts, last = _sidecar_restarts(item, sidecars)
        reason, more_ready, more, later = _running(item, reason if not starting else "")
        ready, restarts, last = ready + more_ready, more + restarts, max(last, later)
    if item["metadata"].get("deletionTimestamp"):
        reason = _deleted(found, reason)
    return reason, ready, total, restarts, last


def _is_initialized(item: Json) -> bool:
    return (condition(item, "Initialized") or {}).get("status") == "True"


def _deleted(found: Json, reason: str) -> str:
    if found.get("reason") == "NodeLost":
        return "Unknown"
    return reason if found.get("phase") in ENDED else "Terminating"


def _init(item: Json, sidecars: set[Any]) -> tuple[str, int, int, str]:
    """The state of the init containers; a reason while they run."""
    states = status(item).get("initContainerStatuses") or ()
    count = len(spec(item).get("initContainers") or ())
    restarts, last, ready = 0, "", 0
    for index, each in enumerate(states):
        restarts += each.get("restartCount", 0)
        last = max(last, _finished(each))
        state = each.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if each.get("name") in sidecars and each.get("started"):
            ready += bool(each.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_ended(ended)}", ready, restarts, last
        if waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}", ready, restarts, last
        return f"Init:{index}/{count}", ready, restarts, last
    return "", ready, restarts, last


def _sidecar_restarts(item: Json, sidecars: set[Any]) -> tuple[int, str]:
    """Restarts of sidecars, and the time of the last one."""
    states = status(item).get("initContainerStatuses") or ()
    kept = [each for each in states if each.get("name") in sidecars]
    count = sum(each.get("restartCount", 0) for each in kept)
    return count, max((_finished(each) for each in kept), default="")


def _running(item: Json, reason: str) -> tuple[str, int, int, str]:
    """Reason, ready containers, restarts and last restart of the containers."""
    ready = restarts = 0
    last, runs = "", False
    for each in reversed(status(item).get("containerStatuses") or ()):
        restarts += each.get("restartCount", 0)
        last = max(last, _finished(each))
        state = each.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _ended(ended)
        elif each.get("ready") and state.get("running") is not None:
            runs, ready = True, ready + 1
    if reason == "Completed" and runs:
        is_ready = (condition(item, "Ready") or {}).get("status") == "True"
        reason = "Running" if is_ready else "NotReady"
    return reason, ready, restarts, last


def _ended(state: Json) -> str:
    if state.get("reason"):
        return str(state["reason"])
    if state.get("signal"):
        return f"Signal:{state['signal']}"
    return f"ExitCode:{state.get('exitCode', 0)}"


def _finished(each: Json) -> str:
    last = (each.get("lastState") or {}).get("terminated") or {}
    return last.get("finishedAt") or ""


def node(item: Json, now: float) -> list[Any]:
    """Status, roles, age, version, addresses, image, kernel, runtime."""
    ready = condition(item, "Ready")
    words = ["Unknown"]
    if ready is not None:
        words = ["Ready" if ready.get("status") == "True" else "NotReady"]
    if spec(item).get("unschedulable"):
        words.append("SchedulingDisabled")
    info = status(item).get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("kernelVersion") and info.get("architecture"):
        kernel = f"{kernel} ({info['architecture']})"
    return [
        ",".join(words),
        ",".join(_roles(item)) or NONE,
        age(item, now),
        info.get("kubeletVersion", ""),
        _address(item, "InternalIP"),
        _address(item, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(item: Json) -> list[str]:
    found = set()
    for key, value in (item["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE) and len(key) > len(_ROLE):
            found.add(key.removeprefix(_ROLE))
        elif key == _OLD_ROLE and value:
            found.add(value)
    return sorted(found)


def _address(item: Json, word: str) -> str:
    for each in status(item).get("addresses") or ():
        if each.get("type") == word:
            return str(each.get("address"))
    return NONE
