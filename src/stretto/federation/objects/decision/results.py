"""The condition of an object that follows from a scheduling result."""

from collections import defaultdict
from typing import Final

from stretto.api.types.federation.policies import SchedulingMode
from stretto.federation.problems import SCHEDULED, ObjectCondition
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict
from stretto.federation.scheduling.workload import FederatedWorkload

_SERVES: Final = "APIResources"
"""The filter that rejects clusters without the kind."""
KIND_MISSING: Final = "KindMissing"
"""Reason: a cluster that the policy names does not serve the kind."""
HELD: Final = {
    "QueueExceeded": "raise the queue, or wait until its other workloads end",
    "GangTooSmall": "raise the replicas or the queue, or lower minMember",
    "GangDoesNotFit": "add nodes, or allow more clusters",
}
"""Remedies for replicas that a queue or a gang holds back, by reason."""


def condition_of(
    workload: FederatedWorkload, result: FederatedPlacement, closed: int = 0
) -> ObjectCondition:
    """The condition ``Scheduled``; unless the object is placed in full, with reason and remedy.

    Args:
        workload: the object.
        result: its placement.
        closed: replicas that clusters accept once they are ready again.
    """
    if result.verdict is PlacementVerdict.UNCHANGED:
        return ObjectCondition(SCHEDULED)
    if result.verdict is PlacementVerdict.NO_CLUSTER_FITS:
        return ObjectCondition(SCHEDULED, "NoClusterFits", _rejections(result))
    if result.verdict is PlacementVerdict.SPREAD_UNMET:
        labels = ", ".join(f"{x.least} values of {x.label}" for x in workload.spread)
        text = f"the feasible clusters do not have {labels}: lower minGroups, or label clusters"
        return ObjectCondition(SCHEDULED, "SpreadUnmet", text)
    if not result.selected:
        hint = "raise maxClusters, or change the profile or its webhook"
        text = f"the select plugins chose no cluster: {hint}"
        return ObjectCondition(SCHEDULED, "NoClusterSelected", text)
    held = result.held
    if held is not None:
        text = f"{held.count} of {workload.replicas} replicas wait: {held.message}"
        return ObjectCondition(SCHEDULED, held.reason, f"{text}: {HELD[held.reason]}")
    counts = [count for count in result.replicas.values() if count is not None]
    missing = workload.replicas - sum(counts)
    if workload.mode is SchedulingMode.DIVIDE and missing > 0:
        clusters = ", ".join(sorted(result.selected))
        text = (
            f"{missing} of {workload.replicas} replicas may run in none of the clusters {clusters}:"
            " raise maxReplicas, weights or limitedCapacity, or allow more clusters"
        )
        if closed:
            text = (
                f"{missing} of {workload.replicas} replicas may run in none of the clusters"
                f" {clusters} now; {closed} of them wait for clusters that are not ready, leave or"
                " have a taint; running replicas stay until then: allow more clusters"
            )
        return ObjectCondition(SCHEDULED, "ReplicasUnplaced", text)
    if result.waiting:
        places = ", ".join(f"{count} in {name}" for name, count in sorted(result.waiting.items()))
        text = f"replicas wait for capacity: {places}: add nodes, or allow more clusters"
        return ObjectCondition(SCHEDULED, "ReplicasWaiting", text)
    return _kind_served(workload, result)


def _kind_served(workload: FederatedWorkload, result: FederatedPlacement) -> ObjectCondition:
    """The condition that names clusters of the policy which do not serve the kind."""
    filters = result.filtered_by
    lacking = sorted(name for name in workload.placement if filters.get(name) == _SERVES)
    if not lacking:
        return ObjectCondition(SCHEDULED)
    text = f"{', '.join(lacking)} of the placement do not serve the kind"
    hint = "install its CRD there, or remove them from the placement"
    return ObjectCondition(SCHEDULED, KIND_MISSING, f"{text}: {hint}")


def _rejections(result: FederatedPlacement) -> str:
    """Text with the filters and the clusters that each one rejects."""
    by_filter: defaultdict[str, list[str]] = defaultdict(list)
    for cluster, name in sorted(result.filtered_by.items()):
        by_filter[name].append(cluster)
    if not by_filter:
        return "no cluster has joined: join one"
    parts = (f"{name} rejects {', '.join(clusters)}" for name, clusters in by_filter.items())
    return f"no cluster fits: {'; '.join(parts)}: change the policy or these clusters"
