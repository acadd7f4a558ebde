"""The life cycle of a FederatedCluster: it joins, stays connected, and leaves."""

from collections.abc import Hashable, Iterable

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.federation.controllers.clusters.arrival import ClusterArrival
from stretto.federation.controllers.clusters.departure import FINALIZERS, ClusterDeparture
from stretto.federation.controllers.clusters.links import MemberAccess
from stretto.federation.controllers.clusters.parting import ShardDuties
from stretto.federation.controllers.clusters.report import ClusterReport
from stretto.federation.fleet import HOST, ClusterFleet, is_joined
from stretto.federation.objects.membership import conditions
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.conditions import condition_of


class MembershipController:
    """Joins, connects and removes members by their FederatedClusters and secrets."""

    name = "membership"

    def __init__(
        self, fleet: ClusterFleet, clock: Clock, access: MemberAccess, duties: ShardDuties
    ) -> None:
        """Initialize for the clusters of a fleet.

        Args:
            fleet: the fleet.
            clock: its wall time measures timeouts.
            access: the connections to members, and the calls over them.
            duties: the clusters of this process; those of other processes are connected, and lose
                the objects of this shard when they leave.
        """
        self._fleet = fleet
        self._links = access.links
        self._share = duties.share
        self._parting = duties.parting
        self._report = ClusterReport(fleet, clock)
        self._arrival = ClusterArrival(fleet, clock, access)
        self._departure = ClusterDeparture(fleet, clock, access, duties)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of the cluster, of those of a secret, or of all after a change of the kinds."""
        if change.source != HOST:
            return
        kind = change.kind.kind
        if kind == "FederatedCluster":
            yield change.object.record.name
        elif kind == "Secret":
            yield from self._links.clusters_of(change.object)
        elif kind == "FederatedTypeConfig":
            yield from (each.record.name for each in self._fleet.clusters)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Take the next step of one cluster: join, stay connected, or leave."""
        assert isinstance(key, str)
        cluster = self._fleet.cluster(key)
        if cluster is None:
            self._forget(key)
            return None
        if not self._share.has(self.name, key):
            return self._observe(cluster)
        if cluster.is_terminating:
            return self._departure.leave(cluster)
        if self._adds_finalizers(cluster):
            return None
        shown = cluster.status.get("conditions") or ()
        joined = condition_of(shown, conditions.ConditionType.JOINED)
        if joined is not None and joined.get("status") == "True":
            self._stay(cluster)
        elif joined is None or joined.get("reason") not in conditions.FINAL:
            self._arrival.join(cluster, joined)
        return None

    def _observe(self, cluster: StoredObject) -> float | None:
        """Keep a connection to a cluster that another process joins, and clear it when it leaves.

        Raises:
            InputError: the address or the credentials cannot be used.
            RetryError, UnreachableError: the leaving member does not answer.
        """
        if is_joined(cluster) and not cluster.is_terminating:
            self._links.open(cluster)
        elif self._parting.is_due(cluster) and self._share.runs(self.name):
            left = self._parting.clear(cluster)
            return None if left is None else self._fleet.settings.leave_retry
        return None

    # ---------------------------------------------------------------- joining

    def _adds_finalizers(self, cluster: StoredObject) -> bool:
        """Add the finalizers; true if one was absent."""
        fields: Fields = cluster.fields
        for finalizer in FINALIZERS:
            fields = writes.with_finalizer(fields, finalizer, present=True) or fields
        if fields is cluster.fields:
            return False
        writes.update(self._fleet.host.store, cluster, fields)
        return True

    # ---------------------------------------------------------------- joined

    def _stay(self, cluster: StoredObject) -> None:
        """Keep a joined cluster connected, with the rights for the configured kinds.

        Raises:
            RetryError: the cluster cannot be connected.
        """
        try:
            self._links.open(cluster)
        except InputError as error:
            refused = conditions.refused(str(error))
            self._report.write(cluster, *refused)
            raise
        self._arrival.grant(cluster)

    def _forget(self, name: str) -> None:
        self._links.close(name)
        self._arrival.forget(name)
