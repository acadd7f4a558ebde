"""The ``reclaim`` settings of a profile: the estimator of reclaimable capacity, and its margins.

    stretto:
      reclaim: {estimator: reservation, margin: 0.15, extendedResources: batch}

    stretto:
      reclaim: {estimator: utilisation, memory: {estimator: numa-aware, cacheShare: 0.5}}

The node agent publishes the estimate; the scheduler ignores reports that are too old.
"""

from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.types.cnr import RECLAIMED_CPU, RECLAIMED_MEMORY
from stretto.framework.profile.capacity.section import check_ranges, read_section


class Estimator(Enum):
    """Method that estimates the headroom of a node."""

    #: Katalyst: the amount that measured containers are not expected to need.
    CANONICAL = "canonical"
    #: Katalyst: grows while reclaimed cores are idle, shrinks while they are busy.
    UTILISATION = "utilisation"
    #: Koordinator: the amount that online pods do not use now.
    BATCH = "batch"
    #: Koordinator: the amount that online pods will not need soon, from their peaks.
    MID = "mid"
    #: Borg: a reservation per pod, which decays from the request to the use with a margin.
    RESERVATION = "reservation"


class MemoryEstimator(Enum):
    """Method that estimates the memory of a headroom."""

    #: The method of ``ReclaimRules.estimator``.
    SAME = "same"
    #: A share of the memory that is not in use.
    FREE = "free"
    #: Katalyst: the memory that pods are not expected to need, and a buffer of free memory.
    CANONICAL = "canonical"
    #: Katalyst: the memory that each NUMA node could free now.
    NUMA_AWARE = "numa-aware"
    #: Koordinator: the memory that online pods do not use now.
    BATCH = "batch"
    #: Koordinator: the memory that online pods will not need soon, from their peaks.
    MID = "mid"
    #: Borg: a reservation per pod, which decays from the request to the use with a margin.
    RESERVATION = "reservation"

    @property
    def needs_detail(self) -> bool:
        """True if the method reads memory by NUMA node and by kind."""
        return self in (MemoryEstimator.CANONICAL, MemoryEstimator.NUMA_AWARE)


class ExtendedNames(Enum):
    """Extended resources of a node that also publish its headroom."""

    #: None; the CustomNodeResource alone.
    NONE = "none"
    #: Katalyst's resources.
    KATALYST = "katalyst"
    #: Koordinator's batch resources.
    BATCH = "batch"
    #: Koordinator's mid resources.
    MID = "mid"

    @property
    def names(self) -> tuple[str, str] | None:
        """The names of CPU (in milli) and memory (in bytes); ``None`` for no resources."""
        return _NAMES.get(self)


MOST_GIB: Final = 1 << 20
"""Largest amount of memory in a setting: one PiB."""
_NAMES: Final = {
    ExtendedNames.KATALYST: (RECLAIMED_CPU, RECLAIMED_MEMORY),
    ExtendedNames.BATCH: ("kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"),
    ExtendedNames.MID: ("kubernetes.io/mid-cpu", "kubernetes.io/mid-memory"),
}


class MemoryRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Settings of the memory of a headroom."""

    #: Estimator of the memory.
    estimator: MemoryEstimator = MemoryEstimator.SAME
    #: GiB kept free for pods that start (``canonical``, ``numa-aware``).
    reserved_gib: float = 0.0
    #: Share of caches that counts as free (``canonical``, ``numa-aware``).
    cache_share: float = 0.0
    #: Share of free memory that is reclaimed beyond the estimates (``canonical``).
    free_share: float = 0.0
    #: GiB that are reclaimed beyond the estimates (``canonical``).
    static_gib: float = 0.0
    #: Cores per GiB of a node, between which its caches are reclaimed (``canonical``).
    cores_per_gib: tuple[float, float] = (1 / 6, 1 / 3.5)
    #: Share of the requests of other pods up to which the unused part is kept (``numa-aware``).
    request_share: float = 0.1
    #: Maximum headroom per byte that best-effort pods may use (``numa-aware``): the limit of their
    #: cgroup, or the memory of the node without one.
    oversold_rate: float = 1.0
    #: GiB up to which a headroom is published as 0.
    least_gib: float = 0.0


class ReclaimRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Settings of the reclaimed part of a node's unused capacity."""

    #: Estimator of the headroom.
    estimator: Estimator = Estimator.CANONICAL
    #: Cores kept free for pods that start.
    reserved_cores: float = 1.0
    #: Share of free memory that is reclaimed if the estimator has no formula for memory.
    memory_share: float = 0.6
    #: Estimator of the memory, if it differs from that of the CPU, and its settings.
    memory: MemoryRules = MemoryRules()
    #: Cores up to which a headroom is published as 0.
    least_cores: float = 0.0
    #: Fraction of the use that is added as a safety margin (``reservation``).
    margin: float = 0.15
    #: Seconds for which a new pod keeps its whole request (``reservation``), as in Borg.
    start_seconds: float = 300.0
    #: Seconds in which a reservation decays to 37 % of its distance (``reservation``).
    decay_seconds: float = 300.0
    #: Percent of CPU that online and batch pods may use together (``batch``).
    cpu_percent: int = 60
    #: Percent of memory that online and batch pods may use together (``batch``).
    memory_percent: int = 65
    #: Utilisation of reclaimed cores below which more is reclaimed (``utilisation``).
    target: float = 0.6
    #: Extended resources that also publish the headroom.
    extended_resources: ExtendedNames = ExtendedNames.NONE
    #: Seconds after which a report is too old to be used.
    degrade_seconds: float = 900.0


def read_reclaim(value: Any, where: str) -> ReclaimRules | None:
    """Read the section ``reclaim`` of a profile; ``None`` without one.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    if value is None or value is False:
        return None
    rules = read_section(value, ReclaimRules, where)
    ranges = {
        "reservedCores": (rules.reserved_cores, 0.0, 4096.0),
        "memoryShare": (rules.memory_share, 0.0, 1.0),
        "leastCores": (rules.least_cores, 0.0, 4096.0),
        "margin": (rules.margin, 0.0, 10.0),
        "startSeconds": (rules.start_seconds, 0.0, 86_400.0),
        "decaySeconds": (rules.decay_seconds, 1.0, 86_400.0),
        "cpuPercent": (rules.cpu_percent, 1, 500),
        "memoryPercent": (rules.memory_percent, 1, 500),
        "target": (rules.target, 0.01, 1.0),
        "degradeSeconds": (rules.degrade_seconds, 1.0, 86_400.0),
    }
    check_ranges(ranges, where)
    _check_memory(rules.memory, f"{where}.memory")
    return rules


def _check_memory(rules: MemoryRules, where: str) -> None:
    """Refuse settings outside their range.

    Raises:
        InputError: a number is outside its range; the message contains its path.
    """
    least, most = rules.cores_per_gib
    ranges = {
        "reservedGib": (rules.reserved_gib, 0.0, MOST_GIB),
        "cacheShare": (rules.cache_share, 0.0, 1.0),
        "freeShare": (rules.free_share, 0.0, 1.0),
        "staticGib": (rules.static_gib, 0.0, MOST_GIB),
        "coresPerGib[0]": (least, 0.0, 4096.0),
        "coresPerGib[1]": (most, least, 4096.0),
        "requestShare": (rules.request_share, 0.0, 1.0),
        "oversoldRate": (rules.oversold_rate, 0.01, 100.0),
        "leastGib": (rules.least_gib, 0.0, MOST_GIB),
    }
    check_ranges(ranges, where)
