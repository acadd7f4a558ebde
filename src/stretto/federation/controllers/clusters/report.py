"""Writes the status of FederatedClusters, and an event if a cluster cannot leave."""

from stretto.base.clock import Clock, timestamp
from stretto.federation import names
from stretto.federation.controllers.reports import COMPONENT
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.membership import conditions
from stretto.federation.objects.membership.conditions import ClusterCondition
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.recorder import EventRecorder


class ClusterReport:
    """Writes conditions and further fields of a cluster if they differ."""

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """Initialize for the clusters of a fleet; times are those of the wall clock."""
        self._fleet = fleet
        self._clock = clock
        self._events = EventRecorder(fleet.host.store, clock, COMPONENT)

    def write(self, cluster: StoredObject, *found: ClusterCondition, **more: object) -> None:
        """Write conditions and further fields.

        Raises:
            RetryError: the host refused the write.
        """
        now = timestamp(int(self._clock.now()))
        merged = conditions.merged(cluster.status.get("conditions") or (), found, now)
        status = {key: value for key, value in more.items() if cluster.status.get(key) != value}
        if merged is not None:
            status["conditions"] = merged
        if status:
            writes.patch_status(self._fleet.host.store, cluster, status)

    def blocked(self, cluster: StoredObject, problem: str) -> None:
        """Report that a cluster cannot leave yet; one event counts the repetitions.

        Raises:
            RetryError: the host refused the condition.
        """
        cascades = names.CASCADE in (cluster.metadata.get("finalizers") or ())
        reason = "CascadingDeletionFailed" if cascades else "LeaveBlocked"
        self._events.record(cluster, EventText(EventLevel.WARNING, reason, problem))
        self.write(cluster, conditions.leave_blocked(problem))
