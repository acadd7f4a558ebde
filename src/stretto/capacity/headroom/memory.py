"""Memory headroom by estimate (Katalyst's policy ``canonical``).

The headroom is the memory that shared, dedicated and system containers should not need, and a part
of the memory that is free now or could be freed from caches.
"""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Final

import msgspec

from stretto.capacity.headroom.readings import (
    CoreLevel,
    HeadroomError,
    MemoryContainer,
    NumaMemory,
    available_numas,
)
from stretto.capacity.model.profiles import CapacityProfile

GIB: Final = 1 << 30
"""Bytes per GiB."""
USE_MARGIN: Final = 1.1
"""Factor on the measured memory of shared and dedicated containers."""
UNKNOWN_BYTES: Final = 8.0 * GIB
"""Bytes of a container without use and without request."""
SCALE: Final = 10_000
"""Denominator of the kernel's ``watermark_scale_factor``."""


class MemoryBuffer(msgspec.Struct, frozen=True):
    """Part of the free memory and of the caches that is reclaimed beyond the estimates."""

    #: Share of free memory that is reclaimed.
    free_ratio: float = 0.6
    #: Cores per GiB above which caches may be reclaimed.
    least_cores_per_gib: float = 0.0
    #: Cores per GiB below which caches may be reclaimed.
    most_cores_per_gib: float = 0.0
    #: Bytes that are always reclaimed.
    static: float = 0.0


class MemorySystem(msgspec.Struct, frozen=True):
    """Memory of the whole node, in bytes."""

    #: Physical memory.
    total: float
    #: Free memory.
    free: float
    #: Memory in use; 0 if it was not measured.
    used: float
    #: The kernel's ``watermark_scale_factor``.
    watermark_scale: float
    #: Number of cores.
    cores: int
    #: Memory that the cores are divided by.
    capacity: float

    @property
    def cores_per_gib(self) -> float:
        """Cores per GiB of memory.

        Raises:
            HeadroomError: the machine has no memory.
        """
        if self.capacity <= 0:
            raise HeadroomError("the machine reports no memory")
        return self.cores * GIB / self.capacity


class HeadroomLimits(msgspec.Struct, frozen=True):
    """Bounds of a memory headroom, and the containers whose memory is reclaimed."""

    #: Maximum number of bytes that may be reclaimed.
    upper: float
    #: Bytes kept free for containers that start.
    reserved: float = 0.0
    #: Share of caches that counts as free.
    cache_ratio: float = 0.0
    #: True if unused memory of containers is reclaimed.
    lends: bool = True
    #: True if the NUMA nodes of exclusive containers are reclaimed, too.
    lends_exclusive: bool = True

    @property
    def bound(self) -> float:
        """Number of bytes that remain after the reserve."""
        return self.upper - self.reserved


class MemoryLoan(msgspec.Struct, frozen=True):
    """Reclaimed bytes, and the NUMA nodes that provide them."""

    #: Number of bytes.
    total: float
    #: Bytes by NUMA node.
    freeable: dict[int, float]

    def split(
        self,
        numas: Sequence[NumaMemory],
        profile: CapacityProfile = CapacityProfile.STRETTO,
    ) -> dict[int, float]:
        """Reclaimed bytes by NUMA node, in proportion to the memory that the node could free.

        If no NUMA node could free any memory, the split follows their sizes. ``KATALYST`` divides
        by zero instead.
        """
        weights: Mapping[int, float] = self.freeable
        whole = sum(weights.values())
        if whole == 0 and profile is CapacityProfile.KATALYST:
            return dict.fromkeys(weights, nan)
        if whole <= 0 and profile is not CapacityProfile.KATALYST:
            weights = {number: numas[number].total for number in weights}
            whole = sum(weights.values())
        return {number: self.total * each / whole for number, each in weights.items()}


