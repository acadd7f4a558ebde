"""Adapter from recorded inputs of Koordinator's batch and mid resources to the estimators."""

from typing import Any

import msgspec
import numpy as np

from stretto.capacity.model.classes import Band
from stretto.capacity.overcommit.floats import parse_float
from stretto.capacity.reclaim import batch as batches
from stretto.capacity.reclaim import held as holdings
from stretto.capacity.reclaim import mid as mids
from stretto.capacity.reclaim.batch import BatchPolicy, BatchStrategy, NodeSupply
from stretto.capacity.reclaim.held import Amounts, PodTable, Unmeasured
from stretto.capacity.reclaim.mid import MidStrategy, MidSupply
from stretto_lab.models.koordinator import classes, demand
from stretto_lab.models.koordinator.classes import KubeQos, ServiceQos
from stretto_lab.models.koordinator.mid import static
from stretto_lab.models.koordinator.reserved import NodeReservation, reserved
from stretto_lab.models.koordinator.zones import ZonePod, zone_batch

Fields = dict[str, Any]
"""The members of an input or of a result."""

_ACTIVE = ("Running", "Pending")
_ONLINE_ONLY = (Band.MID, Band.BATCH, Band.FREE)
_NOT_HELD = (Band.BATCH, Band.FREE)
_INT64_MIN = -(2**63)


class UseInput(msgspec.Struct, frozen=True):
    """Milli-CPU and bytes; an amount may be missing."""

    #: Milli-CPU.
    cpu_milli: int | None = None
    #: Bytes.
    memory: int | None = None

    def pair(self) -> tuple[int, int]:
        """Both amounts; 0 for a missing one."""
        return self.cpu_milli or 0, self.memory or 0

    def row(self) -> Amounts:
        """Both amounts as one row."""
        return np.array([self.pair()], np.int64)

    def fields(self) -> dict[str, int]:
        """The amounts that are not zero."""
        pairs = zip(("cpu_milli", "memory"), self.pair(), strict=True)
        return {name: amount for name, amount in pairs if amount}


class ReclaimPodInput(msgspec.Struct, frozen=True):
    """A pod on the node."""

    #: Name.
    name: str
    #: Phase.
    phase: str
    #: Requests by container.
    requests: tuple[UseInput, ...]
    #: Label of the QoS class.
    qos: str = ""
    #: Label of the priority band.
    priority_class: str = ""
    #: Priority of the spec.
    priority: int | None = None
    #: Request of the init container.
    init_request: UseInput = UseInput()
    #: Overhead of the runtime.
    overhead: UseInput = UseInput()
    #: NUMA nodes of the pod.
    numa: tuple[int, ...] = ()

    def requested(self) -> tuple[int, int]:
        """Effective request: milli-CPU and bytes."""
        amounts = demand.pod_amounts(
            (each.fields() for each in self.requests), [self.init_request.fields()]
        )
        total = demand.with_overhead(amounts, self.overhead.fields())
        return total.get("cpu_milli", 0), total.get("memory", 0)

    def service_qos(self) -> ServiceQos:
        """The QoS class."""
        requests_any = any(any(each.pair()) for each in (*self.requests, self.init_request))
        return classes.qos_of(self.qos, KubeQos.BURSTABLE if requests_any else KubeQos.BEST_EFFORT)

    def band(self) -> Band:
        """The priority band."""
        return classes.band_of(self.priority_class, self.priority, self.service_qos())


class MeasuredUse(msgspec.Struct, frozen=True):
    """Measured usage of a pod or of an application of the host."""

    #: Name.
    name: str
    #: Usage.
    usage: UseInput
    #: Band in the report.
    priority: str = ""


