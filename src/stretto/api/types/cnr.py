"""Nodes in depth: Katalyst's CustomNodeResource (topology, pools, metrics) and Gödel's NMNode.

Both bear the name of the Node they describe. The zone tree is what NUMA- and device-aware rules
read; ``resources`` of the CNR is the pool of reclaimed resources for best-effort pods.
"""

import msgspec

from stretto.api.types.core import Taint
from stretto.api.wire.meta import Condition, ObjectMeta, Wire
from stretto.api.wire.quantity import Quantity, check
from stretto.api.wire.resources import NO_AMOUNTS, ResourceList


class ZoneAttribute(Wire, frozen=True):
    """A fact about a zone."""

    #: Name; unique in its list.
    name: str
    #: Value.
    value: str = ""


class ResourcePackage(Wire, frozen=True):
    """A part of a node, cut in a standard ratio of cores to memory."""

    #: For example ``x2``: one core to two GiB.
    package_name: str
    #: What it holds.
    allocatable: ResourceList = NO_AMOUNTS
    #: Facts about it.
    attributes: tuple[ZoneAttribute, ...] = ()

    def __post_init__(self) -> None:
        check(self.allocatable, "allocatable")


class ResourcePool(Wire, frozen=True):
    """A part of a node, kept for one workload."""

    #: Its name.
    pool_name: str
    #: What it always has.
    min_allocatable: ResourceList = NO_AMOUNTS
    #: What it may borrow up to.
    max_allocatable: ResourceList = NO_AMOUNTS
    #: Facts about it.
    attributes: tuple[ZoneAttribute, ...] = ()

    def __post_init__(self) -> None:
        check(self.min_allocatable, "minAllocatable")
        check(self.max_allocatable, "maxAllocatable")


class ZoneResources(Wire, frozen=True):
    """What a node or one zone of it has."""

    #: All it has.
    capacity: ResourceList = NO_AMOUNTS
    #: What pods may have of it.
    allocatable: ResourceList = NO_AMOUNTS
    #: Parts in standard ratios.
    resource_packages: tuple[ResourcePackage, ...] = ()
    #: Parts kept for workloads.
    resource_pools: tuple[ResourcePool, ...] = ()

    def __post_init__(self) -> None:
        check(self.capacity, "capacity")
        check(self.allocatable, "allocatable")


class ZoneAllocation(Wire, frozen=True):
    """What one pod holds in a zone."""

    #: The pod, ``namespace/name/uid``.
    consumer: str
    #: What it holds.
    requests: ResourceList = NO_AMOUNTS

    def __post_init__(self) -> None:
        check(self.requests, "requests")


class ZoneSibling(Wire, frozen=True):
    """Another zone of the same level, and how far it is."""

    #: Its type.
    type: str
    #: Its name.
    name: str
    #: NUMA distance, kind of GPU link, ...
    attributes: tuple[ZoneAttribute, ...] = ()


class TopologyZone(Wire, frozen=True):
    """A socket, a NUMA node, a cache group, a GPU, ...: a part of a machine, in a tree."""

    #: ``Socket``, ``Numa``, ``L3CacheGroup``, ``GPU``, ``NIC`` or ``Storage``.
    type: str
    #: Unique among its siblings; for a NUMA node its number.
    name: str
    #: What it has.
    resources: ZoneResources = ZoneResources()
    #: Facts about it.
    attributes: tuple[ZoneAttribute, ...] = ()
    #: What pods hold of it.
    allocations: tuple[ZoneAllocation, ...] = ()
    #: The zones inside.
    children: tuple["TopologyZone", ...] = ()
    #: The zones beside.
    siblings: tuple[ZoneSibling, ...] = ()


class CnrTaint(Taint, frozen=True):
    """A taint that speaks to pods of one quality of service only."""

    #: ``reclaimed_cores``, ``shared_cores``, ``dedicated_cores`` or ``system_cores``.
    qos_level: str = ""


