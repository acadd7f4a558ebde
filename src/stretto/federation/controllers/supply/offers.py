"""Capacity of the clusters of a fleet for a decision about one object."""

from collections.abc import Hashable

from stretto.base.clock import Clock
from stretto.federation.controllers.supply.members import FleetMembers
from stretto.federation.controllers.supply.promises import OwnKeys, PromiseLedger, every_key
from stretto.federation.controllers.supply.queues import FleetQueues
from stretto.federation.controllers.supply.waiting import WaitingObjects
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.decision.admission import admitting_division, with_admission
from stretto.federation.objects.decision.circumstances import Circumstances
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, schedule
from stretto.federation.scheduling.plugins import ClusterProfile
from stretto.federation.scheduling.workload import FederatedWorkload
from stretto.federation.types import FederatedType


class FleetSupply:
    """The clusters with promises, and the plans for their capacity."""

    def __init__(self, fleet: ClusterFleet, clock: Clock, owns: OwnKeys = every_key) -> None:
        """Initialize for the clusters of a fleet.

        Args:
            fleet: the fleet.
            clock: gives the wall time of migrations.
            owns: true for the keys of the objects that this process schedules.
        """
        self._clock = clock
        self._counts_requests = fleet.settings.counts_requests
        #: Replicas that decisions have placed and that clusters do not report yet.
        self.promises = PromiseLedger(fleet, owns)
        #: Objects that wait for capacity.
        self.waiting = WaitingObjects(fleet)
        #: The clusters that have joined.
        self.members = FleetMembers(fleet, self.promises)
        #: Limits of queues and gangs.
        self.queues = FleetQueues(fleet, self.promises)
        ours = fleet.settings.plans_by_default
        self._divide = admitting_division(fleet.settings.performance) if ours else None

    @property
    def promises_count(self) -> bool:
        """True if the division deducts promised amounts."""
        return self._divide is not None

    def forget(self, key: Hashable) -> None:
        """Drop a deleted object."""
        self.promises.forget(key)
        self.waiting.forget(key)

    def circumstances(self, key: Hashable) -> Circumstances:
        """Input of a decision about an object, except the clusters."""
        running = self.promises.running(key) if self.promises_count else None
        return Circumstances(self._clock.now(), self._counts_requests, running)

    def placed(
        self,
        key: Hashable,
        type_: FederatedType,
        workload: FederatedWorkload,
        profile: ClusterProfile,
        *,
        explains: bool,
    ) -> FederatedPlacement:
        """The clusters of an object.

        Args:
            key: the object; its own promises are not deducted.
            type_: its kind.
            workload: the object as input of scheduling.
            profile: the plugins.
            explains: true if the result needs the scores of all clusters.
        """
        chosen = profile.divider
        if self._divide is None:
            fleet, table = self.members.fleet(type_), self.members.table
            return schedule(workload, fleet, profile, chosen, table)
        divide = with_admission(chosen) if chosen is not None else self._divide
        with self.promises.lifted(key):
            if explains or workload.gang is not None or chosen or not profile.is_built_in:
                fleet, table = self.members.fleet(type_), self.members.table
                return schedule(workload, fleet, profile, divide, table)
            return self.members.planner(type_, profile, divide).planned(workload)
