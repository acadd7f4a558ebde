"""Connections to members that are API servers."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.api.wire.kinds import POD_METRICS
from stretto.base.rng import Rng
from stretto.federation.connection.access import SecretAccess
from stretto.federation.connection.probing import forwarding
from stretto.federation.connection.protocol import ClusterCredentials, MemberProbe
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.later_lists import LaterLists
from stretto.stores.store import Store

FIELD_MANAGER: Final = "stretto-federation"
"""Field manager under which members record the fields of the federation."""
MEMBER_OPTIONS: Final = KubeOptions(
    connect=2.0,
    write_timeout=3.0,
    read_timeout=4.0,
    answer=4.0,
    field_manager=FIELD_MANAGER,
)
"""A write takes effect within six seconds or never, which the lease requires."""


class KubeMember:
    """A connection to the API server of a member."""

    def __init__(self, store: KubeStore) -> None:
        """Initialize with an open store."""
        self._store = store
        self._later = LaterLists(store)

    @property
    def store(self) -> Store:
        """The objects of the member; lists do not block."""
        return self._later

    def probe(self) -> Future[MemberProbe]:
        """Request its health and its served kinds."""
        made: Future[MemberProbe] = Future()
        self._store.inquiries.survey().add_done_callback(forwarding(made))
        return made

    def usage(self, namespace: str) -> Future[Sequence[PodMetrics]]:
        """Request the usage of the pods of a namespace from its metrics.k8s.io."""
        return self._store.inquiries.computed(POD_METRICS, namespace, PodMetrics)

    def close(self) -> None:
        """Close the connection."""
        self._store.close()


def member_store(
    name: str,
    spec: FederatedClusterSpec,
    credentials: ClusterCredentials,
    rng: Rng | None = None,
    options: KubeOptions = MEMBER_OPTIONS,
) -> KubeStore:
    """The objects of a member; the first call connects.

    Args:
        name: name of its FederatedCluster.
        spec: address and options of the connection.
        credentials: decoded content of its secret.
        rng: jitter of the back-off between attempts.
        options: timeouts and limits.

    Raises:
        InputError: the address or the credentials cannot be used.
    """
    access = SecretAccess(spec, credentials)
    return KubeStore(access, (rng or Rng(0)).child("member", name), options)


class KubeConnector:
    """Opens connections to API servers."""

    def __init__(
        self,
        rng: Rng,
        options: KubeOptions = MEMBER_OPTIONS,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        """Initialize with options.

        Args:
            rng: jitter of the back-off between attempts.
            options: timeouts and limits of every connection.
            may_write: called before each write; only the leader may write.
        """
        self._rng = rng
        self._options = options
        self._may_write = may_write

    def connect(
        self, name: str, spec: FederatedClusterSpec, credentials: ClusterCredentials
    ) -> KubeMember:
        """Log in to a member; the first call connects.

        Raises:
            InputError: the address or the credentials cannot be used.
        """
        store = member_store(name, spec, credentials, self._rng, self._options)
        store.fence(self._may_write)
        return KubeMember(store)
