"""Recorded headrooms of Katalyst, computed by the models of ``capacity.headroom``."""

from collections.abc import Mapping
from math import isnan
from typing import Any, Final

import msgspec

from stretto.api.wire import quantity
from stretto.capacity.headroom.cpu import CpuContainer, cpu_headroom
from stretto.capacity.headroom.memory import (
    HeadroomLimits,
    MemoryBuffer,
    MemorySystem,
    memory_headroom,
)
from stretto.capacity.headroom.numa_memory import NumaReserve, OversoldLimit, numa_memory_headroom
from stretto.capacity.headroom.published import publish
from stretto.capacity.headroom.readings import (
    CoreLevel,
    HeadroomError,
    MemoryContainer,
    NumaMemory,
)
from stretto.capacity.headroom.utilisation import (
    UtilisationTargets,
    reclaimed_supply,
    utilisation_headroom,
)
from stretto.capacity.model.profiles import CapacityProfile

Fields = dict[str, Any]
"""The members of an input or of a result."""

PLACES: Final = 9
"""Decimal places of recorded headrooms."""
CPU: Final = "reclaimed_millicpu"
MEMORY: Final = "reclaimed_memory"


class EstimatedContainer(msgspec.Struct, frozen=True):
    """A container of ``kc_headroom_cpu``."""

    #: Its pod.
    pod: str
    #: QoS level.
    qos: CoreLevel
    #: Requested cores.
    request: float
    #: Readings by name.
    metrics: Mapping[str, float] = {}
    #: Assigned CPUs per NUMA node.
    numa_cpus: Mapping[int, int] = {}
    #: True if the agent does not know the container.
    unknown: bool = False

    def cpu(self, lends: bool, region: frozenset[int]) -> CpuContainer:
        """The container in a region; an empty region is the whole node."""
        assigned = sum(self.numa_cpus.values())
        inside = sum(count for number, count in self.numa_cpus.items() if number in region)
        share = 1.0 if not region else inside / assigned if assigned else 0.0
        get = self.metrics.get
        loads = (get("cpu_usage", 0.0), get("load_1m", 0.0), get("load_5m", 0.0))
        return CpuContainer(self.request, *loads, lends=lends, share=share)


class CpuInput(msgspec.Struct, frozen=True):
    """The input of ``kc_headroom_cpu``."""

    #: True if containers may lend resources.
    enable_reclaim: bool
    #: Cores of the region.
    upper_bound: float
    #: Cores kept free.
    reserved_for_allocate: float
    #: Cores loaned in any case.
    reserved_for_reclaim: float
    #: Containers.
    containers: tuple[EstimatedContainer, ...]
    #: NUMA nodes of the region.
    binding_numas: frozenset[int] = frozenset()
    #: Pods that do not lend resources.
    poor_pods: frozenset[str] = frozenset()


def cpu(given: Fields) -> Fields:
    """``kc_headroom_cpu``: the headroom by estimate."""
    region = msgspec.convert(given, CpuInput, strict=False)
    counted = [
        each.cpu(region.enable_reclaim and each.pod not in region.poor_pods, region.binding_numas)
        for each in region.containers
        if not each.unknown and each.qos in (CoreLevel.SHARED, CoreLevel.DEDICATED)
    ]
    found = cpu_headroom(
        region.upper_bound, counted, region.reserved_for_allocate, region.reserved_for_reclaim
    )
    return {"headroom": round(found, PLACES)}


def utilisation(given: Fields) -> Fields:
    """``kc_headroom_util``: headrooms by utilisation; each starts from the previous one."""
    targets = UtilisationTargets(
        given["target_utilization"],
        given["max_utilization"],
        given["max_oversold_rate"],
        given["max_capacity"],
    )
    last: float = sum(given["last_reclaimed_cores"])
    steps = []
    for step in given["steps"]:
        use, quota, period = step["reclaim_cgroup_usage"], step["quota_us"], step["period_us"]
        limit = (quota / period if period > 0 else quota) if quota > 0 else None
        supply = reclaimed_supply(step["core_usage"], use, limit)
        milli = utilisation_headroom(supply, use, last, targets)
        steps.append({"supply": round(supply, PLACES), "headroom_milli": milli})
        last = milli / 1000
    return {"steps": steps}


def report(given: Fields) -> Fields:
    """``kc_headroom_report``: the contents of the node report."""
    least = {}
    if "min_ignored_cpu" in given:
        least[CPU] = quantity.milli(given["min_ignored_cpu"], "min_ignored_cpu")
    if "min_ignored_memory" in given:
        least[MEMORY] = quantity.value(given["min_ignored_memory"], "min_ignored_memory")
    found = publish(given["total"], given["numas"], least, CapacityProfile.KATALYST)
    return {
        "allocatable": dict(found.node),
        "capacity": given["total"],
        "numas": {str(number): dict(each) for number, each in enumerate(found.numas)},
    }


