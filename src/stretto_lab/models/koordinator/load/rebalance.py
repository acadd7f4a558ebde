"""Selects the pods to move from overloaded nodes, in order, within the capacity of the receivers.

Source: Koordinator's ``descheduler/framework/plugins/loadaware/low_node_load.go``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stretto.capacity.model.classes import Band
from stretto.control.controllers.hot_nodes.anomalies import AnomalyDetector
from stretto.framework.profile.capacity.hot_nodes import AnomalyRule
from stretto_lab.models.koordinator.classes import KubeQos, ServiceQos
from stretto_lab.models.koordinator.demand import Amounts
from stretto_lab.models.koordinator.load.thresholds import (
    LoadBounds,
    LoadClass,
    LoadedMember,
    LoadLimits,
    NodeBounds,
    bounds,
    classify,
)

PODS: Final = "pods"
"""Name of the resource that counts pods."""
_BANDS: Final = (Band.FREE, Band.BATCH, Band.MID, Band.PROD, Band.NONE)
_KUBE: Final = (KubeQos.BEST_EFFORT, KubeQos.BURSTABLE, KubeQos.GUARANTEED)
_QOS: Final = (
    ServiceQos.BE,
    ServiceQos.LS,
    ServiceQos.LSR,
    ServiceQos.LSE,
    ServiceQos.SYSTEM,
    ServiceQos.NONE,
)


@dataclass(frozen=True)
class MovablePod:
    """A pod on a node of the pool."""

    #: Name of the pod.
    name: str
    #: Node of the pod.
    node: str
    #: Measured use; ``None`` without a metric.
    usage: Amounts | None = None
    #: Requests of the pod.
    requests: Amounts = field(default_factory=dict)
    #: Band of the pod.
    band: Band = Band.PROD
    #: Priority of the spec.
    priority: int = 0
    #: Kubernetes' QoS class.
    kube_qos: KubeQos = KubeQos.BURSTABLE
    #: QoS class.
    qos: ServiceQos = ServiceQos.LS
    #: Deletion cost of the pod.
    deletion_cost: int = 0
    #: Eviction cost of the pod.
    eviction_cost: int = 0
    #: Seconds since the pod was created.
    created_ago_s: float = 0.0
    #: True if the pod may be moved.
    evictable: bool = True

    def freed(self, resource: str) -> int:
        """Use of its node that ends with the pod."""
        return 1 if resource == PODS else (self.usage or {}).get(resource, 0)


@dataclass(frozen=True)
class RebalanceRules:
    """Parameters of the rebalancing of one pool."""

    #: Thresholds.
    limits: LoadLimits
    #: Weights of the resources in the order of nodes and pods.
    weights: Mapping[str, int]
    #: True if a pod is moved only if a receiver has capacity for it.
    fit: bool = True
    #: Number of receivers up to which no pod is moved.
    least_receivers: int = 0
    #: Conditions under which an overloaded node is unloaded.
    anomaly: AnomalyRule = field(default_factory=lambda: AnomalyRule(abnormal=1))


@dataclass(frozen=True)
class LoadMove:
    """A pod to move, and the reason."""

    #: The pod.
    pod: MovablePod
    #: True if the use of online pods is the reason.
    prod: bool
    #: Resources above their threshold, with their use in percent.
    over: tuple[tuple[str, float], ...]


@dataclass
class Rebalancer:
    """The rebalancing of one pool over several rounds."""

    #: Parameters.
    rules: RebalanceRules
    #: Detectors by node, and by whether the use of online pods is the reason.
    detectors: dict[tuple[str, bool], AnomalyDetector] = field(default_factory=dict)

    def round(
        self,
        now_s: float,
        members: Sequence[LoadedMember],
        pods: Sequence[MovablePod],
        attempt: Callable[[LoadMove], bool],
    ) -> dict[LoadClass, list[LoadedMember]]:
        """Run one round; returns the classes of the nodes.

        ``attempt`` evicts a pod and returns whether that succeeded.
        """
        limits = bounds(members, self.rules.limits)
        classes = classify(members, limits)
        high = self._acting(now_s, classes[LoadClass.HIGH], prod=False)
        prod_high = self._acting(now_s, classes[LoadClass.PROD_HIGH], prod=True)
        low, both = classes[LoadClass.LOW], classes[LoadClass.BOTH_LOW]
        receivers = [*low, *both, *classes[LoadClass.PROD_LOW]]
        if (high or prod_high) and receivers:
            for each in receivers:
                self._detector(each.name, prod=each in classes[LoadClass.PROD_LOW]).reset()
            if self.rules.least_receivers < len(receivers) < len(members):
                pool = _Pool(self, limits, pods, attempt, members)
                pool.unload_all(high, prod_high, classes)
                for prod, nodes in ((False, high), (True, prod_high)):
                    for each in nodes:
                        self._detector(each.name, prod=prod).mark_normal(now_s)
        return classes

    def _acting(
        self, now_s: float, nodes: Iterable[LoadedMember], *, prod: bool
    ) -> list[LoadedMember]:
        if self.rules.anomaly.abnormal == 1:
            return list(nodes)
        return [e for e in nodes if self._detector(e.name, prod=prod).mark_abnormal(now_s)]

    def _detector(self, node: str, *, prod: bool) -> AnomalyDetector:
        return self.detectors.setdefault((node, prod), AnomalyDetector(self.rules.anomaly))

    def calmed(self, node: str, *, prod: bool) -> None:
        """Record that a node is no longer overloaded."""
        self._detector(node, prod=prod).reset()


@dataclass
class _Pool:
    """State of one round; it updates use and requests with each move."""

    owner: Rebalancer
    limits: Mapping[str, NodeBounds]
    pods: Sequence[MovablePod]
    attempt: Callable[[LoadMove], bool]
    members: Sequence[LoadedMember]

    def unload_all(
        self,
        high: Iterable[LoadedMember],
        prod_high: Iterable[LoadedMember],
        classes: Mapping[LoadClass, list[LoadedMember]],
    ) -> None:
        """Move pods from high nodes, then online pods from nodes with much online use."""
        low, both = classes[LoadClass.LOW], classes[LoadClass.BOTH_LOW]
        prod_low = classes[LoadClass.PROD_LOW]
        budget = self.budget([*low, *both], prod=False)
        self.unload(high, [*low, *both], budget, prod=False)
        shared = self.budget(both, prod=True)
        capped = {name: min(amount, budget.get(name, 0)) for name, amount in shared.items()}
        own = self.budget(prod_low, prod=True)
        prod_budget = {name: own.get(name, 0) + capped.get(name, 0) for name in {**own, **capped}}
        self.unload(prod_high, [*prod_low, *both], prod_budget, prod=True)

    def budget(self, receivers: Iterable[LoadedMember], *, prod: bool) -> dict[str, int]:
        """Capacity of receivers below their high thresholds."""
        sums: dict[str, int] = {}
        for each in receivers:
            for name, limit in self._bounds(each, prod=prod).high.items():
                free = limit - _usage(each, prod=prod).get(name, 0)
                sums[name] = sums.get(name, 0) + free
        return sums

    def unload(
        self,
        sources: Iterable[LoadedMember],
        receivers: Sequence[LoadedMember],
        budget: dict[str, int],
        *,
        prod: bool,
    ) -> None:
        """Move pods from ``sources``; the moved amounts are subtracted from ``budget``."""
        if not receivers:
            return
        ordered = sorted(sources, key=lambda each: -self._score(each, prod=prod))
        for source in ordered:
            chosen = [
                each
                for each in self.pods
                if each.node == source.name
                and (not prod or each.band is Band.PROD)
                and each.evictable
                and (not self.owner.rules.fit or self._reserve(each, receivers, prod=prod))
            ]
            over = self._bounds(source, prod=prod)
            excess = {
                name: _usage(source, prod=prod)[name] - over.high[name]
                for name in over.exceeded(_usage(source, prod=prod))
            }
            chosen.sort(key=lambda each: self._rank(each, excess))
            self._evict(source, chosen, budget, prod=prod)

    def _evict(
        self,
        source: LoadedMember,
        chosen: Iterable[MovablePod],
        budget: dict[str, int],
        *,
        prod: bool,
    ) -> None:
        limits, usage = self._bounds(source, prod=prod), _usage(source, prod=prod)
        for pod in chosen:
            exceeded = limits.exceeded(usage)
            if not exceeded:
                self.owner.calmed(source.name, prod=prod)
                return
            if any(amount <= 0 for amount in budget.values()):
                return
            over = tuple((name, _percent(usage[name], source, name)) for name in exceeded)
            if not self.attempt(LoadMove(pod, prod, over)) or pod.usage is None:
                continue
            for name in budget:
                budget[name] -= pod.freed(name)
                usage[name] = usage.get(name, 0) - pod.freed(name)

    def _reserve(self, pod: MovablePod, receivers: Iterable[LoadedMember], *, prod: bool) -> bool:
        """Return whether a receiver has capacity; the use of the pod stays reserved there."""
        if pod.usage is None:
            return False
        for each in receivers:
            usage, limits = _usage(each, prod=prod), self._bounds(each, prod=prod)
            if not self._fits_requests(pod, each):
                continue
            after = {name: usage.get(name, 0) + pod.usage.get(name, 0) for name in limits.high}
            if limits.exceeded(after):
                continue
            usage.update(after)
            return True
        return False

    def _fits_requests(self, pod: MovablePod, node: LoadedMember) -> bool:
        held = [each for each in self.pods if each.node == node.name]
        return all(
            amount + sum(each.requests.get(name, 0) for each in held)
            <= node.allocatable.get(name, 0)
            for name, amount in pod.requests.items()
        )

    def _score(self, node: LoadedMember, *, prod: bool) -> int:
        weights, usage = self.owner.rules.weights, _usage(node, prod=prod)
        total = sum(
            weights.get(name, 0) * _permille(amount, node.base.get(name, 0))
            for name, amount in usage.items()
        )
        whole = sum(weights.get(name, 0) for name in usage)
        return total // whole if whole else 0

    def _rank(self, pod: MovablePod, excess: Mapping[str, int]) -> tuple[float, ...]:
        return (
            _BANDS.index(pod.band),
            pod.priority,
            _KUBE.index(pod.kube_qos),
            _QOS.index(pod.qos),
            pod.deletion_cost,
            pod.eviction_cost,
            pod.usage is None,
            -self._effect(pod, excess),
            pod.created_ago_s,
        )

    def _effect(self, pod: MovablePod, excess: Mapping[str, int]) -> float:
        """Match between the use of a pod and the excess of its node; best is just enough."""
        weights = self.owner.rules.weights
        total = 0.0
        for name, amount in excess.items():
            part = pod.freed(name) / amount if pod.usage is not None else 0.0
            total += weights.get(name, 0) * (1 + 1 / part if part >= 1 else part)
        whole = sum(weights.get(name, 0) for name in excess)
        return total / whole if whole else 0.0

    def _bounds(self, node: LoadedMember, *, prod: bool) -> LoadBounds:
        limits = self.limits[node.name]
        return limits.prod if prod else limits.node


def _usage(node: LoadedMember, *, prod: bool) -> dict[str, int]:
    return node.prod_usage if prod else node.usage


def _permille(amount: int, whole: int) -> int:
    return min(amount, whole) * 1000 // whole if whole else 0


def _percent(amount: int, node: LoadedMember, resource: str) -> float:
    whole = node.base.get(resource, 0)
    return 100 * amount / whole if whole else 0.0
