"""The measured status of a node, and what of it may be loaned to reclaimed pods."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.agent.report.pods import SHARED, NodePod
from stretto.agent.usage.machine import MachineUse
from stretto.api.types.cnr import (
    CnrMetricStatus,
    CnrStatus,
    GroupUsage,
    NodeUsage,
    TopologyZone,
    Usage,
    ZoneResources,
)
from stretto.api.wire.meta import Condition
from stretto.api.wire.quantity import format_milli, format_value, value
from stretto.api.wire.resources import ResourceList
from stretto.base.clock import timestamp
from stretto.capacity.headroom.cpu import CpuContainer, cpu_headroom

CPU_STEP: Final = 10
"""Milli-CPU to which use is rounded: smaller changes are noise and cause no write."""
MEMORY_STEP: Final = 16 << 20
"""Bytes to which use is rounded."""
OWNERS: Final = (SHARED, "dedicated_cores")
"""QoS levels of pods whose unused cores may be loaned."""


class HeadroomRules(msgspec.Struct, frozen=True):
    """What may be loaned."""

    #: Cores kept free for pods that start.
    reserved_cores: float = 1.0
    #: Share of free memory that may be loaned.
    memory_share: float = 0.6


DEFAULT_RULES: Final = HeadroomRules()
"""One core is kept free; a part of the free memory is not loaned, for page caches."""


def node_status(
    zones: tuple[TopologyZone, ...],
    use: MachineUse,
    pods: Mapping[str, NodePod],
    wall_s: float,
    rules: HeadroomRules = DEFAULT_RULES,
) -> CnrStatus:
    """The status of a report.

    Args:
        zones: the tree of zones.
        use: measured use.
        pods: pods of the node by uid; a cgroup of another pod is left out.
        wall_s: time of the measurement, in seconds since 1970.
        rules: what may be loaned.
    """
    cores, memory = _whole(zones)
    metric = CnrMetricStatus(
        timestamp(wall_s),
        NodeUsage(generic_usage=_usage(use.cpu, use.memory)),
        tuple(_group(level, use, pods) for level in sorted({each.level for each in pods.values()})),
    )
    pool = ZoneResources(allocatable=_headroom(cores, memory, use, pods, rules))
    ready = Condition("AgentReady", "True", reason="Reporting", message="the agent reports")
    return CnrStatus(pool, topology_zone=zones, node_metric_status=metric, conditions=(ready,))


def _whole(zones: tuple[TopologyZone, ...]) -> tuple[int, int]:
    """Processors and bytes of all NUMA nodes."""
    numas = [numa for socket in zones for numa in socket.children if numa.type == "Numa"]
    cores = sum(int(str(numa.resources.capacity.get("cpu", 0))) for numa in numas)
    memory = sum(value(numa.resources.capacity.get("memory", 0), "memory") for numa in numas)
    return cores, memory


def _headroom(
    cores: int, memory: int, use: MachineUse, pods: Mapping[str, NodePod], rules: HeadroomRules
) -> ResourceList:
    """Cores that pods are not expected to need, and a share of the free memory."""
    owners = [
        CpuContainer(pod.cores, measured.cpu if (measured := use.pods.get(uid)) else 0.0)
        for uid, pod in pods.items()
        if pod.level in OWNERS
    ]
    loaned = cpu_headroom(cores, owners, rules.reserved_cores)
    free = max(memory - use.memory, 0) * rules.memory_share
    return {
        "cpu": format_milli(_step(1000 * loaned, CPU_STEP)),
        "memory": format_value(_step(free, MEMORY_STEP)),
    }


def _group(level: str, use: MachineUse, pods: Mapping[str, NodePod]) -> GroupUsage:
    """Use of the pods of one QoS level that are measured."""
    uids = [uid for uid, pod in pods.items() if pod.level == level and uid in use.pods]
    cpu = sum(use.pods[uid].cpu for uid in uids)
    memory = sum(use.pods[uid].memory for uid in uids)
    names = tuple(sorted(pods[uid].key for uid in uids))
    return GroupUsage(level, generic_usage=_usage(cpu, memory), pod_list=names)


def _usage(cpu: float, memory: float) -> Usage:
    return Usage(
        format_milli(_step(1000 * cpu, CPU_STEP)), format_value(_step(memory, MEMORY_STEP))
    )


def _step(amount: float, step: int) -> int:
    return round(amount / step) * step
