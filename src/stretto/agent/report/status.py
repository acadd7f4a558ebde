"""The measured status of a node, and its headroom for reclaimed pods."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from stretto.agent.report.headroom import (
    CPU_STEP,
    MEMORY_STEP,
    memory_of,
    numa_nodes,
    processors,
    published,
)
from stretto.agent.report.memory import node_memory
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
from stretto.api.wire.quantity import format_milli, format_value
from stretto.base.clock import timestamp
from stretto.capacity.reclaim.reading import HeadroomEstimator, HeadroomReading, OwnerPod
from stretto.framework.profile.capacity.reclaim import ReclaimRules
from stretto.state.classes.annotations import EXCLUSIVE_LEVELS, RECLAIMED_CORES

MOST_NAMED: Final = 3
"""Ignored readings that a condition names."""
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
    #: True if memory was read by NUMA node and by kind.
    is_detailed: bool = False

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
        numas = numa_nodes(self.zones)
        capacity = 1000 * sum(map(processors, numas)), sum(map(memory_of, numas))
        total = (int(1000 * use.cpu), use.memory)
        loaned = (reclaimed[0], reclaimed[1])
        memory = node_memory(use, self.pods) if self.is_detailed else None
        return HeadroomReading(capacity, total, loaned, tuple(owners), at_s, memory)


def node_status(
    node: NodeMeasurement, estimator: HeadroomEstimator, rules: ReclaimRules, at_s: float
) -> CnrStatus:
    """The status of a report.

    Args:
        node: the measured node.
        estimator: estimator of the headroom.
        rules: rules of the headroom.
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
    estimate = estimator.estimate(node.reading(at_s))
    pool, zones = published(estimate, node.zones, rules)
    found = tuple(_conditions(node.hidden_use, estimate.ignored))
    return CnrStatus(
        ZoneResources(allocatable=pool),
        topology_zone=zones,
        node_metric_status=metric,
        conditions=found,
    )


def _conditions(hidden_use: str, ignored: Sequence[str]) -> Iterator[Condition]:
    """The conditions of a report: the agent reports, and which readings are missing or ignored."""
    yield Condition("AgentReady", "True", reason="Reporting", message="the agent reports")
    if hidden_use:
        why = f"{hidden_use}: the use of pods is not reported, and no pod is limited"
        yield Condition("PodsMeasured", "False", reason="NoCgroupV2", message=why)
    if ignored:
        more = f"; and {len(ignored) - MOST_NAMED} more" if len(ignored) > MOST_NAMED else ""
        why = f"{len(ignored)} ignored: {'; '.join(ignored[:MOST_NAMED])}{more}"
        yield Condition("MemoryConsistent", "False", reason="ReadingsIgnored", message=why)


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
