"""The open connections to members, by the name of their cluster."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from stretto.api.types.federation.policies import FederatedCluster, FederatedClusterSpec
from stretto.api.wire.kinds import NODE, POD, REPLICA_SET
from stretto.base.errors import InputError
from stretto.federation.connection.calls import CallPlace, MemberCalls
from stretto.federation.connection.protocol import (
    ClusterCredentials,
    MemberConnection,
    MemberConnector,
)
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.membership.credentials import read_credentials, with_account_token
from stretto.federation.objects.membership.kinds import SECRET
from stretto.reconcile import writes
from stretto.reconcile.cache import KindSelection, StoreCache, StoredObject
from stretto.stores.store import Store

T = TypeVar("T")


class StoreReader(Protocol):
    """Reader of stores: the loop of the controllers."""

    def add_store(self, name: str, store: Store, select: KindSelection) -> StoreCache:
        """Read the selected objects of a store under a name."""
        ...

    def remove_store(self, name: str) -> None:
        """Stop reading a store."""
        ...


@dataclass(frozen=True, slots=True)
class _Link:
    """An open connection and the input that it was opened with."""

    connection: MemberConnection
    spec: FederatedClusterSpec
    credentials: ClusterCredentials


class LinkEvents(NamedTuple):
    """Functions of a member's name at the beginning and at the end of its connection."""

    #: Returns the objects of the member that are read.
    select: Callable[[str], KindSelection]
    #: Called after the connection is closed.
    closed: Callable[[str], None]


class MemberLinks:
    """Opens, renews and closes connections; the fleet follows each open one."""

    def __init__(
        self,
        fleet: ClusterFleet,
        connector: MemberConnector,
        reader: StoreReader,
        events: LinkEvents,
    ) -> None:
        """Start without connections.

        Args:
            fleet: the fleet.
            connector: opens connections.
            reader: reads the stores of members.
            events: selects the objects of a member, and is called at its end.
        """
        self._fleet = fleet
        self._connector = connector
        self._reader = reader
        self._events = events
        self._links: dict[str, _Link] = {}
        self._secrets = fleet.host.follow_in(SECRET, fleet.settings.namespace)

    def connection(self, name: str) -> MemberConnection | None:
        """The connection to a cluster; ``None`` if it is not open."""
        link = self._links.get(name)
        return link.connection if link is not None else None

    def secret(self, cluster: StoredObject) -> StoredObject | None:
        """The secret of a cluster."""
        name = _spec(cluster).secret_ref.name
        return self._secrets.get(self._fleet.settings.namespace, name) if name else None

    def keep_token(self, cluster: StoredObject, token: str) -> None:
        """Write the token of the service account to the secret of a cluster, if it has a secret."""
        secret = self.secret(cluster)
        fields = with_account_token(secret, token) if token and secret is not None else None
        if secret is not None and fields is not None:
            writes.update(self._fleet.host.store, secret, fields)

    def credentials(self, cluster: StoredObject) -> ClusterCredentials:
        """Content of the secret of a cluster; empty if its spec names no secret.

        Raises:
            InputError: the secret does not exist, or its content cannot be used.
        """
        name = _spec(cluster).secret_ref.name
        if not name:
            return ClusterCredentials("")
        secret = self.secret(cluster)
        if secret is None:
            where = f"{self._fleet.settings.namespace}/{name}"
            expected = "a secret that exists"
            raise InputError(
                "spec.secretRef.name", where, expected, "create it, or set another name"
            )
        return read_credentials(secret)

    def bootstrap(self, cluster: StoredObject) -> Callable[[], MemberConnection]:
        """A function that opens a new connection with the join credentials; the caller closes it.

        Raises:
            InputError: the credentials cannot be used.
        """
        found = self.credentials(cluster)
        joining = ClusterCredentials(
            found.where, found.authority, found.certificate, found.key, found.bootstrap_token
        )
        name, spec = cluster.record.name, _spec(cluster)
        return lambda: self._connector.connect(name, spec, joining)

    def open(self, cluster: StoredObject) -> None:
        """Open the connection of a joined cluster; reopen it if its address or secret has changed.

        Raises:
            InputError: the address or the credentials cannot be used.
            UnreachableError: the member does not answer.
        """
        name, spec, credentials = cluster.record.name, _spec(cluster), self.credentials(cluster)
        link = self._links.get(name)
        if link is not None and (link.spec, link.credentials) == (spec, credentials):
            return
        connection = self._connector.connect(name, spec, credentials)
        self.close(name)
        self._links[name] = _Link(connection, spec, credentials)
        cache = self._reader.add_store(name, connection.store, self._events.select(name))
        cache.follow(NODE)
        cache.follow(POD)
        cache.follow(REPLICA_SET)
        self._fleet.connect(name, cache)

    def close(self, name: str) -> None:
        """Close the connection of a cluster if it is open; the member keeps its workloads."""
        link = self._links.pop(name, None)
        if link is not None:
            self._fleet.disconnect(name)
            self._reader.remove_store(name)
            self._events.closed(name)
            link.connection.close()

    def clusters_of(self, secret: StoredObject) -> Iterator[str]:
        """Names of the clusters that a secret belongs to."""
        if secret.record.namespace != self._fleet.settings.namespace:
            return
        for each in self._fleet.clusters:
            if (each.spec.get("secretRef") or {}).get("name") == secret.record.name:
                yield each.record.name


class MemberAccess(NamedTuple):
    """Access of controllers to members."""

    #: The open connections.
    links: MemberLinks
    #: Runs sequences of calls to members.
    calls: MemberCalls

    def answer(self, cluster: StoredObject, purpose: str, work: Callable[[], T]) -> T | None:
        """Result of a sequence of calls to a member; ``None`` while the calls run.

        Args:
            cluster: the cluster; its membership is reconciled again when the calls have ended.
            purpose: purpose of the calls, in one word.
            work: the calls.

        Raises:
            RetryError, StrettoError: the calls failed.
        """
        place = CallPlace("membership", cluster.record.name, cluster.record.uid, purpose)
        ended = self.calls.answer(place, work)
        return ended.result() if ended is not None else None


def _spec(cluster: StoredObject) -> FederatedClusterSpec:
    """Fields of a spec that a connection depends on; taints are not among them."""
    spec = cluster.read(FederatedCluster).spec
    return FederatedClusterSpec(
        spec.api_endpoint, spec.insecure, spec.use_service_account, spec.secret_ref
    )
