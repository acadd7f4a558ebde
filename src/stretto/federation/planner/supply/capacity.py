"""Free capacity of clusters without the amounts promised to workloads that do not run yet.

A cluster reports the usage of pods only after they exist. Several workloads that are planned in the
meantime would all see the same free capacity and overfill the cluster. A plan is therefore a
promise until the cluster reports its pods, and later plans deduct it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stretto.base.amounts import add_amounts
from stretto.base.errors import InputError

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: CPU in thousandths of a core, others in units."""


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """Capacity of a cluster."""

    #: Name.
    name: str
    #: Amounts that pods can request.
    allocatable: Amounts
    #: Amounts that no pod has requested; negative if the cluster is over-committed.
    available: Amounts

    def less(self, amounts: Amounts) -> "ClusterCapacity":
        """The cluster with ``amounts`` less available."""
        left = {name: count - amounts.get(name, 0) for name, count in self.available.items()}
        return ClusterCapacity(self.name, self.allocatable, left)


def fitting(amounts: Amounts, request: Amounts) -> int | None:
    """Replicas with ``request`` that fit in ``amounts``; ``None`` if the request is empty."""
    counts = [max(0, amounts.get(name, 0)) // count for name, count in request.items() if count > 0]
    return min(counts) if counts else None


@dataclass(frozen=True, slots=True)
class CapacityPromise:
    """Replicas of one workload that a plan starts in one cluster."""

    #: Namespace and name of the workload.
    workload: str
    #: The cluster.
    cluster: str
    #: Replicas that the cluster does not report yet.
    replicas: int
    #: Requests of one replica.
    request: Amounts = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.replicas < 0:
            raise InputError(f"{self.workload}: promised replicas", self.replicas, "0 or more")


@dataclass(frozen=True, slots=True)
class Promises:
    """All promises that clusters do not report yet."""

    #: The promises.
    all: tuple[CapacityPromise, ...] = ()

    def made(self, workload: str, started: Mapping[str, int], request: Amounts) -> "Promises":
        """The promises with those of one workload replaced by its starting replicas, by cluster."""
        new = tuple(
            CapacityPromise(workload, cluster, count, request)
            for cluster, count in started.items()
            if count > 0
        )
        return Promises((*self.without(workload).all, *new))

    def without(self, workload: str) -> "Promises":
        """The promises to all other workloads."""
        return Promises(tuple(each for each in self.all if each.workload != workload))

    def reported(self, workload: str, cluster: str, replicas: int) -> "Promises":
        """The promises after ``cluster`` reported ``replicas`` more pods of ``workload``."""
        found = []
        for each in self.all:
            if (each.workload, each.cluster) != (workload, cluster):
                found.append(each)
            elif each.replicas > replicas:
                left = each.replicas - replicas
                found.append(CapacityPromise(workload, cluster, left, each.request))
        return Promises(tuple(found))

    def deducted(self, clusters: tuple[ClusterCapacity, ...]) -> tuple[ClusterCapacity, ...]:
        """The clusters with the promised amounts deducted."""
        sums: dict[str, dict[str, int]] = {}
        for each in self.all:
            total = sums.setdefault(each.cluster, {})
            add_amounts(total, each.request.items(), each.replicas)
        return tuple(each.less(sums.get(each.name, {})) for each in clusters)
