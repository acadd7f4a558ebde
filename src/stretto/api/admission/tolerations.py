"""Tolerations that the API server adds to pods, and the merge of two lists."""

from typing import Final

from stretto.api.admission.request import JsonObject

_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_SECONDS: Final = 300
"""Seconds that a pod stays on a node that is not ready or unreachable."""
_NO_EXECUTE: Final = "NoExecute"
_DAEMON_KEYS: Final = (
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def add_default_seconds(spec: JsonObject) -> None:
    """Tolerate not-ready and unreachable nodes for 300 s, unless the pod has a toleration."""
    given = spec.get("tolerations") or []
    for key in (_NOT_READY, _UNREACHABLE):
        if not any(_covers(each, key) for each in given):
            given = [
                *given,
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": _NO_EXECUTE,
                    "tolerationSeconds": _SECONDS,
                },
            ]
    spec["tolerations"] = given


def daemon_tolerations(spec: JsonObject) -> list[JsonObject]:
    """The tolerations of a DaemonSet's pod: those of the template and of the controller."""
    wanted = [(_NOT_READY, _NO_EXECUTE), (_UNREACHABLE, _NO_EXECUTE)]
    wanted += [(f"node.kubernetes.io/{name}", effect) for name, effect in _DAEMON_KEYS]
    if spec.get("hostNetwork"):
        wanted.append(("node.kubernetes.io/network-unavailable", "NoSchedule"))
    found = list(spec.get("tolerations") or [])
    for key, effect in wanted:
        new = {"key": key, "operator": "Exists", "effect": effect}
        same = [index for index, each in enumerate(found) if _identity(each) == _identity(new)]
        for index in same:
            found[index] = new
        if not same:
            found.append(new)
    return found


def merged(first: list[JsonObject], second: list[JsonObject]) -> list[JsonObject]:
    """Merge two lists, without tolerations that another one covers."""
    every = [*first, *second]
    kept: list[JsonObject] = []
    for index, each in enumerate(every):
        later = (other for other in every[index + 1 :] if other != each)
        if not any(_superset(other, each) for other in (*kept, *later)):
            kept.append(each)
    return kept


def _covers(toleration: JsonObject, key: str) -> bool:
    """Return whether a toleration has the effect NoExecute or none, and a taint's key or none."""
    return (toleration.get("key") or "") in ("", key) and (toleration.get("effect") or "") in (
        "",
        _NO_EXECUTE,
    )


def _identity(toleration: JsonObject) -> tuple[str, str, str, str]:
    """The members by which the controller compares tolerations."""
    return (
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
    )


def _superset(wide: JsonObject, narrow: JsonObject) -> bool:
    """Return whether one toleration covers everything that the other one tolerates."""
    if wide == narrow:
        return True
    wide_key, wide_operator, wide_value, wide_effect = _identity(wide)
    key, operator, value, effect = _identity(narrow)
    exists = wide_operator == "Exists"
    if (key != wide_key and not (exists and not wide_key)) or wide_effect not in ("", effect):
        return False
    if wide_effect == _NO_EXECUTE:
        wide_time, time = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
        if wide_time is not None and (time is None or wide_time < time):
            return False
    return exists or (operator == wide_operator == "Equal" and value == wide_value)
