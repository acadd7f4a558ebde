"""Details of nodes: CustomNodeResource of Katalyst (topology, pools, metrics), NMNode of Gödel.

Both have the name of their Node. NUMA- and device-aware rules read the zone tree. ``resources`` of
the CustomNodeResource is the pool of reclaimed resources for best-effort pods.
"""

from typing import Final

import msgspec

from stretto.api.types.core import Taint
from stretto.api.wire.meta import NO_TEXTS, Condition, ObjectMeta, Wire
from stretto.api.wire.quantity import Quantity, check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList

RECLAIMED_CPU: Final = "resource.katalyst.kubewharf.io/reclaimed_millicpu"
"""Katalyst's resource of the CPU headroom of a node or a NUMA node, in milli-CPU."""
RECLAIMED_MEMORY: Final = "resource.katalyst.kubewharf.io/reclaimed_memory"
"""Katalyst's resource of the memory headroom of a node or a NUMA node, in bytes."""


class ZoneAttribute(Wire, frozen=True):
    """An attribute of a zone."""

    #: Name; unique in its list.
    name: str
    #: Value.
    value: str = ""


class ResourcePackage(Wire, frozen=True):
    """A part of a node with a standard ratio of cores to memory."""

    #: For example ``x2``: one core to two GiB.
    package_name: str
    #: Its amounts.
    allocatable: ResourceList = NO_AMOUNTS
    #: Attributes.
    attributes: tuple[ZoneAttribute, ...] = ()

    def __post_init__(self) -> None:
        check(self.allocatable, "allocatable")


class ResourcePool(Wire, frozen=True):
    """A part of a node, reserved for one workload."""

    #: Its name.
    pool_name: str
    #: Guaranteed amounts.
    min_allocatable: ResourceList = NO_AMOUNTS
    #: Upper limit with borrowed amounts.
    max_allocatable: ResourceList = NO_AMOUNTS
    #: Attributes.
    attributes: tuple[ZoneAttribute, ...] = ()

    def __post_init__(self) -> None:
        check(self.min_allocatable, "minAllocatable")
        check(self.max_allocatable, "maxAllocatable")


class ZoneResources(Wire, frozen=True):
    """Amounts of a node or of one zone."""

    #: Total amounts.
    capacity: ResourceList = NO_AMOUNTS
    #: Amounts that pods can request.
    allocatable: ResourceList = NO_AMOUNTS
    #: Parts in standard ratios.
    resource_packages: tuple[ResourcePackage, ...] = ()
    #: Parts reserved for workloads.
    resource_pools: tuple[ResourcePool, ...] = ()

    def __post_init__(self) -> None:
        check(self.capacity, "capacity")
        check(self.allocatable, "allocatable")


class ZoneAllocation(Wire, frozen=True):
    """Amounts of one pod in a zone."""

    #: The pod, ``namespace/name/uid``.
    consumer: str
    #: Its amounts.
    requests: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.requests, "requests")


class ZoneSibling(Wire, frozen=True):
    """Another zone of the same level, with its distance."""

    #: Its type.
    type: str
    #: Its name.
    name: str
    #: Attributes of the distance: NUMA distance, kind of GPU link, ...
    attributes: tuple[ZoneAttribute, ...] = ()


class TopologyZone(Wire, frozen=True):
    """A zone of a machine (socket, NUMA node, cache group, GPU, ...), in a tree."""

    #: ``Socket``, ``Numa``, ``L3CacheGroup``, ``GPU``, ``NIC`` or ``Storage``.
    type: str
    #: Unique among its siblings; for a NUMA node its number.
    name: str
    #: Its amounts.
    resources: ZoneResources = ZoneResources()
    #: Attributes.
    attributes: tuple[ZoneAttribute, ...] = ()
    #: Amounts allocated to pods.
    allocations: tuple[ZoneAllocation, ...] = ()
    #: Child zones.
    children: tuple["TopologyZone", ...] = ()
    #: Sibling zones.
    siblings: tuple[ZoneSibling, ...] = ()


class CnrTaint(Taint, frozen=True):
    """A taint that applies to pods of one QoS level."""

    #: ``reclaimed_cores``, ``shared_cores``, ``dedicated_cores`` or ``system_cores``.
    qos_level: str = ""


