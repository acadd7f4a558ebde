"""The measured status of a node, and its headroom for reclaimed pods."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.agent.report.pods import NodePod
from stretto.agent.usage.machine import MachineUse
from stretto.api.types.cnr import (
    CnrMetricStatus,
    CnrStatus,
    GroupUsage,
    NodeUsage,
    NumaUsage,
    TopologyZone,
    Usage,
    ZoneResources,
)
from stretto.api.wire.meta import Condition
from stretto.api.wire.quantity import format_milli, format_value, value
from stretto.api.wire.resources import ResourceList
from stretto.base.clock import timestamp
from stretto.capacity.reclaim.reading import HeadroomEstimator, HeadroomReading, OwnerPod
from stretto.state.classes.annotations import RECLAIMED_CORES
from stretto.state.rows.promises import EXCLUSIVE_LEVELS

CPU_STEP: Final = 10
"""Milli-CPU to which use is rounded: smaller changes are noise and cause no write."""
MEMORY_STEP: Final = 16 << 20
"""Bytes to which use is rounded."""
POOL_PODS: Final = 1000
"""Pod slots of the reclaimed pool, more than a node has.

A reclaimed pod uses a slot of the node too, and a scheduler places no pod into a pool without
slots.
"""
PRESSURE_STEP: Final = 5
"""Percent to which pressure is rounded."""
IO_STEP: Final = 4 << 20
"""Bytes per second to which IO is rounded."""


class NodeMeasurement(msgspec.Struct, frozen=True):
    """A node with its pods at one time."""

    #: The tree of zones.
    zones: tuple[TopologyZone, ...]
    #: Measured use.
    use: MachineUse
    #: Pods of the node by uid; cgroups of other pods are ignored.
    pods: Mapping[str, NodePod]
    #: Time of the measurement, in seconds since 1970.
    wall_s: float
    #: Reason why the use of pods cannot be read; empty if it can.
    hidden_use: str = ""

    def reading(self, at_s: float) -> HeadroomReading:
        """Return the input of estimators of the headroom, at a monotonic time in seconds."""
        use, owners, reclaimed = self.use, list[OwnerPod](), [0, 0]
        for uid, pod in self.pods.items():
            found = use.pods.get(uid)
            used = None if found is None else (int(1000 * found.cpu), found.memory)
            if pod.level == RECLAIMED_CORES:
                reclaimed = [a + b for a, b in zip(reclaimed, used or (0, 0), strict=True)]
                continue
            age = max(self.wall_s - pod.created_s, 0.0)
            exclusive = pod.level in EXCLUSIVE_LEVELS
            owners.append(OwnerPod(uid, pod.request, used, age, exclusive))
        cores, memory = _whole(self.zones)
        total = (int(1000 * use.cpu), use.memory)
        loaned = (reclaimed[0], reclaimed[1])
        return HeadroomReading((1000 * cores, memory), total, loaned, tuple(owners), at_s)


def node_status(node: NodeMeasurement, estimator: HeadroomEstimator, at_s: float) -> CnrStatus:
    """The status of a report.

    Args:
        node: the measured node.
        estimator: estimator of the headroom.
        at_s: monotonic time of the measurement.
    """
    use, pods, wall_s = node.use, node.pods, node.wall_s
    metric = CnrMetricStatus(
        timestamp(wall_s),
        NodeUsage(
            tuple(
                NumaUsage(number, _usage(cpu, memory))
                for number, (cpu, memory) in sorted(use.numas.items())
            ),
            _usage(use.cpu, use.memory),
            _pressure(use),
            format_value(_step(use.io_bytes_per_s, IO_STEP)),
        ),
        tuple(_group(level, use, pods) for level in sorted({each.level for each in pods.values()})),
    )
    cpu, memory = estimator.estimate(node.reading(at_s))[:2]
    loaned: ResourceList = {
        "cpu": format_milli(_down(cpu, CPU_STEP)),
        "memory": format_value(_down(memory, MEMORY_STEP)),
        "pods": str(POOL_PODS),
    }
    pool = ZoneResources(allocatable=loaned)
    found = _conditions(node.hidden_use)
    return CnrStatus(pool, topology_zone=node.zones, node_metric_status=metric, conditions=found)


def _conditions(hidden_use: str) -> tuple[Condition, ...]:
    """The conditions of a report: the agent reports, and why the use of pods is missing."""
    ready = Condition("AgentReady", "True", reason="Reporting", message="the agent reports")
    if not hidden_use:
        return (ready,)
    why = f"{hidden_use}: the use of pods is not reported, and no pod is limited"
    return ready, Condition("PodsMeasured", "False", reason="NoCgroupV2", message=why)


def _whole(zones: tuple[TopologyZone, ...]) -> tuple[int, int]:
    """Total number of processors and bytes of memory of all NUMA nodes."""
    numas = [numa for socket in zones for numa in socket.children if numa.type == "Numa"]
    cores = sum(int(str(numa.resources.capacity.get("cpu", 0))) for numa in numas)
    memory = sum(value(numa.resources.capacity.get("memory", 0), "memory") for numa in numas)
    return cores, memory


def _pressure(use: MachineUse) -> dict[str, str]:
    """Percent of the last minute in which some task waited, by resource."""
    return {
        name: f"{_step(percent, PRESSURE_STEP)}%" for name, percent in sorted(use.pressure.items())
    }


def _group(level: str, use: MachineUse, pods: Mapping[str, NodePod]) -> GroupUsage:
    """Measured use of the pods of one QoS level."""
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


def _down(amount: int, step: int) -> int:
    """Round an offered amount down."""
    return amount // step * step
