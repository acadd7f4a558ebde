"""Capacity of the nodes of members, for divisions that need more than the sums of a cluster."""

from collections.abc import Iterable
from typing import Final

from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import amounts
from stretto.base.amounts import add_amounts
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.clusters import ClusterNodes
from stretto.federation.objects.demand import request_of
from stretto.federation.planner.supply.capacity import Amounts
from stretto.federation.settings import CapacitySource
from stretto.reconcile.cache import ObjectCache, StoredObject

_NOTHING: Final = ClusterNodes()


class MemberNodeReader:
    """Reads nodes and pods of members after they change."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the members of a fleet."""
        self._fleet = fleet
        settings = fleet.settings
        self._by_model = settings.performance is not None
        self._by_node = settings.capacity is CapacitySource.NODES
        self._known: dict[str, tuple[tuple[int, int], ClusterNodes]] = {}
        #: True if the division uses nodes.
        self.counts = self._by_model or self._by_node

    def supply(self, cluster: str) -> ClusterNodes:
        """Capacity of the nodes of a cluster; the same object until the nodes or pods change."""
        nodes = self._fleet.listed(cluster, NODE) if self.counts else None
        pods = self._fleet.listed(cluster, POD) if self._by_node else ()
        if nodes is None or pods is None:
            return _NOTHING
        revisions = nodes.revision, pods.revision if isinstance(pods, ObjectCache) else 0
        before = self._known.get(cluster)
        if before is not None and before[0] == revisions:
            return before[1]
        models = _models(nodes) if self._by_model else {}
        found = ClusterNodes(models, _free(nodes, pods) if self._by_node else ())
        self._known[cluster] = revisions, found
        return found


def _models(nodes: Iterable[StoredObject]) -> dict[str, int]:
    """Allocatable CPU by model."""
    found: dict[str, int] = {}
    for node in nodes:
        model = node.labels.get(names.CPU_MODEL, "")
        cpu = amounts(node.status.get("allocatable") or {}, "allocatable").get("cpu", 0)
        found[model] = found.get(model, 0) + cpu
    return found


def _free(nodes: Iterable[StoredObject], pods: Iterable[StoredObject]) -> tuple[Amounts, ...]:
    """Free amounts of every node that accepts pods."""
    free: dict[str, dict[str, int]] = {}
    for node in nodes:
        if not node.spec.get("unschedulable"):
            given = node.status.get("allocatable") or {}
            free[node.record.name] = dict(amounts(given, "allocatable"))
    for pod in pods:
        left = free.get(pod.record.node)
        if left is not None and pod.status.get("phase") not in ENDED:
            add_amounts(left, request_of({"kind": "Pod", "spec": pod.spec}).items(), -1)
    return tuple(free.values())