class NodeMetricInput(msgspec.Struct, frozen=True):
    """The report of a node."""

    #: Seconds since the report; ``None`` for a report without time.
    age_s: float | None = None
    #: Usage of the node.
    node_usage: UseInput = UseInput()
    #: Usage outside pods.
    system_usage: UseInput = UseInput()
    #: Pods.
    pods: tuple[MeasuredUse, ...] = ()
    #: Applications outside pods.
    host_apps: tuple[MeasuredUse, ...] = ()
    #: Requested amounts that the peak prediction reports as unused.
    prod_reclaimable: UseInput = UseInput()

    def system(self, counted: set[Band]) -> Amounts:
        """Usage of the system, and of the host applications in the bands."""
        apps = [each.usage.row() for each in self.host_apps if _app_band(each) in counted]
        total: Amounts = np.sum([self.system_usage.row(), *apps], axis=0)
        return total


class StrategyInput(msgspec.Struct, frozen=True):
    """Parameters, in percent of the capacity and in minutes."""

    cpu_reclaim_percent: int = 60
    memory_reclaim_percent: int = 65
    cpu_policy: str = "usage"
    memory_policy: str = "usage"
    degrade_minutes: int = 15
    batch_cpu_cap_percent: int | None = None
    batch_memory_cap_percent: int | None = None
    mid_cpu_cap_percent: int = 100
    mid_memory_cap_percent: int = 100
    mid_unallocated_percent: int = 0
    mid_mode: str = ""
    mid_static_cpu_percent: int = 0
    mid_static_memory_percent: int = 0

    def batch(self) -> BatchStrategy:
        """Parameters of the batch estimator; ``request`` is not a policy for CPU."""
        cpu, memory = BatchPolicy(self.cpu_policy), BatchPolicy(self.memory_policy)
        return BatchStrategy(
            (self.cpu_reclaim_percent, self.memory_reclaim_percent),
            (BatchPolicy.USAGE if cpu is BatchPolicy.REQUEST else cpu, memory),
            (self.batch_cpu_cap_percent, self.batch_memory_cap_percent),
        )

    def mid(self) -> MidStrategy:
        """Parameters of the mid estimator."""
        caps = self.mid_cpu_cap_percent, self.mid_memory_cap_percent
        return MidStrategy(caps, self.mid_unallocated_percent)


class ZoneInput(msgspec.Struct, frozen=True):
    """A NUMA node."""

    name: str
    cpu_milli: int = 0
    memory: int = 0


class NodeInput(msgspec.Struct, frozen=True):
    """The input of the families ``ko_batch`` and ``ko_mid``."""

    capacity: dict[str, int]
    allocatable: dict[str, int]
    metric: NodeMetricInput
    strategy: StrategyInput = StrategyInput()
    pods: tuple[ReclaimPodInput, ...] = ()
    zones: tuple[ZoneInput, ...] = ()
    reserved_annotation: NodeReservation = NodeReservation()
    cpu_normalization_ratio: str = ""

    def stale(self) -> bool:
        """True if the report is too old to be used."""
        age = self.metric.age_s
        return age is None or age > self.strategy.degrade_minutes * 60

    def supply(self, apps: set[Band]) -> NodeSupply:
        """The node as one row; ``apps`` are the bands of the counted host applications."""
        kept = reserved(self.capacity, self.allocatable, self.reserved_annotation)
        capacity = [[self.capacity.get("cpu_milli", 0), self.capacity.get("memory", 0)]]
        return NodeSupply(np.array(capacity), np.array([kept]), self.metric.system(apps))

    def holding(self) -> list[ReclaimPodInput]:
        """Pods above batch that run or are expected to run."""
        return [p for p in self.pods if p.phase in _ACTIVE and p.band() not in _NOT_HELD]

    def gone(self) -> list[UseInput]:
        """Usage of pods that are measured but not running, above batch in the report.

        The last of several readings of a pod counts.
        """
        names = {each.name for each in self.pods if each.phase in _ACTIVE}
        return [
            each.usage
            for each in {each.name: each for each in self.metric.pods}.values()
            if each.name not in names and classes.band_named(each.priority) not in _NOT_HELD
        ]


