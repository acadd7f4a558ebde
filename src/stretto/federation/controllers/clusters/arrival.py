"""Joins a FederatedCluster: claims the member and grants rights to its service account."""

from contextlib import closing

from stretto.base.clock import Clock, parse_timestamp
from stretto.base.errors import StrettoError
from stretto.federation.controllers.clusters import joining
from stretto.federation.controllers.clusters.links import MemberAccess
from stretto.federation.controllers.clusters.report import ClusterReport
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.membership import conditions
from stretto.federation.objects.membership.rights import rules
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.reconciler import RetryError


class ClusterArrival:
    """Adds clusters to the federation; requests to a member run outside the loop."""

    def __init__(self, fleet: ClusterFleet, clock: Clock, access: MemberAccess) -> None:
        """Initialize for the clusters of a fleet; the timeout is that of the wall clock."""
        self._fleet = fleet
        self._clock = clock
        self._access = access
        self._links = access.links
        self._report = ClusterReport(fleet, clock)
        self._granted: dict[str, list[Fields]] = {}

    def join(self, cluster: StoredObject, before: Fields | None) -> None:
        """Attempt to join; the next reconciliation reads the result.

        Raises:
            RetryError: the attempt failed; it is repeated.
        """
        try:
            token = self._claimed(cluster)
            if token is None:
                return
        except joining.UnjoinableError:
            self._report.write(cluster, conditions.UNJOINABLE)
            return
        except (RetryError, StrettoError) as error:
            self._failed(cluster, before, str(error))
            raise
        self._links.keep_token(cluster, token)
        self._report.write(cluster, conditions.JOINED, joinPerformed=True)

    def _claimed(self, cluster: StoredObject) -> str | None:
        """Write the system namespace and the service account to the member.

        Returns:
            The token of the service account, empty if the spec uses none; ``None`` while the
            requests run.
        """
        space = self._fleet.settings.namespace
        wants_account = bool(cluster.spec.get("useServiceAccount"))
        wanted = rules(self._fleet.types, space) if wants_account else []

        connect = self._links.bootstrap(cluster)

        def claim() -> tuple[str, list[Fields]]:
            with closing(connect()) as connection:
                namespace = joining.claim_namespace(connection.store, space, cluster)
                if not wants_account:
                    return "", wanted
                return joining.create_account(connection.store, namespace, wanted), wanted

        claimed = self._access.answer(cluster, "join", claim)
        if claimed is None:
            return None
        token, granted = claimed
        if token:
            self._granted[cluster.record.name] = granted
        return token

    def _failed(self, cluster: StoredObject, before: Fields | None, message: str) -> None:
        """Report a failed attempt; after the timeout, report that joining failed."""
        since = (before or {}).get("lastTransitionTime")
        age = self._clock.now() - parse_timestamp(since) if since else 0.0
        if age > self._fleet.settings.join_timeout:
            self._report.write(cluster, conditions.join_timed_out(message))
        else:
            self._report.write(cluster, conditions.join_failed(message))

    def grant(self, cluster: StoredObject) -> None:
        """Update the rights of the service account after a change of the configured kinds.

        Raises:
            RetryError, StrettoError: the member refuses the update or does not answer.
        """
        if not cluster.spec.get("useServiceAccount") or not cluster.spec.get("secretRef"):
            return
        space = self._fleet.settings.namespace
        wanted = rules(self._fleet.types, space)
        name = cluster.record.name
        if self._granted.get(name) == wanted:
            return
        member = self._links.connection(name)

        connect = self._links.bootstrap(cluster)

        def grant() -> list[Fields]:
            if member is not None and joining.has_rights(member.store, wanted):
                return wanted
            with closing(connect()) as connection:
                namespace = joining.claim_namespace(connection.store, space, cluster)
                joining.grant(connection.store, namespace, wanted)
            return wanted

        try:
            while self._granted.get(name) != wanted:  # a reply may belong to earlier rights
                granted = self._access.answer(cluster, "grant", grant)
                if granted is None:
                    return
                self._granted[name] = granted
        except joining.UnjoinableError as error:
            text = f"namespace {space} of the member belongs to another cluster"
            raise RetryError(text) from error

    def forget(self, name: str) -> None:
        """Forget the rights of a cluster that is gone."""
        self._granted.pop(name, None)
