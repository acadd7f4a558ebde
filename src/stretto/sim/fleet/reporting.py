"""Reports what the nodes of an embedded member offer, as the health check of a real one does."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.kinds.federation import FEDERATED_CLUSTER
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import amounts, format_amount
from stretto.federation.objects.demand import request_of
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoreCache
from stretto.workloads.cluster import ENDED

PERIOD: Final = 5.0
"""Seconds between two reports."""


class CapacityReporter:
    """From nodes and pods of a member to the status of its FederatedCluster."""

    def __init__(self, member: StoreCache, host: StoreCache) -> None:
        """For one member."""
        #: Name in logs and messages.
        self.name = f"{member.name}/capacity"
        self._member = member
        self._host = host
        self._clusters = host.follow(FEDERATED_CLUSTER.kind)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The cluster, once; it reports periodically."""
        is_own = change.object.record.name == self._member.name
        if change.kind == FEDERATED_CLUSTER.kind and is_own and change.old is None:
            yield self._member.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Write what has changed."""
        cluster = self._clusters.get("", self._member.name)
        if cluster is None or cluster.is_terminating:
            return None
        found = self._resources()
        if cluster.status.get("resources") != found:
            writes.patch_status(self._host.store, cluster, {"resources": found})
        return PERIOD

    def _resources(self) -> Fields:
        total: dict[str, int] = {}
        used: dict[str, int] = {}
        nodes = 0
        for node in self._member.follow_synced(NODE):
            if not node.spec.get("unschedulable"):
                nodes += 1
                _add(total, amounts(node.status.get("allocatable") or {}, "allocatable"))
        for pod in self._member.follow_synced(POD):
            if pod.status.get("phase") not in ENDED and not pod.is_terminating:
                _add(used, request_of({"kind": "Pod", "spec": pod.spec}))
        left = {name: max(0, count - used.get(name, 0)) for name, count in total.items()}
        return {
            "schedulableNodes": nodes,
            "allocatable": _written(total),
            "available": _written(left),
        }


def _add(total: dict[str, int], more: "dict[str, int]") -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _written(found: dict[str, int]) -> dict[str, str]:
    """Amounts as text; the count of pods, which no pod requests, is left out."""
    return {
        name: format_amount(name, count) for name, count in sorted(found.items()) if name != "pods"
    }
