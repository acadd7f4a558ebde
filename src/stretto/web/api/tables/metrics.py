"""Cells of the kinds of metrics.k8s.io."""

from typing import Any, Final

from stretto.api.wire.quantity import amount, format_amount

Json = dict[str, Any]

_RESOURCES: Final = ("cpu", "memory")


def node_metrics(item: Json, _now: float) -> list[Any]:
    """Cells of a NodeMetrics."""
    usage = item.get("usage") or {}
    return [*(usage.get(each, "0") for each in _RESOURCES), item.get("window", "")]


def pod_metrics(item: Json, _now: float) -> list[Any]:
    """Cells of a PodMetrics: the sum of its containers."""
    uses = [each.get("usage") or {} for each in item.get("containers") or ()]
    sums = [
        format_amount(name, sum(amount(name, each.get(name, "0"), "usage") for each in uses))
        for name in _RESOURCES
    ]
    return [*sums, item.get("window", "")]
