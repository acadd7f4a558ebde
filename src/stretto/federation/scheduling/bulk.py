"""Plans many workloads over the same clusters: masks by policy, promises by cluster.

The result is that of ``schedule`` for one workload after the other, where each plan is a promise to
the later ones. Workloads with equal policies share their filters.
"""

from collections.abc import Hashable, Mapping
from dataclasses import replace

from stretto.api.types.federation.policies import ReplicasStrategy
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.kubeadmiral import (
    FederatedPlacement,
    PlacementVerdict,
    ReplicaDivider,
    rejections,
    schedule,
)
from stretto.federation.scheduling.plugins import DEFAULT, ClusterProfile
from stretto.federation.scheduling.workload import FederatedWorkload


class BulkPlanner:
    """Plans workloads one after the other."""

    def __init__(
        self, fleet: MemberFleet, divide: ReplicaDivider, profile: ClusterProfile = DEFAULT
    ) -> None:
        """Plan over clusters.

        Args:
            fleet: all clusters.
            divide: the division.
            profile: the plugins.
        """
        self._fleet = fleet
        self._divide = divide
        self._profile = profile
        self._members = {each.name: each for each in fleet.members}
        self._promised: dict[str, dict[str, int]] = {}
        self._known: dict[Hashable, tuple[tuple[str, ...], Mapping[str, str]]] = {}

    def plan(self, workload: FederatedWorkload) -> FederatedPlacement:
        """Plan one workload; its new replicas are promises to later ones."""
        found = self._planned(workload)
        for name, count in found.replicas.items():
            more = (count or 0) - (workload.current.get(name) or 0)
            sums = self._promised.setdefault(name, {})
            for resource, amount in workload.request.items():
                sums[resource] = sums.get(resource, 0) + max(0, more) * amount
        return found

    def changed(self, member: MemberCluster) -> None:
        """Replace a cluster whose capacity has changed; what its filters read is the same."""
        self._members[member.name] = member

    def _planned(self, workload: FederatedWorkload) -> FederatedPlacement:
        names, rejected = self._candidates(workload)
        # Filters read one cluster each, and accept more clusters only where the workload runs.
        more = [each for each in workload.current if each in self._members and each in rejected]
        chosen = [self._member(name) for name in (*names, *more)]
        ranks = workload.max_clusters is not None or workload.strategy is ReplicasStrategy.BINPACK
        if workload.sticky or more or ranks:
            return schedule(workload, MemberFleet(tuple(chosen)), self._profile, self._divide)
        if not names:
            return FederatedPlacement(PlacementVerdict.NO_CLUSTER_FITS, {}, rejected, {})
        made = self._divide(workload, chosen)
        return FederatedPlacement(
            PlacementVerdict.PLACED, made.replicas, rejected, {}, names, made.waiting, made.unplaced
        )

    def _candidates(self, workload: FederatedWorkload) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Clusters that the filters accept for a workload that runs nowhere, and the others."""
        key = _policy(workload)
        found = self._known.get(key)
        if found is None:
            rejected = rejections(replace(workload, current={}), self._fleet, self._profile)
            names = tuple(name for name in self._fleet.names if name not in rejected)
            found = self._known[key] = names, rejected
        return found

    def _member(self, name: str) -> MemberCluster:
        """A cluster with what is promised."""
        promised = self._promised.get(name)
        member = self._members[name]
        return replace(member, promised=promised) if promised else member


def _policy(workload: FederatedWorkload) -> Hashable:
    """What the filters of a workload that runs nowhere read."""
    return (
        workload.placement,
        tuple(sorted(workload.cluster_selector.items())),
        workload.required,
        workload.tolerations,
        workload.evicted,
        tuple(sorted(workload.request.items())),
    )