class NodeResourceProperty(Wire, frozen=True):
    """A fact about a node."""

    #: Name, such as ``numa`` or ``cpu_flags``.
    property_name: str
    #: Words.
    property_values: tuple[str, ...] = ()
    #: Or a number.
    property_quantity: Quantity | None = None

    def __post_init__(self) -> None:
        if self.property_quantity is not None:
            check({"propertyQuantity": self.property_quantity}, "")


class CnrSpec(Wire, frozen=True):
    """What is known and wanted of a node."""

    #: Facts.
    node_resource_properties: tuple[NodeResourceProperty, ...] = ()
    #: Taints.
    taints: tuple[CnrTaint, ...] = ()


class Usage(Wire, frozen=True):
    """What is really used."""

    #: Cores.
    cpu: Quantity | None = None
    #: Bytes.
    memory: Quantity | None = None

    def __post_init__(self) -> None:
        told = {"cpu": self.cpu, "memory": self.memory}
        check({name: used for name, used in told.items() if used is not None}, "")


class NumaUsage(Wire, frozen=True):
    """What is used of one NUMA node."""

    #: Its number.
    numa_id: int
    #: What is used.
    usage: Usage | None = None


class NodeUsage(Wire, frozen=True):
    """What is used of a machine."""

    #: By NUMA node.
    numa_usage: tuple[NumaUsage, ...] = ()
    #: Of the whole.
    generic_usage: Usage | None = None


class GroupUsage(Wire, frozen=True):
    """What the pods of one quality of service use."""

    #: The quality of service; two capitals on the wire.
    qos_level: str = msgspec.field(name="QoSLevel", default="")
    #: By NUMA node.
    numa_usage: tuple[NumaUsage, ...] = ()
    #: Of the whole.
    generic_usage: Usage | None = None
    #: The pods in it, ``namespace/name``; a pod that is missing is not measured yet.
    pod_list: tuple[str, ...] = ()


class CnrMetricStatus(Wire, frozen=True):
    """Measurements of a machine."""

    #: RFC 3339 time of the measurement.
    update_time: str | None = None
    #: Of the machine.
    node_metric: NodeUsage | None = None
    #: By quality of service.
    group_metric: tuple[GroupUsage, ...] = ()


class CnrStatus(Wire, frozen=True):
    """What a node agent reports."""

    #: The pool of reclaimed resources, for best-effort pods.
    resources: ZoneResources = ZoneResources()
    #: How strictly pods must keep to one NUMA node.
    topology_policy: str = ""
    #: The machine's zones, a forest of sockets.
    topology_zone: tuple[TopologyZone, ...] = ()
    #: Measurements.
    node_metric_status: CnrMetricStatus | None = None
    #: Aspects, such as ``AgentReady``.
    conditions: tuple[Condition, ...] = ()


class CustomNodeResource(Wire, frozen=True):
    """Katalyst's description of the node of the same name."""

    #: Identity.
    metadata: ObjectMeta
    #: What is known and wanted.
    spec: CnrSpec = CnrSpec()
    #: What is reported.
    status: CnrStatus = CnrStatus()


class NmNodeSpec(Wire, frozen=True):
    """What is wanted of a node."""

    #: Taints.
    taints: tuple[Taint, ...] = ()


class MachineStatus(Wire, frozen=True):
    """Load of a machine."""

    #: Load average of the last minute.
    load_avg_last_m: int | float | None = None


class NmNodeStatus(Wire, frozen=True):
    """What Gödel's node manager reports."""

    #: All it has.
    resource_capacity: ResourceList = NO_AMOUNTS
    #: What its pods may have.
    resource_allocatable: ResourceList = NO_AMOUNTS
    #: Whether it is ready.
    node_status: str = ""
    #: Aspects.
    node_condition: tuple[Condition, ...] = ()
    #: Load.
    machine_status: MachineStatus | None = None

    def __post_init__(self) -> None:
        check(self.resource_capacity, "resourceCapacity")
        check(self.resource_allocatable, "resourceAllocatable")


class NmNode(Wire, frozen=True):
    """Gödel's second manager of the node of the same name."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted.
    spec: NmNodeSpec = NmNodeSpec()
    #: What is reported.
    status: NmNodeStatus = NmNodeStatus()
