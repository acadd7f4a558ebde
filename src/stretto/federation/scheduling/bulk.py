"""Plans many workloads over the same clusters: masks by policy, promises by cluster.

The result is that of ``schedule`` for one workload after the other, where each plan is a promise to
the later ones. Workloads with equal policies share their filters.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from stretto.api.types.federation.policies import ReplicasStrategy
from stretto.federation.scheduling.filters import BY_AMOUNTS
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.kubeadmiral import (
    FederatedPlacement,
    PlacementVerdict,
    rejections,
    schedule,
)
from stretto.federation.scheduling.plugins import DEFAULT, ClusterProfile
from stretto.federation.scheduling.replicas.contract import ReplicaDivider
from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload

_POLICIES: Final = 1024
"""Policies whose candidates are cached; those of one policy over 500 clusters take 40 KiB."""


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Result of the filters for a workload that runs nowhere."""

    #: Clusters that the filters accept.
    names: tuple[str, ...]
    #: Their positions.
    at: Positions
    #: The first filter that rejects each other cluster.
    rejected: Mapping[str, str]


class BulkPlanner:
    """Plans workloads one after the other."""

    def __init__(
        self,
        fleet: MemberFleet,
        divide: ReplicaDivider,
        profile: ClusterProfile = DEFAULT,
        supply: SupplyTable | None = None,
    ) -> None:
        """Initialize for clusters.

        Args:
            fleet: all clusters.
            divide: the division.
            profile: the plugins, all of them built in.
            supply: capacity of the clusters, in their order; ``None`` reads it from the fleet.
        """
        self._fleet = fleet
        self._divide = divide
        self._profile = profile
        self._known: dict[Hashable, _Candidates] = {}
        #: Capacity of the clusters.
        self.supply = supply or SupplyTable(fleet.members)
        #: True if a filter reads amounts of clusters.
        self.reads_amounts = not BY_AMOUNTS.isdisjoint(profile.filters)

    def plan(self, workload: FederatedWorkload) -> FederatedPlacement:
        """Plan one workload; its new replicas are promises to later ones."""
        found = self.planned(workload)
        more = {
            name: count - has
            for name, count in found.replicas.items()
            if count is not None and count > (has := workload.current.get(name) or 0)
        }
        at = np.array([self.supply.position[name] for name in more], np.int64)
        counts = np.array(list(more.values()), np.int64)
        self.supply.promise(at, counts, workload.request)
        return found

    def planned(self, workload: FederatedWorkload) -> FederatedPlacement:
        """Plan one workload without recording a promise."""
        found = self._candidates(workload)
        # Filters read one cluster each, and accept more clusters only if the workload runs there.
        more = [each for each in workload.current if each in found.rejected]
        ranks = workload.max_clusters is not None or workload.strategy is ReplicasStrategy.BINPACK
        grouped = workload.alternatives or workload.spread
        if workload.sticky or more or ranks or grouped:
            at = [*found.at.tolist(), *(self.supply.position[name] for name in more)]
            some = MemberFleet(tuple(map(self._member, at)))
            made = schedule(workload, some, self._profile, self._divide, self.supply)
            return replace(made, filtered_by={**found.rejected, **made.filtered_by})
        if not found.names:
            return FederatedPlacement(PlacementVerdict.NO_CLUSTER_FITS, {}, found.rejected, {})
        plan = self._divide(workload, self.supply, found.at)
        return FederatedPlacement(
            PlacementVerdict.PLACED,
            plan.replicas,
            found.rejected,
            {},
            found.names,
            plan.waiting,
            plan.unplaced,
            plan.held,
        )

    def changed(self, member: MemberCluster) -> None:
        """Replace a cluster whose capacity changed; the fields that filters read are equal."""
        self.supply.changed(member)

    def _member(self, at: int) -> MemberCluster:
        """A cluster with its last report."""
        member, serves = self.supply.members[at], self._fleet.members[at].serves_kind
        return member if member.serves_kind is serves else replace(member, serves_kind=serves)

    def _candidates(self, workload: FederatedWorkload) -> _Candidates:
        """Clusters that the filters accept for a workload that runs nowhere, and the others."""
        key = _policy(workload, counts_request=self.reads_amounts)
        found = self._known.get(key)
        if found is None:
            rejected = rejections(replace(workload, current={}), self._fleet, self._profile)
            names = tuple(name for name in self._fleet.names if name not in rejected)
            at = np.array([self.supply.position[name] for name in names], np.int64)
            found = _Candidates(names, at, rejected)
            if len(self._known) >= _POLICIES:
                del self._known[next(iter(self._known))]
            self._known[key] = found
        return found


def _policy(workload: FederatedWorkload, *, counts_request: bool) -> Hashable:
    """Fields that the filters read of a workload that runs nowhere."""
    return (
        workload.placement,
        tuple(sorted(workload.cluster_selector.items())),
        workload.required,
        workload.tolerations,
        workload.evicted,
        tuple(sorted(workload.request.items())) if counts_request else (),
    )
