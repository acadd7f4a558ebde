"""Recorded results of Katalyst's overcommit, by ``capacity.overcommit`` and ``models.katalyst``."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.wire import quantity
from stretto.api.wire.quantity import Notation
from stretto.base.errors import InputError
from stretto.capacity.overcommit.configured import read_ratio
from stretto.capacity.overcommit.floats import parse_float
from stretto.capacity.overcommit.measured import LoadTargets, measured_ratio
from stretto.state.rows.promises import amplified
from stretto_lab.models.katalyst.admission import (
    ContainerCpu,
    NodeAdmission,
    OvercommittedNode,
    PodCpu,
    admit,
    pod_cpu,
)
from stretto_lab.models.katalyst.ratios import (
    ContainerUse,
    effective_ratio,
    pod_cpu_request,
    pod_cpu_use,
    pod_memory_use,
    reported_ratio,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""

STATIC: Final = "static"
"""The CPU manager with exclusive cores; the memory manager is spelled with a capital."""
PLACES: Final = 9
"""Decimal places of recorded ratios."""
NANO: Final = 10**9
"""Billionths in a unit."""
UNITS: Final = {"cpu": NANO // 1000, "memory": NANO}
"""Billionths in the unit that Katalyst multiplies: milli-CPU and bytes."""
INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""Integers of Go in 64 bits."""


class MeasuredContainer(msgspec.Struct, frozen=True):
    """A container with its metrics."""

    #: Requested milli-CPU.
    cpu_milli: int = 0
    #: Requested bytes.
    memory: int = 0
    #: Readings by name.
    metrics: Mapping[str, float] = {}

    @property
    def use(self) -> ContainerUse:
        """The readings."""
        get = self.metrics.get
        return ContainerUse(get("cpu_usage"), get("load_1m"), get("load_5m"), get("rss"))


class MeasuredPod(msgspec.Struct, frozen=True):
    """A pod with its metrics."""

    #: Containers.
    containers: tuple[MeasuredContainer, ...]
    #: Its init container.
    init: MeasuredContainer = MeasuredContainer()

    @property
    def cpu_request(self) -> float:
        """Requested cores."""
        each = [one.cpu_milli for one in self.containers]
        return pod_cpu_request(each, self.init.cpu_milli) / 1000

    @property
    def memory_request(self) -> int:
        """Requested bytes."""
        return max(sum(each.memory for each in self.containers), self.init.memory)


class OvercommitRatioInput(msgspec.Struct, frozen=True):
    """The input of ``kc_overcommit_ratio``."""

    #: Cores of the node.
    capacity_cores: int
    #: Bytes of the node.
    capacity_memory: int
    #: Target load of the node.
    target_cpu_load: float
    #: Target load of the node.
    target_memory_load: float
    #: Minimum load of a pod.
    pod_cpu_load: float
    #: Minimum load of a pod.
    pod_memory_load: float
    #: Pods.
    pods: tuple[MeasuredPod, ...]
    #: CPU that is not allocatable.
    reserved_cpu: str = "0"
    #: Memory that is not allocatable.
    reserved_memory: str = "0"
    #: Configured ratios.
    annotations: Mapping[str, str] = {}


def ratio(given: Fields) -> Fields:
    """``kc_overcommit_ratio``: the measured ratios of a node."""
    node = msgspec.convert(given, OvercommitRatioInput)
    cores = node.capacity_cores - quantity.milli(node.reserved_cpu, "reserved_cpu") / 1000
    memory = node.capacity_memory - quantity.value(node.reserved_memory, "reserved_memory")
    uses = [[each.use for each in pod.containers] for pod in node.pods]
    cpu = measured_ratio(
        cores,
        sum(pod.cpu_request for pod in node.pods),
        sum(map(pod_cpu_use, uses)),
        LoadTargets(node.target_cpu_load, node.pod_cpu_load),
    )
    bytes_ = measured_ratio(
        memory,
        sum(pod.memory_request for pod in node.pods),
        sum(map(pod_memory_use, uses)),
        LoadTargets(node.target_memory_load, node.pod_memory_load),
    )
    static = node.annotations.get
    return {
        "realtime_cpu": round(cpu, PLACES),
        "realtime_memory": round(bytes_, PLACES),
        "reported_cpu": round(reported_ratio(read_ratio(static("cpu_ratio")), cpu), PLACES),
        "reported_memory": round(
            reported_ratio(read_ratio(static("memory_ratio")), bytes_), PLACES
        ),
    }


class OvercommitNodeInput(msgspec.Struct, frozen=True):
    """The input of ``kc_overcommit_node``."""

    #: Annotations of the node.
    node_annotations: Mapping[str, str] = {}
    #: Configured ratios by resource.
    config_ratio: Mapping[str, str] = {}
    #: Values of the CNR; without a CNR, the annotations of the node are kept.
    cnr: Mapping[str, str] | None = None


def node_values(given: Fields) -> Fields:
    """``kc_overcommit_node``: the annotations of an overcommitted node."""
    node = msgspec.convert(given, OvercommitNodeInput)
    had = node.node_annotations
    found: Fields = {key: had[key] for key in had if not key.startswith("overcommit_")}
    for resource in ("cpu", "memory"):
        static = node.config_ratio.get(resource, "1")
        key = f"realtime_{resource}_ratio"
        found.pop(key, None)
        measured = (had if node.cnr is None else node.cnr).get(key)
        if measured is not None:
            found[key] = measured
        effective = effective_ratio(static, measured)
        found |= {f"{resource}_ratio": static, f"effective_{resource}": effective}
        guaranteed = _guaranteed_cores(node.cnr or {}) if resource == "cpu" else 0
        found |= _overcommitted(had, resource, guaranteed, effective)
    return found


