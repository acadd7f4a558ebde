"""Adapter from recorded inputs of Koordinator's node agent to the enforcement functions."""

from collections.abc import Iterator
from typing import Any

import msgspec

from stretto.agent.enforcement import suppression
from stretto.agent.enforcement.eviction import UseLimit
from stretto.agent.enforcement.suppression import CpuUse, EligibleCpus, Processor, Suppression
from stretto.base.errors import InputError
from stretto_lab.models.koordinator import classes, cpusets, eviction
from stretto_lab.models.koordinator.classes import KubeQos
from stretto_lab.models.koordinator.cpusets import (
    BindPolicy,
    Cpu,
    CpuHolding,
    CpuRequest,
    CpuState,
    Exclusive,
    Order,
)
from stretto_lab.models.koordinator.eviction import EvictionRound, MarkedPod, RequestLimit, Trigger
from stretto_lab.models.koordinator.reserved import NodeReservation, listed, reserved

Fields = dict[str, Any]
"""The members of an input or of a result."""


class SuppressedPod(msgspec.Struct, frozen=True):
    """A pod on the node."""

    name: str
    has_requests: bool = False
    qos: str = ""
    used: float = 0
    cpuset: str = ""
    unlisted: bool = False

    def protected(self) -> bool:
        """True if it is not best effort."""
        return self.unlisted or (self.qos != "BE" and self.has_requests)


class HostApp(msgspec.Struct, frozen=True):
    """An application outside pods."""

    name: str
    qos: str = ""
    used: float = 0
    best_effort_cgroup: bool = False

    def protected(self) -> bool:
        """True if it is not best effort."""
        return not (self.qos == "BE" and self.best_effort_cgroup)


class SuppressInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_suppress``."""

    capacity_cpu_milli: int
    allocatable_cpu_milli: int
    threshold_percent: int
    node_used: float
    old_be_quota: int
    min_percent: int | None = None
    pods: tuple[SuppressedPod, ...] = ()
    host_apps: tuple[HostApp, ...] = ()
    processors: tuple[Processor, ...] = ()
    old_be_cpus: tuple[int, ...] = ()
    reserved_annotation: NodeReservation = NodeReservation()
    topology_reserved_cpus: str = ""
    system_qos_cpus: str = ""
    system_qos_not_exclusive: bool = False

    def use(self) -> CpuUse:
        """Usage of the node."""
        kept, _ = reserved(
            {"cpu_milli": self.capacity_cpu_milli},
            {"cpu_milli": self.allocatable_cpu_milli},
            self.reserved_annotation,
        )
        return CpuUse(
            self.node_used,
            sum(each.used for each in self.pods),
            sum(each.used for each in self.pods if each.protected()),
            sum(each.used for each in self.host_apps),
            sum(each.used for each in self.host_apps if each.protected()),
            kept,
        )

    def eligible(self) -> EligibleCpus:
        """CPUs for best-effort pods; if a CPU has several owners, the last one counts."""
        owners = {
            cpu: each.qos for each in self.pods if not each.unlisted for cpu in listed(each.cpuset)
        }
        out = listed(self.topology_reserved_cpus)
        if not self.system_qos_not_exclusive:
            out |= listed(self.system_qos_cpus)
        left = [p for p in self.processors if p.cpu not in out and owners.get(p.cpu) != "LSE"]
        idle = tuple(each for each in left if owners.get(each.cpu) == "LSR")
        return EligibleCpus(idle, tuple(each for each in left if each not in idle))


def suppress(given: Fields) -> Fields:
    """``ko_suppress``: allowance, CPUs and quota of best-effort pods."""
    fields = msgspec.convert(given, SuppressInput)
    rule = Suppression(fields.threshold_percent, fields.min_percent)
    milli = suppression.allowance(fields.capacity_cpu_milli, fields.use(), rule)
    quota = suppression.quota(milli, fields.capacity_cpu_milli, fields.old_be_quota)
    eligible = fields.eligible()
    found = suppression.cpus(milli, eligible, len(fields.old_be_cpus), len(fields.processors))
    result: Fields = {"be_milli": milli, "cpuset": _ranges(found) or None, "quota": quota}
    if not eligible.idle and not eligible.shared:
        result["cpuset"] = "panic"
    return result


def _ranges(cpus: tuple[int, ...]) -> str:
    """A list of CPUs in the form of ``cpuset``."""
    parts: list[list[int]] = []
    for each in cpus:
        if parts and parts[-1][-1] == each - 1:
            parts[-1].append(each)
        else:
            parts.append([each])
    return ",".join(f"{each[0]}-{each[-1]}" if len(each) > 1 else str(each[0]) for each in parts)


class EvictedPod(msgspec.Struct, frozen=True):
    """A pod on the node."""

    name: str
    phase: str = "Running"
    qos: str = ""
    priority_class: str = ""
    priority: int | None = None
    priority_label: str = ""
    eviction_priority: str = ""
    eviction_enabled: str = ""
    eviction_policy: tuple[str, ...] | None = None
    eviction_fails: bool = False
    already_evicted: bool = False
    requests: dict[str, int] = {}
    memory_used: float | None = None

    def pod(self) -> MarkedPod:
        """The pod as input of the model."""
        kube = KubeQos.BURSTABLE if self.requests.get("memory") else KubeQos.BEST_EFFORT
        qos = classes.qos_of(self.qos, kube)
        return MarkedPod(
            self.name,
            self.priority,
            self.memory_used,
            band=classes.band_of(self.priority_class, self.priority, qos),
            best_effort=self.qos == "BE",
            active=self.phase in ("Running", "Pending"),
            enabled=self.eviction_enabled == "true",
            rank=_number(self.eviction_priority) or 0,
            label_priority=_number(self.priority_label),
            triggers=None if self.eviction_policy is None else frozenset(self.eviction_policy),
            requests=self.requests,
        )


class EvictConfig(msgspec.Struct, frozen=True):
    """Thresholds."""

    evict_percent: int | None = None
    lower_percent: int | None = None
    evict_priority_threshold: int | None = None
    allocatable_percent: int | None = None
    allocatable_lower_percent: int | None = None
    allocatable_priority_threshold: int | None = None


class EvictInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_memevict``."""

    features: tuple[str, ...]
    config: EvictConfig
    capacity_memory: int
    allocatable: dict[str, int] = {}
    node_memory_used: float | None = None
    pods: tuple[EvictedPod, ...] = ()

    def rounds(self) -> Iterator[EvictionRound]:
        """The evictions of all active triggers; none on a node without capacity."""
        if self.capacity_memory <= 0:
            return
        config, pods = self.config, [each.pod() for each in self.pods]
        limit = UseLimit(config.evict_percent, config.lower_percent)
        used = self.node_memory_used
        target = 0 if used is None else limit.to_free(used, self.capacity_memory)
        if Trigger.BEST_EFFORT.value in self.features and target:
            yield eviction.best_effort_round(pods, target)
        requests = RequestLimit(
            config.allocatable_percent,
            config.allocatable_lower_percent,
            config.allocatable_priority_threshold,
        )
        wanted = requests.to_free(pods, self.allocatable)
        if Trigger.ALLOCATABLE.value in self.features and wanted:
            yield eviction.allocatable_round(pods, requests.priority or 0, wanted)
        priority = config.evict_priority_threshold
        if Trigger.MEMORY.value in self.features and target and priority is not None:
            yield eviction.memory_round(pods, priority, target)