class NodeResourceProperty(Wire, frozen=True):
    """A property of a node."""

    #: Name, such as ``numa`` or ``cpu_flags``.
    property_name: str
    #: Values as strings.
    property_values: tuple[str, ...] = ()
    #: Value as a quantity.
    property_quantity: Quantity | None = None

    def __post_init__(self) -> None:
        if self.property_quantity is not None:
            check({"propertyQuantity": self.property_quantity}, "")


class CnrSpec(Wire, frozen=True):
    """Properties and taints of a node."""

    #: Properties.
    node_resource_properties: tuple[NodeResourceProperty, ...] = ()
    #: Taints.
    taints: tuple[CnrTaint, ...] = ()


class Usage(Wire, frozen=True):
    """Actual usage."""

    #: CPU in cores.
    cpu: Quantity | None = None
    #: Memory in bytes.
    memory: Quantity | None = None

    def __post_init__(self) -> None:
        reported = {"cpu": self.cpu, "memory": self.memory}
        check({name: used for name, used in reported.items() if used is not None}, "")


class NumaUsage(Wire, frozen=True):
    """Usage of one NUMA node."""

    #: Its number.
    numa_id: int
    #: Its usage.
    usage: Usage | None = None


class NodeUsage(Wire, frozen=True):
    """Usage of a machine."""

    #: Usage by NUMA node.
    numa_usage: tuple[NumaUsage, ...] = ()
    #: Total usage.
    generic_usage: Usage | None = None
    #: Percent of the last minute in which some task waited, by resource; a field of Stretto only.
    pressure: dict[str, str] = NO_TEXTS
    #: Bytes per second on block devices; a field of Stretto only.
    io_bytes_per_second: Quantity | None = None


class GroupUsage(Wire, frozen=True):
    """Usage of the pods of one QoS level."""

    #: The QoS level; its first two words are in capitals on the wire.
    qos_level: str = msgspec.field(name="QoSLevel", default="")
    #: Usage by NUMA node.
    numa_usage: tuple[NumaUsage, ...] = ()
    #: Total usage.
    generic_usage: Usage | None = None
    #: Measured pods, ``namespace/name``; a missing pod is not measured yet.
    pod_list: tuple[str, ...] = ()


class CnrMetricStatus(Wire, frozen=True):
    """Measured usage of a machine."""

    #: RFC 3339 time of the measurement.
    update_time: str | None = None
    #: Usage of the machine.
    node_metric: NodeUsage | None = None
    #: Usage by QoS level.
    group_metric: tuple[GroupUsage, ...] = ()


class CnrStatus(Wire, frozen=True):
    """Report of a node agent."""

    #: The pool of reclaimed resources, for best-effort pods.
    resources: ZoneResources = ZoneResources()
    #: Policy for alignment of pods with NUMA nodes.
    topology_policy: str = ""
    #: Zones of the machine, one tree per socket.
    topology_zone: tuple[TopologyZone, ...] = ()
    #: Measured usage.
    node_metric_status: CnrMetricStatus | None = None
    #: Conditions, such as ``AgentReady``.
    conditions: tuple[Condition, ...] = ()


class CustomNodeResource(Wire, frozen=True):
    """Description by Katalyst of the node of the same name."""

    #: Identity.
    metadata: ObjectMeta
    #: Properties and taints.
    spec: CnrSpec = CnrSpec()
    #: Report.
    status: CnrStatus = CnrStatus()


class NmNodeSpec(Wire, frozen=True):
    """Desired state of a node."""

    #: Taints.
    taints: tuple[Taint, ...] = ()


class MachineStatus(Wire, frozen=True):
    """Load of a machine."""

    #: Load average of the last minute.
    load_avg_last_m: int | float | None = None


class NmNodeStatus(Wire, frozen=True):
    """Report of the node manager of Gödel."""

    #: Total amounts.
    resource_capacity: ResourceList = NO_AMOUNTS
    #: Amounts that its pods can request.
    resource_allocatable: ResourceList = NO_AMOUNTS
    #: Readiness of the node, as text.
    node_status: str = ""
    #: Conditions.
    node_condition: tuple[Condition, ...] = ()
    #: Load of the machine.
    machine_status: MachineStatus | None = None

    def __post_init__(self) -> None:
        check(self.resource_capacity, "resourceCapacity")
        check(self.resource_allocatable, "resourceAllocatable")


class NmNode(Wire, frozen=True):
    """Second manager (of Gödel) of the node of the same name."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: NmNodeSpec = NmNodeSpec()
    #: Report.
    status: NmNodeStatus = NmNodeStatus()
