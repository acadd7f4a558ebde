"""Estimators of the memory of a headroom: a share of the free memory, and Katalyst's policies.

They return no CPU; ``estimators.estimator`` joins them with an estimator of CPU.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from stretto.capacity.headroom.memory import (
    GIB,
    HeadroomLimits,
    MemoryBuffer,
    MemorySystem,
    memory_headroom,
)
from stretto.capacity.headroom.numa_memory import NumaReserve, OversoldLimit, numa_memory_headroom
from stretto.capacity.headroom.readings import CoreLevel, HeadroomError, MemoryContainer
from stretto.capacity.reclaim.checks import checked
from stretto.capacity.reclaim.reading import MILLI, HeadroomEstimate, HeadroomReading, NodeMemory
from stretto.framework.profile.capacity.reclaim import MemoryRules, ReclaimRules

NOT_READ: Final = "the memory of NUMA nodes and pods was not read"
"""Message of a reading without memory in detail."""

Shares = dict[int, float]
"""Bytes by NUMA node."""


def free_memory(reading: HeadroomReading, share: float) -> int:
    """Bytes of a share of the memory that is not in use."""
    return int(max(reading.capacity[1] - reading.used[1], 0) * share)


class FreeMemory:
    """A share of the memory that is not in use."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Reclaim the share of the rules."""
        self._share = rules.memory_share

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        return HeadroomEstimate(0, free_memory(reading, self._share))


class CanonicalMemory:
    """Katalyst's policy ``canonical``: memory that pods should not need, and a buffer."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Estimate by rules."""
        self._rules = rules.memory

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        return _estimated(reading, self._shares)

    def _shares(self, reading: HeadroomReading, memory: NodeMemory) -> Shares:
        rules, whole = self._rules, float(reading.capacity[1])
        numas = tuple(memory.numas.values())
        system = MemorySystem(
            whole,
            memory.free,
            float(reading.used[1]),
            memory.watermark_scale,
            reading.capacity[0] // MILLI,
            whole,
        )
        limits = HeadroomLimits(
            whole, rules.reserved_gib * GIB, rules.cache_share, lends_exclusive=False
        )
        pods = (*memory.pods, *_outside_pods(reading, memory))
        return memory_headroom(pods, numas, system, limits, _buffer(rules)).split(numas)


class NumaAwareMemory:
    """Katalyst's policy ``numa-aware``: memory that each NUMA node could free now."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Estimate by rules."""
        self._rules = rules.memory

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        return _estimated(reading, self._shares)

    def _shares(self, reading: HeadroomReading, memory: NodeMemory) -> Shares:
        rules = self._rules
        reserve = NumaReserve(
            rules.reserved_gib * GIB,
            memory.watermark_scale,
            rules.request_share,
            rules.cache_share,
            lends_exclusive=False,
        )
        whole = float(reading.capacity[1])
        limits = OversoldLimit(
            rules.oversold_rate,
            whole if memory.limit is None else min(memory.limit, whole),
            tuple(_numa_limits(memory)),
        )
        return numa_memory_headroom(memory.pods, tuple(memory.numas.values()), reserve, limits)


def _estimated(
    reading: HeadroomReading, shares: Callable[[HeadroomReading, NodeMemory], Shares]
) -> HeadroomEstimate:
    """Headroom of the shares of a checked reading; 0 if they cannot be computed."""
    if reading.memory is None:
        return HeadroomEstimate(0, 0, ignored=(NOT_READ,))
    memory, ignored = checked(reading.memory)
    numbers = tuple(memory.numas)
    try:
        found = shares(reading, _renumbered(memory))
    except HeadroomError as error:
        return HeadroomEstimate(0, 0, dict.fromkeys(numbers, 0), (*ignored, str(error)))
    amounts = {number: int(found.get(index, 0.0)) for index, number in enumerate(numbers)}
    return HeadroomEstimate(0, sum(amounts.values()), amounts, ignored)


def _renumbered(memory: NodeMemory) -> NodeMemory:
    """Number NUMA nodes from 0 without gaps, as the models expect."""
    index = {number: at for at, number in enumerate(memory.numas)}
    pods = (
        replace(
            pod,
            numas=tuple(index[number] for number in pod.numas),
            numa_memory={index[number]: each for number, each in pod.numa_memory.items()},
            bound_to=None if pod.bound_to is None else index[pod.bound_to],
        )
        for pod in memory.pods
    )
    return memory._replace(
        numas={index[number]: each for number, each in memory.numas.items()},
        numa_limits={index[number]: each for number, each in memory.numa_limits.items()},
        pods=tuple(pods),
    )


def _outside_pods(reading: HeadroomReading, memory: NodeMemory) -> Sequence[MemoryContainer]:
    """Memory in use outside pods, as a system container; Katalyst's estimate omits it."""
    inside = sum(pod.use[1] for pod in reading.pods if pod.use is not None) + reading.reclaimed[1]
    used = float(max(reading.used[1] - inside, 0))
    numas = tuple(memory.numas)
    return [MemoryContainer("outside pods", CoreLevel.SYSTEM, rss=used, numas=numas)] * (used > 0)


def _numa_limits(memory: NodeMemory) -> Sequence[float]:
    """Limit of the pods that are bound to each NUMA node: that of their cgroup, or its memory."""
    limits = memory.numa_limits
    return [min(limits.get(at, each.total), each.total) for at, each in memory.numas.items()]


def _buffer(rules: MemoryRules) -> MemoryBuffer:
    """Memory that is reclaimed beyond the estimates."""
    least, most = rules.cores_per_gib
    return MemoryBuffer(rules.free_share, least, most, rules.static_gib * GIB)