def evict(given: Fields) -> Fields:
    """``ko_memevict``: evicted pods in order, each with its trigger."""
    fields = msgspec.convert(given, EvictInput)
    pods = {each.name: each for each in fields.pods}
    evicted: list[Fields] = []

    def attempt(name: str, trigger: Trigger) -> bool:
        if pods[name].already_evicted:
            return True
        if pods[name].eviction_fails:
            return False
        evicted.append({"pod": name, "feature": trigger.value})
        return True

    eviction.evict(fields.rounds(), attempt)
    return {"evicted": evicted}


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


class AllocatedCpu(msgspec.Struct, frozen=True):
    """A CPU that is allocated to pods."""

    cpu: int
    ref: int
    exclusive: str = "None"


class CpusetInput(msgspec.Struct, frozen=True):
    """The input of the family ``ko_cpuset``."""

    cpus: tuple[tuple[int, int, int, int], ...]
    max_ref: int
    need: int
    bind: BindPolicy
    numa: Order
    exclusive: str = "None"
    available: tuple[int, ...] = ()
    allocated: tuple[AllocatedCpu, ...] = ()
    preferred: tuple[int, ...] = ()


def cpuset(given: Fields) -> Fields:
    """``ko_cpuset``: the CPUs of a pod."""
    fields = msgspec.convert(given, CpusetInput)
    held = {
        each.cpu: CpuHolding(each.ref, Exclusive(each.exclusive or "None"))
        for each in fields.allocated
    }
    topology = tuple(Cpu(*each) for each in fields.cpus)
    state = CpuState(topology, frozenset(fields.available), held, fields.max_ref)
    exclusive = Exclusive(fields.exclusive or "None")
    request = CpuRequest(fields.need, fields.bind, exclusive, fields.numa)
    try:
        found = cpusets.take(state, request, frozenset(fields.preferred))
    except InputError as error:
        return {"error": str(error)}
    return {"cpuset": sorted(found) or None}
