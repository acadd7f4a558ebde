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
    requests = [_positive(each.get("requests")) for each in sets]
    limits = [_positive(each.get("limits")) for each in sets]
    if not any(requests) and not any(limits):
        return "BestEffort"
    guaranteed = all(
        len(limit) == len(_COUNTED) and {**limit, **request} == limit
        for request, limit in zip(requests, limits, strict=True)
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _sets(spec: dict[str, Any]) -> list[dict[str, Any]]:
    if spec.get("resources"):
        return [spec["resources"]]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return [each.get("resources") or {} for each in containers]


def _positive(amounts: dict[str, Any] | None) -> dict[str, Any]:
    if not amounts:
        return {}
    return {
        name: amount
        for name, amount in amounts.items()
        if name in _COUNTED and amount not in ("0", 0)
    }
