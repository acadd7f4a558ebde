"""The usage of the pods of a one-pool day, and the reports of the node agents.

A pod of a job repeats the usage of a measured machine from a drawn moment on, as a share of its
request. The replicas of a service share the load of the service: at the number of replicas that the
load requires, each replica uses ``REPLICA_USE`` of its request. If the pods of a node demand more
CPU than the node has, the pods with the lowest priority are throttled first. Memory usage equals
the requests.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from stretto.agent.report.headroom import POOL_PODS
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import timestamp
from stretto.capacity.reclaim.reading import HeadroomEstimator, HeadroomReading, OwnerPod
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.measured_use import FULL, STEP_S
from stretto.sim.writes import require_accepted
from stretto.stores.store import Patch, Store
from stretto_lab.studies.one_pool.ledger import TICK_S, DiurnalService

REPLICA_USE: Final = 0.6
"""Share of its request that a replica uses at its target; a usual value for an autoscaler."""
MIB: Final = 1 << 20


class DayUseSample(msgspec.Struct, frozen=True):
    """CPU of all nodes at one tick, in cores."""

    #: The tick.
    tick: int
    #: Usage by queue, after throttling.
    used: dict[str, float]
    #: Missing CPU of pods by queue.
    throttled: dict[str, float]


class _Running(msgspec.Struct, eq=False, gc=False):
    """A pod on a node."""

    queue: str
    shape: FleetPod
    node: int
    since: int
    service: int
    series: Sequence[int]
    offset: int


NodePodUse = tuple[str, _Running, float]
"""A pod on a node: its name, the pod, and the milli-CPU that it demands."""


class DayUse:
    """Follows the pods of a day, and writes a report of each node at every sample."""

    def __init__(
        self,
        nodes: Sequence[FleetNode],
        services: Sequence[DiurnalService],
        series: Sequence[Sequence[int]],
        draw: np.random.Generator,
        agents: "ReportingAgents | None" = None,
    ) -> None:
        """Follow the pods on these nodes.

        Args:
            nodes: the machines.
            services: the services, whose curves are their loads.
            series: measured usage in thousandths; each pod repeats one series.
            draw: draws series and moments.
            agents: write the reports; ``None`` for no reports.
        """
        #: One entry for each sample.
        self.samples: list[DayUseSample] = []
        self._nodes, self._services, self._series = nodes, services, series
        self._number = {node.name: number for number, node in enumerate(nodes)}
        self._draw = draw
        self._agents = agents
        self._pods: dict[str, _Running] = {}

    def started(self, name: str, pod: tuple[str, FleetPod, int], node: str, tick: int) -> None:
        """Record the start of a pod; ``pod``: its queue, request and service, -1 for none."""
        queue, shape, service = pod
        series = self._series[int(self._draw.integers(len(self._series)))]
        offset = int(self._draw.integers(len(series)))
        number = self._number[node]
        self._pods[name] = _Running(queue, shape, number, tick, service, series, offset)

    def ended(self, name: str) -> None:
        """Record the end of a pod."""
        self._pods.pop(name, None)

    def sample(self, tick: int, now: float, store: Store) -> None:
        """Measure all nodes, and write their reports."""
        found: list[list[NodePodUse]] = [[] for _ in self._nodes]
        shares = self._service_shares(tick)
        for name, pod in self._pods.items():
            found[pod.node].append((name, pod, self._wants(pod, tick, shares)))
        used: dict[str, float] = defaultdict(float)
        throttled: dict[str, float] = defaultdict(float)
        for number, node in enumerate(self._nodes):
            given = _given(found[number], float(node.cpu_milli))
            for _, pod, wants in found[number]:
                used[pod.queue] += wants
            for queue, lacks in given.items():
                used[queue] -= lacks
                throttled[queue] += lacks
        if self._agents is not None:
            self._agents.report(found, tick, now, store)
        self.samples.append(
            DayUseSample(
                tick,
                {queue: milli / 1000 for queue, milli in used.items()},
                {queue: milli / 1000 for queue, milli in throttled.items()},
            )
        )

    def _service_shares(self, tick: int) -> list[float]:
        """Return the share of its request that a replica of each service uses."""
        running = Counter(pod.service for pod in self._pods.values() if pod.service >= 0)
        return [
            REPLICA_USE * _needed(service, tick) / max(running[number], 1)
            for number, service in enumerate(self._services)
        ]

    def _wants(self, pod: _Running, tick: int, shares: Sequence[float]) -> float:
        """Return the milli-CPU that a pod demands."""
        if pod.service >= 0:
            return pod.shape.cpu_milli * min(shares[pod.service], 1.0)
        step = pod.offset + (tick - pod.since) * TICK_S // STEP_S
        return pod.shape.cpu_milli * pod.series[step % len(pod.series)] / FULL


class ReportingAgents:
    """The agents of all nodes, which report usage and pools of reclaimed resources."""

    def __init__(
        self, nodes: Sequence[FleetNode], estimators: Sequence[HeadroomEstimator] = ()
    ) -> None:
        """Create an agent for each node, with an estimator of its pool if there are any."""
        self._nodes, self._estimators = nodes, estimators
        self._written = False

    def report(
        self, pods: Sequence[Sequence[NodePodUse]], tick: int, now: float, store: Store
    ) -> None:
        """Write one report of each node; ``pods`` contains the pods of each node."""
        named = [
            (node.name, self._status(number, pods[number], tick, now))
            for number, node in enumerate(self._nodes)
        ]
        if self._written:
            patches = [Patch("", name, {"status": status}) for name, status in named]
            require_accepted(store.patch_status(CUSTOM_NODE_RESOURCE, patches))
            return
        self._written = True
        bodies = [
            msgspec.json.encode({"metadata": {"name": name}, "status": status})
            for name, status in named
        ]
        require_accepted(store.create(CUSTOM_NODE_RESOURCE, bodies))

    def _status(
        self, number: int, pods: Sequence[NodePodUse], tick: int, now: float
    ) -> dict[str, object]:
        """Return the status of a node in the report of its agent."""
        node = self._nodes[number]
        cpu = min(int(sum(wants for _, _, wants in pods)), node.cpu_milli)
        memory = sum(pod.shape.memory_mib for _, pod, _ in pods) * MIB
        use = {"cpu": f"{cpu}m", "memory": str(memory)}
        metric = {"updateTime": timestamp(now), "nodeMetric": {"genericUsage": use}}
        status: dict[str, object] = {"nodeMetricStatus": metric}
        if self._estimators:
            pool = self._estimators[number].estimate(_reading(node, pods, (cpu, memory), tick))
            amounts = {"cpu": f"{pool[0]}m", "memory": str(pool[1]), "pods": str(POOL_PODS)}
            status["resources"] = {"allocatable": amounts}
        return status


def _needed(service: DiurnalService, tick: int) -> int:
    """Return the number of replicas that the load of a service requires."""
    return next((n for at, n in reversed(service.load_curve) if at <= tick), 0)


def _given(pods: Sequence[NodePodUse], capacity: float) -> dict[str, float]:
    """Return the milli-CPU that pods of each queue lack; the lowest priority is throttled first."""
    excess = sum(wants for _, _, wants in pods) - capacity
    lacks: dict[str, float] = {}
    for _, pod, wants in sorted(pods, key=lambda each: each[1].shape.priority):
        if excess <= 0:
            break
        less = min(wants, excess)
        lacks[pod.queue] = lacks.get(pod.queue, 0.0) + less
        excess -= less
    return lacks


def _reading(
    node: FleetNode,
    pods: Sequence[NodePodUse],
    used: tuple[int, int],
    tick: int,
) -> HeadroomReading:
    """Return the input of an estimator: batch pods are reclaimed, and all other pods lend."""
    owners, reclaimed = [], [0, 0]
    for name, pod, wants in pods:
        memory = pod.shape.memory_mib * MIB
        if pod.queue.startswith("batch"):
            reclaimed[0] += int(wants)
            reclaimed[1] += memory
            continue
        request = pod.shape.cpu_milli, memory
        age = float((tick - pod.since) * TICK_S)
        owners.append(OwnerPod(name, request, (int(wants), memory), age))
    capacity = node.cpu_milli, node.memory_mib * MIB
    loaned = reclaimed[0], reclaimed[1]
    return HeadroomReading(capacity, used, loaned, tuple(owners), float(tick * TICK_S))
