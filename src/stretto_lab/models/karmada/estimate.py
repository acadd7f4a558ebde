"""Number of replicas that fit in a cluster, as counted by Karmada's general estimator.

With node models, each grade counts as nodes of its lower bounds, and a replica must fit on one
node. Without models, the free amounts of the whole cluster count. Results have 32 bits and wrap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stretto_lab.models.karmada.integers import INT32_MAX, int32

_PODS_PER_NODE: Final = 110
"""Pods on one node of a model."""
_NANO: Final = 10**9
_CPU: Final = "cpu"
_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class NodeModel:
    """A grade of nodes."""

    #: Nodes of the grade; ``None`` if the cluster does not count them.
    count: int
    #: Lower bounds: CPU in thousandths of a core, other resources in units.
    minimum: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """Report of a cluster; amounts in billionths."""

    #: Amounts that pods can request.
    allocatable: Mapping[str, int] = field(default_factory=dict)
    #: Amounts requested by placed pods.
    allocated: Mapping[str, int] = field(default_factory=dict)
    #: Amounts requested by pending pods.
    allocating: Mapping[str, int] = field(default_factory=dict)
    #: Grades of nodes; ``None`` if the cluster reports none.
    models: Sequence[NodeModel] | None = None

    def free(self, resource: str) -> int:
        """Free amount in billionths; negative if more is requested than allocatable."""
        used = self.allocated.get(resource, 0) + self.allocating.get(resource, 0)
        return self.allocatable.get(resource, 0) - used


def fitting(summary: ClusterSummary | None, request: Mapping[str, int] | None) -> int:
    """Number of replicas that fit.

    Args:
        summary: the report; ``None`` if there is none.
        request: requests of one replica in billionths; ``None`` requests only a pod.
    """
    if summary is None:
        return 0
    pods = sum(
        sign * _units(amounts.get(_PODS, 0))
        for sign, amounts in (
            (1, summary.allocatable),
            (-1, summary.allocated),
            (-1, summary.allocating),
        )
    )
    if pods <= 0:
        return 0
    if request is None:
        return int32(pods)
    models = summary.models
    if models and all(each.count >= 0 for each in models):
        return int32(min(pods, _on_nodes(models, request)))
    return int32(min(pods, _in_cluster(summary, request, pods)))


def _on_nodes(models: Sequence[NodeModel], request: Mapping[str, int]) -> int:
    needed = {
        name: _milli(amount) if name == _CPU else _units(amount)
        for name, amount in request.items()
        if amount > 0 and _is_counted(name)
    }
    total = 0
    for model in models:
        rooms = [model.minimum.get(name, 0) // count for name, count in needed.items()]
        total += model.count * max(0, min([_PODS_PER_NODE, *rooms]))
    return min(total, INT32_MAX)


def _is_counted(name: str) -> bool:
    """True if a node model counts the resource: CPU, memory, local storage and scalars."""
    plain = ("cpu", "memory", "ephemeral-storage")
    return name in plain or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def _in_cluster(summary: ClusterSummary, request: Mapping[str, int], most: int) -> int:
    for name, amount in request.items():
        if _units(amount) <= 0:
            continue
        free = summary.free(name)
        if name not in summary.allocatable or _units(free) <= 0:
            return 0
        read = _milli if name == _CPU else _units
        most = min(most, read(free) // read(amount))
    return most


def _units(nano: int) -> int:
    """Whole units, rounded away from zero."""
    return -(-nano // _NANO) if nano >= 0 else nano // _NANO


def _milli(nano: int) -> int:
    """Thousandths, rounded away from zero."""
    return _units(nano * 1000)
