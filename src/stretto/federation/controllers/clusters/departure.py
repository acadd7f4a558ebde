"""A FederatedCluster that is deleted leaves: first its managed objects go, then our own."""

from typing import Final

from stretto.base.clock import Clock, parse_timestamp
from stretto.base.errors import StrettoError
from stretto.federation import names
from stretto.federation.controllers.clusters import leaving
from stretto.federation.controllers.clusters.links import MemberLinks
from stretto.federation.controllers.clusters.report import ClusterReport
from stretto.federation.fleet import ClusterFleet, is_joined
from stretto.federation.objects.membership import conditions
from stretto.federation.objects.membership.credentials import with_account_token
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.reconciler import RetryError

FINALIZERS: Final = (names.CLUSTER_FINALIZER, names.CASCADE)
"""The cluster stays until it has left, and until its managed objects are gone where wanted."""


class ClusterDeparture:
    """Takes clusters out of the federation, one step at a time."""

    def __init__(self, fleet: ClusterFleet, clock: Clock, links: MemberLinks) -> None:
        """For the clusters of a fleet; the timeout is that of the wall clock."""
        self._fleet = fleet
        self._clock = clock
        self._links = links
        self._report = ClusterReport(fleet, clock)

    def leave(self, cluster: StoredObject) -> float | None:
        """Take the next step; seconds until the one after it, ``None`` to wait for a change.

        Raises:
            RetryError, StrettoError: the member does not answer; the condition ``Joined`` says so.
        """
        finalizers = cluster.metadata.get("finalizers") or ()
        try:
            if names.CASCADE in finalizers:
                if self._has_managed(cluster):
                    return self._fleet.settings.leave_retry
                self._free(cluster, names.CASCADE)
            elif names.CLUSTER_FINALIZER in finalizers:
                self._release(cluster)
                self._links.close(cluster.record.name)
                self._free(cluster, names.CLUSTER_FINALIZER)
        except (RetryError, StrettoError) as error:
            timeout = self._fleet.settings.leave_timeout
            if self._clock.now() - parse_timestamp(cluster.record.deleting) > timeout:
                self._give_up(cluster)
                return None
            hint = f"its objects stay there if it does not answer within {timeout:g} s"
            self._report.write(cluster, conditions.leave_blocked(f"{error}; {hint}"))
            raise
        return None

    def _has_managed(self, cluster: StoredObject) -> bool:
        """Delete the managed objects where the owner of the cluster wants it; whether any is left.

        Raises:
            RetryError: the member refuses a deletion.
            UnreachableError: the member does not answer.
        """
        if cluster.annotations.get(names.CASCADE) is None or not is_joined(cluster):
            return False
        self._links.open(cluster)
        member = self._fleet.member(cluster.record.name)
        return member is not None and leaving.delete_managed(self._fleet, member) > 0

    def _release(self, cluster: StoredObject) -> None:
        """Remove what joining has written, in the secret and in the member."""
        secret = self._links.secret(cluster)
        fields = with_account_token(secret, None) if secret is not None else None
        connection = self._links.connection(cluster.record.name)
        if is_joined(cluster) and connection is not None:
            space = self._fleet.settings.namespace
            leaving.release_namespace(connection.store, space, cluster)
        if secret is not None and fields is not None:
            writes.update(self._fleet.host.store, secret, fields)

    def _give_up(self, cluster: StoredObject) -> None:
        """Let a cluster go whose member does not answer; what it runs stays there."""
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
