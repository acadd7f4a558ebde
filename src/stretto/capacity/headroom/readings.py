"""Readings of a node agent about containers and NUMA nodes, for the memory headroom."""

from collections.abc import Sequence
from enum import Enum

import msgspec


class HeadroomError(ValueError):
    """Error: a headroom cannot be computed from these readings; the message names the cause."""


class CoreLevel(Enum):
    """QoS level of a pod; the values are Katalyst's annotations."""

    #: Exclusive cores.
    DEDICATED = "dedicated_cores"
    #: Cores of a pool.
    SHARED = "shared_cores"
    #: Cores that other pods do not use.
    RECLAIMED = "reclaimed_cores"
    #: Agents of the node.
    SYSTEM = "system_cores"


class NumaMemory(msgspec.Struct, frozen=True):
    """Memory of a NUMA node, in bytes."""

    #: Free memory.
    free: float
    #: Page cache that was not used recently.
    inactive_file: float
    #: Physical memory.
    total: float

    def freeable(self, cache_ratio: float) -> float:
        """Free memory with a share of the caches."""
        return self.free + self.inactive_file * cache_ratio


class MemoryContainer(msgspec.Struct, frozen=True):
    """Memory of a container, in bytes."""

    #: Pod and container, for messages.
    name: str
    #: QoS level.
    level: CoreLevel
    #: Requested memory; 0 without a request.
    request: float = 0.0
    #: Anonymous memory; 0 if it was not measured.
    rss: float = 0.0
    #: Page cache; 0 if it was not measured.
    cache: float = 0.0
    #: Shared memory; 0 if it was not measured.
    shmem: float = 0.0
    #: Memory in use; ``None`` if it was not measured.
    usage: float | None = None
    #: NUMA nodes that it may use, each once.
    numas: tuple[int, ...] = ()
    #: Memory in use per NUMA node.
    numa_memory: dict[int, float] = {}
    #: NUMA node to which the pod is bound; ``None`` for a pod that is not bound.
    bound_to: int | None = None
    #: True if no other container may use its NUMA nodes.
    is_exclusive: bool = False
    #: True if its request counts instead of its use, as for a container that starts.
    keeps_request: bool = False
    #: True for a container next to the main container of the pod.
    is_sidecar: bool = False

    @property
    def used(self) -> float:
        """Sum of anonymous, cached and shared memory."""
        return self.rss + self.cache + self.shmem

    @property
    def owns_numas(self) -> bool:
        """True if no other container may use its NUMA nodes."""
        return self.level is CoreLevel.DEDICATED and self.is_exclusive


def available_numas(
    containers: Sequence[MemoryContainer], count: int, lends_exclusive: bool
) -> list[int]:
    """NUMA nodes whose memory may be reclaimed.

    Args:
        containers: all containers of the node.
        count: NUMA nodes of the machine.
        lends_exclusive: true to include the NUMA nodes of exclusive containers.

    Raises:
        HeadroomError: a container has no NUMA nodes, so that the remaining NUMA nodes are unknown.
    """
    taken: set[int] = set()
    if not lends_exclusive:
        for each in containers:
            if each.level is CoreLevel.RECLAIMED:
                continue
            if not each.numas and not each.keeps_request:
                raise HeadroomError(f"container {each.name} has no NUMA nodes")
            if each.owns_numas:
                taken.update(each.numas)
    return [number for number in range(count) if number not in taken]
