"""The clusters of a federation as rows and as columns."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stretto.api.types.core import Taint

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: CPU in thousandths of a core, others in units."""
ClusterMask: TypeAlias = NDArray[np.bool_]
"""One bool for each cluster."""
ClusterColumn: TypeAlias = NDArray[np.int64]
"""One int64 for each cluster."""


@dataclass(frozen=True, slots=True)
class MemberCluster:
    """A cluster as input of scheduling."""

    #: Name.
    name: str
    #: Labels.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Taints.
    taints: tuple[Taint, ...] = ()
    #: True if the cluster is ready.
    ready: bool = True
    #: True if the cluster is leaving the federation.
    terminating: bool = False
    #: True if the cluster serves the kind of the workload.
    serves_kind: bool = True
    #: Amounts that pods can request.
    allocatable: Amounts = field(default_factory=dict)
    #: Amounts that are free.
    available: Amounts = field(default_factory=dict)
    #: Amounts that are promised to other workloads and that the cluster does not report yet.
    promised: Amounts = field(default_factory=dict)
    #: Free amounts of every node; empty if only the sums are used.
    free_nodes: tuple[Amounts, ...] = ()
    #: CPU in thousandths of a core by model; empty if models are unknown.
    cpu_models: Amounts = field(default_factory=dict)


@dataclass(frozen=True)
class MemberFleet:
    """All clusters, in a fixed order; columns are built on first use."""

    #: The clusters.
    members: tuple[MemberCluster, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(each.name for each in self.members)

    @cached_property
    def position(self) -> dict[str, int]:
        """Position by name."""
        return {name: at for at, name in enumerate(self.names)}

    @cached_property
    def serving(self) -> ClusterMask:
        """Clusters that serve the kind of the workload."""
        return self.mask(each.serves_kind for each in self.members)

    @cached_property
    def ready(self) -> ClusterMask:
        """Ready clusters."""
        return self.mask(each.ready for each in self.members)

    @cached_property
    def staying(self) -> ClusterMask:
        """Clusters that are not leaving the federation."""
        return self.mask(not each.terminating for each in self.members)

    @cached_property
    def tainted(self) -> ClusterMask:
        """Clusters with taints."""
        return self.mask(bool(each.taints) for each in self.members)

    @cached_property
    def _columns(self) -> dict[tuple[str, str], ClusterColumn]:
        """Cached columns of amounts, by content and resource."""
        return {}

    def mask(self, values: Iterable[bool]) -> ClusterMask:
        """A mask of one value for each cluster."""
        return np.fromiter(values, np.bool_, len(self.members))

    def all(self, accepted: bool) -> ClusterMask:
        """A mask of the same value for each cluster."""
        return np.full(len(self.members), accepted)

    def named(self, names: Collection[str]) -> ClusterMask:
        """The clusters with one of these names."""
        found = self.all(False)
        found[[self.position[name] for name in names if name in self.position]] = True
        return found

    def column(self, values: Iterable[int]) -> ClusterColumn:
        """A column of one value for each cluster."""
        return np.fromiter(values, np.int64, len(self.members))

    def allocatable(self, resource: str) -> ClusterColumn:
        """Amounts of ``resource`` that pods can request; 0 where it is absent."""
        found = self._columns.get(("allocatable", resource))
        if found is None:
            found = self.column(each.allocatable.get(resource, 0) for each in self.members)
            self._columns["allocatable", resource] = found
        return found

    def used(self, resource: str) -> ClusterColumn:
        """Requested amounts of ``resource``.

        This is the allocatable amount minus the available one, or the whole allocatable amount if
        more is available than allocatable.
        """
        found = self._columns.get(("used", resource))
        if found is None:
            found = self.column(_used(each, resource) for each in self.members)
            self._columns["used", resource] = found
        return found

    def only(self, kept: ClusterMask) -> "MemberFleet":
        """The clusters of a mask, in the same order."""
        if kept.all():
            return self
        return MemberFleet(
            tuple(each for each, keep in zip(self.members, kept, strict=True) if keep)
        )


def _used(member: MemberCluster, resource: str) -> int:
    allocatable = member.allocatable.get(resource, 0)
    available = member.available.get(resource, 0)
    return allocatable - available if available <= allocatable else allocatable