def memory_headroom(
    containers: Sequence[MemoryContainer],
    numas: Sequence[NumaMemory],
    system: MemorySystem,
    limits: HeadroomLimits,
    buffer: MemoryBuffer | None,
) -> MemoryLoan:
    """Reclaimable bytes of a node, and their split over NUMA nodes.

    The split is in proportion to the memory that each NUMA node could free.

    Args:
        containers: all containers of the node.
        numas: memory of each NUMA node.
        system: memory of the node.
        limits: bounds.
        buffer: memory beyond the estimates; ``None`` for none.

    Raises:
        HeadroomError: a container has no NUMA nodes, although they are needed; it has one that the
            machine does not have; or its memory on one is unknown.
    """
    available = available_numas(containers, len(numas), limits.lends_exclusive)
    owned = [each for each in containers if each.level is not CoreLevel.RECLAIMED]
    need = sum(memory_estimate(each, numas, limits.lends) for each in owned)
    loaned = max(limits.bound - need, 0.0)
    if buffer is not None:
        loaned += buffered_memory(owned, need, system, limits.cache_ratio, buffer)
    freeable = {number: numas[number].freeable(limits.cache_ratio) for number in available}
    for each in containers:
        if each.level is CoreLevel.RECLAIMED:
            for number in each.numas:
                freeable[number] = freeable.get(number, 0.0) + _memory_on(each, number)
    return MemoryLoan(min(max(loaned, 0.0), limits.bound), freeable)


def _memory_on(container: MemoryContainer, number: int) -> float:
    """Memory of a container on a NUMA node."""
    found = container.numa_memory.get(number)
    if found is None:
        where = f"NUMA node {number} for container {container.name}"
        raise HeadroomError(f"there is no reading of the memory on {where}")
    return found


def memory_estimate(container: MemoryContainer, numas: Sequence[NumaMemory], lends: bool) -> float:
    """Number of bytes that a container is expected to need.

    An exclusive container whose NUMA nodes are not reclaimed needs all of their memory; it counts
    for the main container of its pod.
    """
    reclaimed = lends and not container.keeps_request
    if container.owns_numas and not reclaimed:
        return 0.0 if container.is_sidecar else _whole_numas(container, numas)
    if not reclaimed:
        found = container.request
    elif container.level is CoreLevel.SYSTEM:
        found = container.rss
    else:
        readings = (container.rss, container.cache, container.shmem)
        found = USE_MARGIN * sum(max(each, 0.0) for each in readings)
    return found if found > 0 else UNKNOWN_BYTES


def _whole_numas(container: MemoryContainer, numas: Sequence[NumaMemory]) -> float:
    """Physical memory of the NUMA nodes of a container."""
    for number in container.numas:
        if not 0 <= number < len(numas):
            where = f"NUMA node {number}, which the machine does not have"
            raise HeadroomError(f"container {container.name} is on {where}")
    return sum(numas[number].total for number in container.numas)


def buffered_memory(
    owned: Sequence[MemoryContainer],
    need: float,
    system: MemorySystem,
    cache_ratio: float,
    buffer: MemoryBuffer,
) -> float:
    """Number of bytes that are reclaimed beyond the estimates.

    Args:
        owned: containers that are not reclaimed.
        need: sum of their estimates.
        system: memory of the node.
        cache_ratio: share of caches that counts as free.
        buffer: settings.
    """
    planned = need
    for each in owned:
        if each.level is CoreLevel.SYSTEM:
            planned += each.cache + each.shmem
        else:
            planned -= each.used
    watermark = 2 * system.total * system.watermark_scale / SCALE
    loaned = max(system.free * buffer.free_ratio - watermark - planned, 0.0)
    is_between = buffer.least_cores_per_gib < system.cores_per_gib < buffer.most_cores_per_gib
    if is_between and cache_ratio > 0 and system.used > 0:
        cached = system.total - system.used - system.free
        loaned = max(loaned, cached * cache_ratio)
    return loaned + buffer.static