def _guaranteed_cores(cnr: Mapping[str, str]) -> int:
    """Exclusive cores; 0 for an unreadable number."""
    text = cnr.get("guaranteed_cpus", "")
    known = cnr.get("cpu_manager") == STATIC and INTEGER.fullmatch(text)
    return int(text) if known else 0


def _overcommitted(
    had: Mapping[str, str], resource: str, guaranteed: int, effective: float
) -> Fields:
    """Allocatable amount and capacity after overcommit; empty if one of them is unreadable."""
    try:
        return {
            f"overcommit_{field}_{resource}": _amplified(
                had.get(f"original_{field}_{resource}", ""), guaranteed, effective, UNITS[resource]
            )
            for field in ("allocatable", "capacity")
        }
    except InputError:
        return {}


def _amplified(text: str, guaranteed: int, effective: float, unit: int) -> str:
    """An amount after overcommit, in the notation of the original; zero is decimal.

    Args:
        text: original amount.
        guaranteed: its part in exclusive use, in whole units.
        effective: the ratio.
        unit: billionths in the unit to which Katalyst rounds an amount, away from zero.
    """
    original, notation = quantity.nano(text, "original"), quantity.notation_of(text)
    exclusive = guaranteed * NANO
    shared = original - exclusive
    if effective > 1 and shared:
        rounded = -(-shared // unit) if shared > 0 else shared // unit
        fixed = exclusive // unit
        shared = (amplified(rounded + fixed, fixed, effective) - fixed) * unit
    if not original or not shared or (abs(original) < NANO and notation is Notation.BINARY):
        notation = Notation.DECIMAL
    return quantity.format_nano(shared + exclusive, notation)


class FilterContainer(msgspec.Struct, frozen=True):
    """A container of a pod on an overcommitted node."""

    #: Requested milli-CPU.
    cpu_milli: int = 0
    #: Requested bytes.
    memory: int = 0
    #: True if limits equal requests.
    limits_equal: bool = False

    @property
    def cpu(self) -> ContainerCpu:
        """Its CPU; guaranteed if it requests CPU and memory and both limits equal the requests."""
        return ContainerCpu(
            self.cpu_milli, self.limits_equal and 0 not in (self.cpu_milli, self.memory)
        )


class FilterPod(msgspec.Struct, frozen=True):
    """A pod on an overcommitted node."""

    #: Containers.
    containers: tuple[FilterContainer, ...]
    #: Init containers.
    init_containers: tuple[FilterContainer, ...] = ()
    #: Overhead of its runtime.
    overhead_cpu_milli: int = 0

    @property
    def cpu(self) -> PodCpu:
        """Its CPU."""
        main = [each.cpu for each in self.containers]
        return pod_cpu(main, [each.cpu for each in self.init_containers], self.overhead_cpu_milli)


class OvercommitFilterInput(msgspec.Struct, frozen=True):
    """The input of ``kc_overcommit_filter``."""

    #: The pod.
    pod: FilterPod
    #: Allocatable milli-CPU of the node.
    allocatable_cpu_milli: int
    #: Pods on the node.
    existing: tuple[FilterPod, ...] = ()
    #: CPU before overcommit.
    original_allocatable_cpu: str = ""
    #: Configured ratio.
    cpu_ratio: str | None = None
    #: Configured ratio.
    memory_ratio: str | None = None
    #: Measured ratio.
    realtime_cpu_ratio: str | None = None
    #: Measured ratio.
    realtime_memory_ratio: str | None = None
    #: CPU manager of the node.
    cpu_manager: str = ""
    #: Memory manager of the node.
    memory_manager: str = ""
    #: True if the scheduler does not know the node.
    node_unknown: bool = False

    @property
    def is_readable(self) -> bool:
        """True if Katalyst's filter could read the configured ratios."""
        return all(
            text is None or parse_float(text) is not None
            for text in (self.cpu_ratio, self.memory_ratio)
        )

    def node(self) -> OvercommittedNode | None:
        """The node; ``None`` if the CPU before overcommit is necessary and cannot be read."""
        ratio = effective_ratio(self.cpu_ratio, self.realtime_cpu_ratio)
        memory = effective_ratio(self.memory_ratio, self.realtime_memory_ratio)
        pins, pins_memory = self.cpu_manager == STATIC, self.memory_manager.lower() == STATIC
        original = 0
        if pins and ratio > 1 and not (pins_memory and memory > 1):
            text = self.original_allocatable_cpu or f"{self.allocatable_cpu_milli}m"
            try:
                original = quantity.milli(text, "original_allocatable_cpu")
            except InputError:
                return None
        return OvercommittedNode(ratio, memory, original, pins, pins_memory)


def node_filter(given: Fields) -> Fields:
    """``kc_overcommit_filter``: admission of a pod to an overcommitted node."""
    wanted = msgspec.convert(given, OvercommitFilterInput)
    pod, present = wanted.pod.cpu, [each.cpu for each in wanted.existing]
    return {
        "filter": _filter(wanted, pod, present),
        "guaranteed_cpus": pod.guaranteed,
        "request_milli": pod.shared_milli,
        "node_requested_milli": sum(each.milli for each in present),
    }


def _filter(wanted: OvercommitFilterInput, pod: PodCpu, present: list[PodCpu]) -> str:
    """The status of Katalyst's filter, which is an error for an unreadable value."""
    if not (pod.guaranteed or pod.shared_milli):
        return ""
    if wanted.node_unknown or not wanted.is_readable:
        return "Error"
    node = wanted.node()
    if node is None:
        return "Error"
    admitted = admit(node, present, pod) is NodeAdmission.ADMITTED
    return "" if admitted else "Unschedulable"
