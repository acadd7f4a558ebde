"""Replicas that wait for clusters which accept none now, although the policy places them there."""

from typing import Final

from stretto.federation.scheduling.kubeadmiral import FederatedPlacement
from stretto.federation.scheduling.supply import SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload

_NOT_READY: Final = "ClusterReady"
"""The filter that rejects clusters that are not ready; it runs after the filters of the policy."""


def closed_replicas(
    workload: FederatedWorkload, result: FederatedPlacement, supply: SupplyTable
) -> int:
    """Unplaced replicas that closed clusters will accept once they are ready again.

    Running replicas elsewhere stay until then: a rollout counts the waiting replicas as desired. If
    no cluster accepts any replica, the last placement stays, and all missing replicas count.

    Args:
        workload: the workload.
        result: its placement.
        supply: all clusters.
    """
    if result.replicas:
        return for_closed(workload, result, supply)
    placed = (workload.replicas if x is None else x for x in workload.current.values())
    return max(0, workload.replicas - sum(placed))


def for_closed(workload: FederatedWorkload, result: FederatedPlacement, supply: SupplyTable) -> int:
    """Unplaced replicas that the policy allows in closed clusters.

    Args:
        workload: the workload.
        result: its placement.
        supply: all clusters.
    """
    unplaced = result.unplaced - (result.held.count if result.held is not None else 0)
    if unplaced <= 0:
        return 0
    closed = supply.closed_names(workload.tolerations)
    waits = {name for name in result.selected if name in closed}
    waits |= {name for name, why in result.filtered_by.items() if why == _NOT_READY}
    return min(unplaced, sum(_headroom(workload, result, name) for name in waits))


def _headroom(workload: FederatedWorkload, result: FederatedPlacement, cluster: str) -> int:
    """Number of further replicas of a workload that its policy allows in a cluster."""
    limits, most = workload.limits, workload.replicas
    if limits.weights and not limits.weights.get(cluster):
        return 0
    for bounds in (limits.maximum, limits.limited):
        most = min(most, bounds.get(cluster, most))
    return max(0, most - (result.replicas.get(cluster) or 0))
