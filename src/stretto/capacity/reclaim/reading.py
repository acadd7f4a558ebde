"""Input and output of estimators of the headroom: the state of a node, and amounts."""

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from stretto.capacity.headroom.readings import MemoryContainer, NumaMemory

MILLI: Final = 1000
"""Milli-CPU per core."""
Pair = tuple[int, int]
"""Milli-CPU and bytes."""


class OwnerPod(NamedTuple):
    """A pod whose unused requests may be reclaimed."""

    #: Uid of the pod.
    uid: str
    #: Requested amounts.
    request: Pair
    #: Used amounts; ``None`` without a measurement.
    use: Pair | None
    #: Seconds since it was created.
    age_s: float
    #: True if the cores of the pod are exclusive and never reclaimed.
    exclusive: bool = False


class NodeMemory(NamedTuple):
    """Memory of a node in the detail that Katalyst's memory headrooms need, in bytes."""

    #: Memory of each NUMA node with processors, by its number.
    numas: Mapping[int, NumaMemory]
    #: All pods; a pod counts as one container.
    pods: tuple[MemoryContainer, ...]
    #: Free memory of the node, without caches.
    free: float
    #: The kernel's ``watermark_scale_factor``.
    watermark_scale: float
    #: Memory limit of the cgroup of best-effort pods; ``None`` for no limit.
    limit: float | None = None
    #: Memory limit of the cgroup of pods that are bound to a NUMA node, by its number.
    numa_limits: Mapping[int, float] = {}
    #: Readings that are missing, for messages.
    missing: tuple[str, ...] = ()


class HeadroomReading(NamedTuple):
    """State of a node at one time."""

    #: Amounts of the node.
    capacity: Pair
    #: Used amounts of the whole node.
    used: Pair
    #: Used amounts of reclaimed pods.
    reclaimed: Pair
    #: Shared, dedicated and system pods.
    pods: tuple[OwnerPod, ...]
    #: Monotonic time in seconds.
    at_s: float
    #: Memory in detail; ``None`` if it was not read.
    memory: NodeMemory | None = None


class HeadroomEstimate(NamedTuple):
    """Estimated amounts that reclaimed pods may request, at least 0."""

    #: Milli-CPU.
    cpu: int
    #: Bytes.
    memory: int
    #: Bytes by NUMA node; empty if the estimator does not divide the memory.
    numa_memory: Mapping[int, int] = {}
    #: Readings that the estimator ignored because they are inconsistent, for messages.
    ignored: tuple[str, ...] = ()


class HeadroomEstimator(Protocol):
    """Estimates the headroom of a node."""

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """Estimate the amounts that reclaimed pods may request."""
        ...
