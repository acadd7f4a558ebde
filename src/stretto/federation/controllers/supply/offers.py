"""What the clusters of a fleet offer besides their reports: promises and models of CPUs."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Final

from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import amounts
from stretto.base.clock import Clock
from stretto.federation import names
from stretto.federation.controllers.supply.promises import PromiseLedger
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.clusters import OfferedSupply
from stretto.federation.objects.decision.circumstances import Circumstances
from stretto.federation.objects.demand import request_of
from stretto.federation.scheduling.division import default_division
from stretto.federation.settings import CapacitySource, PlannerKind
from stretto.reconcile.cache import StoredObject

_NOTHING: Final[Mapping[str, int]] = {}
_ENDED: Final = ("Succeeded", "Failed")


class FleetSupply:
    """Promises, and CPUs by model."""

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the clusters of a fleet; migrations end by the wall time of ``clock``."""
        self._fleet = fleet
        self._clock = clock
        #: What decisions have started and clusters do not report yet.
        self.promises = PromiseLedger(fleet)
        settings = fleet.settings
        ours = settings.planners is PlannerKind.STRETTO
        self._divide = default_division(settings.performance) if ours else None

    def offered(self, key: Hashable, clusters: tuple[StoredObject, ...]) -> Circumstances:
        """The circumstances of a decision about an object, with what clusters offer to it."""
        counts_requests = self._fleet.settings.counts_requests
        found = Circumstances(clusters, self._clock.now(), counts_requests)
        if self._divide is None:
            return found
        promised = self.promises.besides(key)
        supply = {
            each.record.name: OfferedSupply(
                promised.get(each.record.name, _NOTHING),
                self._models(each.record.name),
                self._free_nodes(each.record.name),
            )
            for each in clusters
        }
        return replace(
            found, divide=self._divide, supply=supply, starting=self.promises.starting(key)
        )

    def _models(self, cluster: str) -> dict[str, int]:
        """Allocatable CPU by model; empty without a matrix that needs it."""
        if self._fleet.settings.performance is None:
            return {}
        found: dict[str, int] = {}
        for node in self._fleet.listed(cluster, NODE) or ():
            model = node.labels.get(names.CPU_MODEL, "")
            cpu = amounts(node.status.get("allocatable") or {}, "allocatable").get("cpu", 0)
            found[model] = found.get(model, 0) + cpu
        return found

    def _free_nodes(self, cluster: str) -> tuple[Mapping[str, int], ...]:
        """Free amounts of every node that takes pods; empty where only the sums count."""
        if self._fleet.settings.capacity is not CapacitySource.NODES:
            return ()
        nodes, pods = self._fleet.listed(cluster, NODE), self._fleet.listed(cluster, POD)
        if nodes is None or pods is None:
            return ()
        free: dict[str, dict[str, int]] = {}
        for node in nodes:
            if not node.spec.get("unschedulable"):
                given = node.status.get("allocatable") or {}
                free[node.record.name] = dict(amounts(given, "allocatable"))
        for pod in pods:
            left = free.get(pod.record.node)
            if left is not None and pod.status.get("phase") not in _ENDED:
                for name, count in request_of({"kind": "Pod", "spec": pod.spec}).items():
                    left[name] = left.get(name, 0) - count
        return tuple(free.values())