class RecordedContainer(msgspec.Struct, frozen=True):
    """A container of ``kc_headroom_mem``."""

    #: Its pod.
    pod: str
    #: Its name.
    name: str
    #: QoS level.
    qos: CoreLevel
    #: Requested bytes.
    memory_request: float
    #: Anonymous bytes.
    rss: float = 0.0
    #: Cached bytes.
    cache: float = 0.0
    #: Shared bytes.
    shmem: float = 0.0
    #: Bytes in use.
    usage: float | None = None
    #: NUMA nodes.
    numas: tuple[int, ...] = ()
    #: Bytes per NUMA node.
    numa_memory: dict[int, float] = {}
    #: NUMA node of the binding.
    numa_bind_result: int | None = None
    #: True if it has exclusive NUMA nodes.
    numa_exclusive: bool = False
    #: True if it is starting.
    ramp_up: bool = False
    #: True if it is a sidecar.
    sidecar: bool = False

    def reading(self) -> MemoryContainer:
        """The container as input of the models."""
        return MemoryContainer(
            name=f"{self.pod}/{self.name}",
            level=self.qos,
            request=self.memory_request,
            rss=self.rss,
            cache=self.cache,
            shmem=self.shmem,
            usage=self.usage,
            numas=tuple(sorted(set(self.numas))),
            numa_memory=self.numa_memory,
            bound_to=self.numa_bind_result,
            is_exclusive=self.numa_exclusive,
            keeps_request=self.ramp_up,
            is_sidecar=self.sidecar,
        )


class MemoryInput(msgspec.Struct, frozen=True):
    """The input of ``kc_headroom_mem``."""

    #: ``canonical`` or ``numa_aware``.
    policy: str
    #: True if exclusive containers lend.
    node_enable_reclaim: bool
    #: True if containers lend.
    enable_reclaim: bool
    #: Bytes of the node.
    upper_bound: float
    #: Bytes kept free.
    reserved_for_allocate: float
    #: True if a buffer is loaned.
    util_based: bool
    #: Share of caches.
    cache_ratio: float
    #: Share of free memory.
    free_ratio: float
    #: Bytes loaned in any case.
    static_capacity: float
    #: Share of requests kept.
    request_ratio: float
    #: Rate of the bounds by cgroups; 0 for no bounds.
    max_oversold_rate: float
    #: Bound of cores per GiB.
    cpu_per_gib_lower: float
    #: Bound of cores per GiB.
    cpu_per_gib_upper: float
    #: Cores of the node.
    cores: int
    #: Bytes of the node.
    memory_capacity: int
    #: Bytes of the node.
    system_total: float
    #: Free bytes.
    system_free: float
    #: Used bytes.
    system_used: float
    #: Setting of the kernel.
    watermark_scale_factor: float
    #: NUMA nodes.
    numas: tuple[NumaMemory, ...]
    #: Limit of the shared cgroup.
    reclaim_limit: float
    #: Limits of the cgroups of NUMA nodes.
    reclaim_numa_limits: tuple[float, ...]
    #: Containers.
    containers: tuple[RecordedContainer, ...]


def memory(given: Fields) -> Fields:
    """``kc_headroom_mem``: the memory headroom by either policy."""
    node = msgspec.convert(given, MemoryInput, strict=False)
    try:
        whole, numas = (_canonical if node.policy == "canonical" else _numa_aware)(node)
    except HeadroomError as error:
        return {"error": str(error)}
    shares = {str(number): _bytes(each) for number, each in numas.items()}
    return {"headroom": _bytes(whole), "numa": shares}


def _canonical(node: MemoryInput) -> tuple[float, dict[int, float]]:
    buffer = MemoryBuffer(
        node.free_ratio, node.cpu_per_gib_lower, node.cpu_per_gib_upper, node.static_capacity
    )
    loan = memory_headroom(
        [each.reading() for each in node.containers],
        node.numas,
        MemorySystem(
            node.system_total,
            node.system_free,
            node.system_used,
            node.watermark_scale_factor,
            node.cores,
            node.memory_capacity,
        ),
        HeadroomLimits(
            node.upper_bound,
            node.reserved_for_allocate,
            node.cache_ratio,
            node.enable_reclaim,
            node.node_enable_reclaim,
        ),
        buffer if node.util_based else None,
    )
    return loan.total, loan.split(node.numas, CapacityProfile.KATALYST)


def _numa_aware(node: MemoryInput) -> tuple[float, dict[int, float]]:
    rate, limits = node.max_oversold_rate, node.reclaim_numa_limits[: len(node.numas)]
    shares = numa_memory_headroom(
        [each.reading() for each in node.containers],
        node.numas,
        NumaReserve(
            node.reserved_for_allocate,
            node.watermark_scale_factor,
            node.request_ratio,
            node.cache_ratio,
            node.node_enable_reclaim,
        ),
        OversoldLimit(rate, node.reclaim_limit, limits) if rate > 0 else None,
        CapacityProfile.KATALYST,
    )
    return sum(shares.values()), {each: shares.get(each, 0.0) for each in range(len(node.numas))}


def _bytes(amount: float) -> int | str:
    """Whole bytes; recordings contain "nan" if Katalyst divides by zero."""
    return "nan" if isnan(amount) else int(amount)
