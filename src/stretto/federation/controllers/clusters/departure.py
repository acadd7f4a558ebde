"""Removes a deleted FederatedCluster: first its managed objects, then its system objects."""

from typing import Final

from stretto.base.clock import Clock, parse_timestamp
from stretto.base.errors import StrettoError
from stretto.federation import names
from stretto.federation.controllers.clusters import leaving
from stretto.federation.controllers.clusters.links import MemberAccess
from stretto.federation.controllers.clusters.parting import ShardDuties, cascades
from stretto.federation.controllers.clusters.report import ClusterReport
from stretto.federation.fleet import ClusterFleet, is_joined
from stretto.federation.objects.membership.credentials import with_account_token
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.reconciler import RetryError

FINALIZERS: Final = (names.CLUSTER_FINALIZER, names.CASCADE)
"""Finalizers of a cluster: for leaving, and for the deletion of its managed objects."""


class ClusterDeparture:
    """Removes clusters from the federation, one step at a time."""

    def __init__(
        self, fleet: ClusterFleet, clock: Clock, access: MemberAccess, duties: ShardDuties
    ) -> None:
        """Initialize for the clusters of a fleet.

        Args:
            fleet: the fleet.
            clock: its wall time measures the timeout.
            access: the connections to members, and the calls over them.
            duties: removal of the objects of this shard, and the other shards.
        """
        self._duties = duties
        self._fleet = fleet
        self._clock = clock
        self._access = access
        self._links = access.links
        self._report = ClusterReport(fleet, clock)

    def leave(self, cluster: StoredObject) -> float | None:
        """Take the next step; return the seconds until the next one, or ``None``.

        ``None`` means that a change of an object is awaited.

        Raises:
            RetryError, StrettoError: the member does not answer; the condition ``Joined`` reports
                it.
        """
        finalizers = cluster.metadata.get("finalizers") or ()
        try:
            if names.CASCADE in finalizers:
                left = self._duties.parting.clear(cluster)
                if left is None:
                    return None
                if left or self._waits(cluster):
                    return self._fleet.settings.leave_retry
                self._free(cluster, names.CASCADE)
            elif names.CLUSTER_FINALIZER in finalizers:
                if not self._is_released(cluster):
                    return None
                self._links.close(cluster.record.name)
                self._free(cluster, names.CLUSTER_FINALIZER)
        except (RetryError, StrettoError) as error:
            timeout = self._fleet.settings.leave_timeout
            if self._clock.now() - parse_timestamp(cluster.record.deleting) > timeout:
                self._give_up(cluster)
                return None
            hint = f"its objects stay there if it does not answer within {timeout:g} s"
            self._report.blocked(cluster, f"{error}; {hint}")
            raise
        return None

    def _waits(self, cluster: StoredObject) -> bool:
        """Report what the cluster waits for, if another shard has not removed its objects.

        Raises:
            RetryError: the member does not answer another shard.
        """
        if not cascades(cluster):
            return False
        wait = self._duties.peers.leave_wait(cluster.record.uid)
        if wait is None:
            return False
        if wait.is_silent:
            raise RetryError(wait.reason)
        self._report.blocked(cluster, f"{wait.reason}; the objects of each shard are removed first")
        return True

    def _is_released(self, cluster: StoredObject) -> bool:
        """Remove the objects of the join from the secret and the member; false while requests run.

        Raises:
            RetryError, StrettoError: the member cannot be connected, or refuses the deletion.
        """
        if is_joined(cluster) and self._links.connection(cluster.record.name) is None:
            self._links.open(cluster)  # the connection is closed after a restart
        secret = self._links.secret(cluster)
        fields = with_account_token(secret, None) if secret is not None else None
        connection = self._links.connection(cluster.record.name)
        if is_joined(cluster) and connection is not None:
            space, store = self._fleet.settings.namespace, connection.store

            def release() -> bool:
                leaving.release_namespace(store, space, cluster)
                return True

            if self._access.answer(cluster, "release", release) is None:
                return False
        if secret is not None and fields is not None:
            writes.update(self._fleet.host.store, secret, fields)
        return True

    def _give_up(self, cluster: StoredObject) -> None:
        """Release a cluster whose member does not answer; its workloads stay in the member."""
        self._links.close(cluster.record.name)
        finalizers = cluster.metadata.get("finalizers") or ()
        kept = [each for each in finalizers if each not in FINALIZERS]
        metadata = {**cluster.metadata, "finalizers": kept}
        writes.update(self._fleet.host.store, cluster, {**cluster.fields, "metadata": metadata})

    def _free(self, cluster: StoredObject, finalizer: str) -> None:
        """Remove a finalizer."""
        fields = writes.with_finalizer(cluster.fields, finalizer, present=False)
        if fields is not None:
            writes.update(self._fleet.host.store, cluster, fields)
