"""The quality of service of a pod."""

from typing import Any, Final

_COUNTED: Final = ("cpu", "memory")


def quality_of_service(spec: dict[str, Any]) -> str:
    """The QoS class of a pod, from the requests and limits of the pod or of its containers.

    ``Guaranteed`` if every container has equal requests and limits of CPU and memory,
    ``BestEffort`` if no container has an amount, otherwise ``Burstable``.
    """
    sets = _sets(spec)
    if not any(sets):
        return "BestEffort"
    counted = [
        {kind: _positive(each.get(kind)) for kind in ("requests", "limits")} for each in sets
    ]
    if not any(each["requests"] or each["limits"] for each in counted):
        return "BestEffort"
    guaranteed = all(
        set(each["limits"]) == set(_COUNTED)
        and {**each["limits"], **each["requests"]} == each["limits"]
        for each in counted
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _sets(spec: dict[str, Any]) -> list[dict[str, Any]]:
    if spec.get("resources"):
        return [spec["resources"]]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return [each.get("resources") or {} for each in containers]


def _positive(amounts: dict[str, Any] | None) -> dict[str, Any]:
    return {
        name: amount
        for name, amount in (amounts or {}).items()
        if name in _COUNTED and amount not in ("0", 0)
    }
