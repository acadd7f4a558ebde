"""The life of a FederatedCluster: it joins, stays connected, and leaves."""

from collections.abc import Hashable, Iterable

from stretto.base.clock import Clock, parse_timestamp
from stretto.base.errors import InputError, StrettoError
from stretto.federation.controllers.clusters import joining
from stretto.federation.controllers.clusters.departure import FINALIZERS, ClusterDeparture
from stretto.federation.controllers.clusters.links import MemberLinks
from stretto.federation.controllers.clusters.report import ClusterReport
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects.membership import conditions
from stretto.federation.objects.membership.rights import rules
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import RetryError


class MembershipController:
    """From FederatedClusters and their secrets to connected members."""

    name = "membership"

    def __init__(self, fleet: ClusterFleet, clock: Clock, links: MemberLinks) -> None:
        """For the clusters of a fleet; timeouts are those of the wall clock."""
        self._fleet = fleet
        self._clock = clock
        self._links = links
        self._report = ClusterReport(fleet, clock)
        self._departure = ClusterDeparture(fleet, clock, links)
        self._granted: dict[str, list[Fields]] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The cluster itself, those of a secret, or all after a change of the configured kinds."""
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
        """Take one cluster to the next step of its life."""
        assert isinstance(key, str)
        cluster = self._fleet.cluster(key)
        if cluster is None:
            self._forget(key)
            return None
        if cluster.is_terminating:
            return self._departure.leave(cluster)
        if self._adds_finalizers(cluster):
            return None
        shown = cluster.status.get("conditions") or ()
        joined = conditions.find(shown, conditions.ConditionType.JOINED)
        if joined is not None and joined.get("status") == "True":
            self._stay(cluster)
        elif joined is None or joined.get("reason") not in conditions.FINAL:
            self._join(cluster, joined)
        return None

    # ---------------------------------------------------------------- joining

    def _adds_finalizers(self, cluster: StoredObject) -> bool:
        """Add the finalizers; whether one was absent."""
        fields: Fields = cluster.fields
        for finalizer in FINALIZERS:
            fields = writes.with_finalizer(fields, finalizer, present=True) or fields
        if fields is cluster.fields:
            return False
        writes.update(self._fleet.host.store, cluster, fields)
        return True

    def _join(self, cluster: StoredObject, before: Fields | None) -> None:
        """Attempt to join.

        Raises:
            RetryError: the attempt failed; another one follows.
        """
        try:
            token = self._claim(cluster)
        except joining.UnjoinableError:
            self._report.write(cluster, conditions.UNJOINABLE)
            return
        except (RetryError, StrettoError) as error:
            self._failed(cluster, before, str(error))
            raise
        self._links.keep_token(cluster, token)
        self._report.write(cluster, conditions.JOINED, joinPerformed=True)

    def _claim(self, cluster: StoredObject) -> str:
        """Write to the member what joining needs; the token of the service account, if wanted."""
        connection = self._links.bootstrap(cluster)
        try:
            space = self._fleet.settings.namespace
            namespace = joining.claim_namespace(connection.store, space, cluster)
            if not cluster.spec.get("useServiceAccount"):
                return ""
            wanted = rules(self._fleet.types, space)
            token = joining.create_account(connection.store, namespace, wanted)
            self._granted[cluster.record.name] = wanted
            return token
        finally:
            connection.close()

    def _failed(self, cluster: StoredObject, before: Fields | None, message: str) -> None:
        """Report a failed attempt; the last one after the timeout."""
        since = (before or {}).get("lastTransitionTime")
        age = self._clock.now() - parse_timestamp(since) if since else 0.0
        if age > self._fleet.settings.join_timeout:
            self._report.write(cluster, conditions.join_timed_out(message))
        else:
            self._report.write(cluster, conditions.join_failed(message))

    # ---------------------------------------------------------------- joined

    def _stay(self, cluster: StoredObject) -> None:
        """Keep a joined cluster connected, with the rights of the configured kinds.

        Raises:
            RetryError: the cluster cannot be connected.
        """
        try:
            self._links.open(cluster)
        except InputError as error:
            refused = conditions.refused(str(error))
            self._report.write(cluster, *refused)
            raise
        self._grant(cluster)

    def _grant(self, cluster: StoredObject) -> None:
        """Bring the rights of the service account up to date after a change of the kinds."""
        if not cluster.spec.get("useServiceAccount") or not cluster.spec.get("secretRef"):
            return
        space = self._fleet.settings.namespace
        wanted = rules(self._fleet.types, space)
        name = cluster.record.name
        if self._granted.get(name) == wanted:
            return
        member = self._links.connection(name)
        if member is not None and joining.has_rights(member.store, wanted):
            self._granted[name] = wanted
            return
        connection = self._links.bootstrap(cluster)
        try:
            namespace = joining.claim_namespace(connection.store, space, cluster)
            joining.grant(connection.store, namespace, wanted)
            self._granted[name] = wanted
        except joining.UnjoinableError:
            raise RetryError(
                f"namespace {space} of the member belongs to another cluster"
            ) from None
        finally:
            connection.close()

    def _forget(self, name: str) -> None:
        self._links.close(name)
        self._granted.pop(name, None)
