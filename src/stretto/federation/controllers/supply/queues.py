"""Limits of queues and gangs for a workload over all clusters, from the objects of the host."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from stretto.api.types.federation.policies import SchedulingMode
from stretto.api.types.godel import PodGroup, Queue
from stretto.api.wire.kinds import POD_GROUP, QUEUE
from stretto.api.wire.quantity import amounts
from stretto.base.errors import InputError
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.supply.promises import PromiseLedger
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.members.units import group_name, queue_name
from stretto.federation.planner.supply.queues import QueueDemand, QueueShare, admitted
from stretto.federation.scheduling.workload import FederatedWorkload, GangRule, HeldReplicas
from stretto.reconcile.cache import Change

FreeAmounts = Callable[[Iterable[str]], Mapping[str, int] | None]
"""Function from resources to their free amounts in all clusters; ``None`` without a report."""
_NOTHING: Final[Mapping[str, int]] = {}


class FleetQueues:
    """Applies the Queues and PodGroups of the host to workloads."""

    def __init__(self, fleet: ClusterFleet, promises: PromiseLedger) -> None:
        """Initialize for a fleet; ``promises`` gives the usage of every workload."""
        self._promises = promises
        self._queues = fleet.host.follow(QUEUE)
        self._groups = fleet.host.follow(POD_GROUP)
        self._revision = -1
        self._specs: dict[str, QueueShare] = {}
        self._parents: dict[str, str] = {}

    def concerns(self, change: Change) -> bool:
        """True if a change may unblock waiting workloads."""
        return change.kind in (QUEUE, POD_GROUP)

    def judged(
        self, item: FederatedItem, workload: FederatedWorkload, free: FreeAmounts
    ) -> FederatedWorkload:
        """A workload with the replicas that its queue holds back, and with its gang.

        Args:
            item: the federated object.
            workload: the workload.
            free: free amounts of the fleet without promised amounts.
        """
        if workload.mode is not SchedulingMode.DIVIDE or workload.replicas <= 0:
            return workload
        held = self._held(item, workload, free) if len(self._queues) else None
        gang = self._gang(item, workload)
        if held is None and gang is None:
            return workload
        return replace(workload, held=held, gang=gang)

    # ---------------------------------------------------------------- inside

    def _held(
        self, item: FederatedItem, workload: FederatedWorkload, free: FreeAmounts
    ) -> HeldReplicas | None:
        """The replicas that the queue of a workload does not admit."""
        self._read()
        path = list(self._path(queue_name(item.federated)))
        used = self._used(item)
        counts = workload.current.values()
        present = sum(workload.replicas if count is None else count for count in counts)
        demand = QueueDemand(
            workload.replicas,
            present,
            workload.request,
            tuple(replace(self._specs[name], used=used.get(name, _NOTHING)) for name in path),
            tuple(
                replace(share, used=used.get(name, _NOTHING))
                for name, share in self._specs.items()
                if name not in path and self._parents.get(name, "") in ("", *path)
            ),
            free(workload.request),
        )
        verdict = admitted(demand)
        missing = workload.replicas - verdict.replicas
        return HeldReplicas(missing, "QueueExceeded", verdict.reason) if missing else None

    def _gang(self, item: FederatedItem, workload: FederatedWorkload) -> GangRule | None:
        """The gang of a workload whose pods name an existing PodGroup."""
        name = group_name(item.federated)
        found = self._groups.get(item.federated.record.namespace, name) if name else None
        if found is None:
            return None
        try:
            least = found.read(PodGroup).spec.min_member
        except InputError:
            return None  # the members reject it as well
        spreads = workload.max_clusters is not None and workload.max_clusters > 1
        return GangRule(name, least, spreads)

    def _read(self) -> None:
        """Read the queues again after a change; a malformed queue is ignored."""
        if self._revision == self._queues.revision:
            return
        self._revision = self._queues.revision
        self._specs, self._parents = {}, {}
        for each in self._queues:
            try:
                spec = each.read(Queue).spec
                guarantee = amounts(spec.guarantee, "spec.guarantee")
                limit = amounts(spec.limit, "spec.limit")
            except InputError:
                continue
            name = each.record.name
            self._specs[name] = QueueShare(name, guarantee, limit)
            self._parents[name] = spec.parent

    def _path(self, name: str) -> Iterator[str]:
        """Names of a queue and its ancestors; a cycle ends the sequence."""
        seen: set[str] = set()
        while name in self._specs and name not in seen:
            seen.add(name)
            yield name
            name = self._parents[name]

    def _used(self, item: FederatedItem) -> dict[str, dict[str, int]]:
        """Used amounts of each queue with its subtree, without those of one object."""
        found: dict[str, dict[str, int]] = {}
        for name, used in self._promises.by_queue(item.key).items():
            for each in self._path(name):
                sums = found.setdefault(each, {})
                for resource, count in used.items():
                    sums[resource] = sums.get(resource, 0) + count
        return found
