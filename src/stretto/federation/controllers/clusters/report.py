"""Writes the status of FederatedClusters."""

from stretto.base.clock import Clock, timestamp
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.membership import conditions
from stretto.federation.objects.membership.conditions import ClusterCondition
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject


class ClusterReport:
    """Conditions and further fields of a cluster, written where they differ."""

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the clusters of a fleet; times are those of the wall clock."""
        self._fleet = fleet
        self._clock = clock

    def write(self, cluster: StoredObject, *found: ClusterCondition, **more: object) -> None:
        """Write conditions and further fields.

        Raises:
            RetryError: the host refused it.
        """
        now = timestamp(int(self._clock.now()))
        merged = conditions.merged(cluster.status.get("conditions") or (), found, now)
        status = {key: value for key, value in more.items() if cluster.status.get(key) != value}
        if merged is not None:
            status["conditions"] = merged
        if status:
            writes.patch_status(self._fleet.host.store, cluster, status)
