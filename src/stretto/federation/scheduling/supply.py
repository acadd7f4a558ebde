"""Capacity of clusters for a division, in columns that are updated by promises and reports."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stretto.api.types.pod import Toleration
from stretto.federation.planner.hashes import HashColumn, fnv1a, fnv1a_each
from stretto.federation.planner.supply.capacity import fitting
from stretto.federation.scheduling.fleet import (
    Amounts,
    ClusterColumn,
    ClusterMask,
    MemberCluster,
)
from stretto.state.nodes.taints import NO_SCHEDULE, untolerated

Positions = NDArray[np.int64]
"""Positions of some clusters in a table."""


class SupplyTable:
    """The clusters of a fleet with their amounts; columns are built on first use."""

    def __init__(self, members: Sequence[MemberCluster]) -> None:
        """Initialize with the clusters and the promises in each."""
        #: The clusters as they were reported; later promises are only in the columns.
        self.members = list(members)
        #: Position by name.
        self.position = {each.name: at for at, each in enumerate(self.members)}
        self._total: dict[str, ClusterColumn] = {}
        self._free: dict[str, ClusterColumn] = {}
        self._promised: dict[str, ClusterColumn] = {}

    # ---------------------------------------------------------------- reads

    @cached_property
    def reports(self) -> ClusterMask:
        """Clusters whose amounts are known."""
        return np.array([bool(each.allocatable) for each in self.members], np.bool_)

    @cached_property
    def tainted(self) -> frozenset[int]:
        """Positions of clusters with taints."""
        return frozenset(at for at, each in enumerate(self.members) if each.taints)

    def closed(self, at: Positions, tolerations: Collection[Toleration]) -> ClusterMask:
        """Clusters with a taint that excludes new replicas."""
        found = np.zeros(len(at), np.bool_)
        for index, each in enumerate(at.tolist()) if self.tainted else ():
            taints = self.members[each].taints
            found[index] = untolerated(taints, tolerations, (NO_SCHEDULE,)) > 0
        return found

    @cached_property
    def resting(self) -> frozenset[int]:
        """Positions of clusters that accept no further replicas: not ready, or leaving."""
        members = enumerate(self.members)
        return frozenset(at for at, each in members if not each.ready or each.terminating)

    def closed_names(self, tolerations: Collection[Toleration]) -> frozenset[str]:
        """Clusters that accept no further replicas: unready, leaving or with such a taint."""
        everywhere = np.arange(len(self.members))
        tainted = np.flatnonzero(self.closed(everywhere, tolerations)).tolist()
        return frozenset(self.members[at].name for at in {*self.resting, *tainted})

    @cached_property
    def with_nodes(self) -> frozenset[int]:
        """Positions of clusters whose nodes are known."""
        return frozenset(at for at, each in enumerate(self.members) if each.free_nodes)

    @cached_property
    def order(self) -> ClusterColumn:
        """The place of each cluster in the order of names."""
        names = [each.name for each in self.members]
        return np.argsort(np.array(sorted(range(len(names)), key=names.__getitem__), np.int64))

    @cached_property
    def _hashes(self) -> HashColumn:
        return np.array([fnv1a(each.name) for each in self.members], np.uint32)

    def hashes(self, at: Positions, key: str) -> ClusterColumn:
        """Hashes of the names of clusters, each followed by the key of a workload."""
        return fnv1a_each(self._hashes[at], key).astype(np.int64)

    def in_free(self, at: Positions, request: Amounts) -> ClusterColumn | None:
        """Replicas that fit beside running and promised ones; ``None`` without a request."""
        return _fitting(self._frees, at, request)

    def in_nodes(self, at: Positions, request: Amounts) -> ClusterColumn | None:
        """The same count; for known nodes, at most the replicas that fit on single nodes."""
        found = self.in_free(at, request)
        if found is None or not self.with_nodes:
            return found
        needed = {name: count for name, count in request.items() if count > 0}
        taken = np.maximum.reduce([-(-self.promised(x)[at] // needed[x]) for x in needed])
        for index, each in enumerate(at.tolist()):
            if nodes := self.members[each].free_nodes:
                on_nodes = sum(fitting(amounts, needed) or 0 for amounts in nodes)
                found[index] = min(int(found[index]), max(0, on_nodes - int(taken[index])))
        return found

    def in_total(self, at: Positions, request: Amounts) -> ClusterColumn | None:
        """Replicas that fit in the allocatable amounts; ``None`` without a request."""
        return _fitting(self._totals, at, request)

    def promised(self, resource: str) -> ClusterColumn:
        """Promised amounts of a resource."""
        found = self._promised.get(resource)
        if found is None:
            found = self._column([each.promised.get(resource, 0) for each in self.members])
            self._promised[resource] = found
        return found

    def free(self, resources: Iterable[str]) -> dict[str, int] | None:
        """Free amounts of all ready clusters without promises; ``None`` if none reports any."""
        ready = np.array([each.ready for each in self.members], np.bool_) & self.reports
        if not ready.any():
            return None
        return {name: int(self._frees(name)[ready].sum()) for name in resources}

    def free_in(self, cluster: str, resource: str) -> int | None:
        """Free amount of a cluster without promises; ``None`` if it reports no capacity."""
        at = self.position.get(cluster)
        return int(self._frees(resource)[at]) if at is not None and self.reports[at] else None

    # ---------------------------------------------------------------- writes

    def promise(self, at: Positions, counts: ClusterColumn, request: Amounts) -> None:
        """Promise replicas in clusters to a workload; negative counts revoke promises."""
        for resource, amount in request.items():
            free, promised, amounts = (
                self._frees(resource),
                self.promised(resource),
                counts * amount,
            )
            free[at] -= amounts
            promised[at] += amounts

    def changed(self, member: MemberCluster) -> None:
        """Replace the report of a cluster; its promises stay."""
        at = self.position[member.name]
        self.members[at] = member
        for resource, column in self._total.items():
            column[at] = member.allocatable.get(resource, 0)
        for resource, column in self._free.items():
            column[at] = member.available.get(resource, 0) - int(self._promised[resource][at])
        self.reports[at] = bool(member.allocatable)
        for name in ("tainted", "resting", "with_nodes"):
            self.__dict__.pop(name, None)

    # ---------------------------------------------------------------- inside

    def _totals(self, resource: str) -> ClusterColumn:
        found = self._total.get(resource)
        if found is None:
            found = self._column([each.allocatable.get(resource, 0) for each in self.members])
            self._total[resource] = found
        return found

    def _frees(self, resource: str) -> ClusterColumn:
        found = self._free.get(resource)
        if found is None:
            found = self._column([each.available.get(resource, 0) for each in self.members])
            found -= self.promised(resource)
            self._free[resource] = found
        return found

    def _column(self, values: Sequence[int]) -> ClusterColumn:
        return np.array(values, np.int64)


def _fitting(
    column: Callable[[str], ClusterColumn], at: Positions, request: Amounts
) -> ClusterColumn | None:
    """Replicas with a request that fit in amounts; ``None`` if the request is empty."""
    found: ClusterColumn | None = None
    for resource, amount in request.items():
        if amount > 0:
            count = column(resource)[at] // amount
            found = count if found is None else np.minimum(found, count)
    return None if found is None else np.maximum(found, 0)