def batch(given: Fields) -> Fields:
    """``ko_batch``: batch amounts of the node and its zones, and their published form."""
    node = msgspec.convert(given, NodeInput)
    if node.stale():
        return {"reset": True, "on_node": {}}
    strategy, supply = node.strategy.batch(), node.supply({Band.PROD, Band.MID})
    held = holdings.held(_table(node), 1, Unmeasured.NOTHING)
    cpu, memory = map(int, batches.batch(supply, held, strategy)[0])
    published = {"batch_cpu_milli": _normalized(cpu, node), "batch_memory": memory}
    found: Fields = {"batch_cpu_milli": cpu, "batch_memory": memory, "on_node": published}
    if any(each.cpu_milli or each.memory for each in node.zones):
        found["zones"] = _zones(node, supply, strategy)
    return found


def mid(given: Fields) -> Fields:
    """``ko_mid``: mid amounts of the node."""
    node = msgspec.convert(given, NodeInput)
    if node.stale():
        return {"reset": True}
    supply, strategy = node.supply({Band.PROD}), node.strategy.mid()
    if node.strategy.mid_mode == "static":
        percent = node.strategy.mid_static_cpu_percent, node.strategy.mid_static_memory_percent
        cpu, memory = map(int, static(supply, percent, strategy)[0])
        return {"mid_cpu_milli": cpu, "mid_memory": memory}
    used = node.metric.node_usage
    complete = used.cpu_milli is not None and used.memory is not None
    online = [
        p.requested() for p in node.pods if p.phase in _ACTIVE and p.band() not in _ONLINE_ONLY
    ]
    requested = np.sum([(0, 0), *online], axis=0, keepdims=True)
    whole = used.row() if complete else supply.capacity
    known = MidSupply(node.metric.prod_reclaimable.row(), whole, requested)
    cpu, memory = map(int, mids.mid(supply, known, strategy)[0])
    return {"mid_cpu_milli": cpu, "mid_memory": memory}


def _table(node: NodeInput) -> PodTable:
    pods, gone = node.holding(), node.gone()
    use = {each.name: each.usage.pair() for each in node.metric.pods}
    rows = [(p.requested(), use.get(p.name), p.service_qos() is ServiceQos.LSE) for p in pods]
    rows += [((0, 0), each.pair(), False) for each in gone]
    return PodTable(
        np.zeros(len(rows), np.int64),
        np.array([each[0] for each in rows], np.int64).reshape(-1, 2),
        np.array([each[1] or (0, 0) for each in rows], np.int64).reshape(-1, 2),
        np.array([each[1] is not None for each in rows], bool),
        np.array([each[2] for each in rows], bool),
    )


def _zones(node: NodeInput, supply: NodeSupply, strategy: BatchStrategy) -> Fields:
    capacity = np.array([(each.cpu_milli, each.memory) for each in node.zones], np.int64)
    use = {each.name: each.usage.pair() for each in node.metric.pods}
    pods = [ZonePod((0, 0), each.pair()) for each in node.gone()]
    for pod in node.holding():
        requested = pod.requested()
        used = use.get(pod.name, requested)
        exclusive = pod.service_qos() is ServiceQos.LSE
        pods.append(ZonePod(requested, used, exclusive, pod.numa))
    found = zone_batch(capacity, supply, pods, strategy)
    return {
        zone.name: {"batch_cpu_milli": int(row[0]), "batch_memory": int(row[1])}
        for zone, row in zip(node.zones, found, strict=True)
    }


def _normalized(cpu: int, node: NodeInput) -> int:
    """Milli-CPU of a node whose cores are normalized to more than one; other ratios are ignored.

    The product is truncated to thousandths, in 64 bits like Go on amd64: without bound or number
    it is the smallest integer. The result is rounded away from zero.
    """
    ratio = parse_float(node.cpu_normalization_ratio)
    if ratio is None or not ratio > 1:
        return cpu
    product = cpu * 1000 * ratio
    thousandths = int(product) if abs(product) < -_INT64_MIN else _INT64_MIN
    return thousandths // 1000 if thousandths < 0 else -(-thousandths // 1000)


def _app_band(app: MeasuredUse) -> Band:
    return classes.band_named(app.priority)
