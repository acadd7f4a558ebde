"""Objects of a real server, and lists of them that several replays share."""

from collections.abc import Callable
from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.federation.connection.kube import FIELD_MANAGER
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import Listing, Store
from stretto_lab.control_plane.cluster import ControlPlane

BUSY: Final = KubeOptions(
    connect=10.0, write_timeout=15.0, read_timeout=20.0, answer=20.0, field_manager=FIELD_MANAGER
)
"""Timeouts of requests to members on a busy machine."""


def store_of(plane: ControlPlane) -> KubeStore:
    """The objects of a server."""
    return KubeStore(KubeconfigAccess(plane.kubeconfig), Rng(5))


class CachedLists:
    """Lists of a server from the caches of the controllers; they need no request."""

    def __init__(self, fleet: Callable[[], ClusterFleet | None], name: str) -> None:
        """Initialize for a server.

        Args:
            fleet: returns the fleet of the controllers; ``None`` while they do not run.
            name: name of the server.
        """
        self._fleet = fleet
        self._name = name

    def list(self, kind: Kind) -> Listing:
        """The cached objects of a kind; empty for a server that is not connected."""
        fleet = self._fleet()
        if fleet is None:
            return Listing([], 0)
        cache = fleet.host if self._name == HOST else fleet.member(self._name)
        found = cache.follow(kind) if cache is not None else ()
        return Listing([each.record for each in found], 0)


class RecentLists:
    """Lists of a server that are at most some seconds old.

    An outcome is compared repeatedly until it occurs, and several replays do this in parallel: each
    kind is listed once for all of them.
    """

    def __init__(self, store: Store, clock: Clock, age: float) -> None:
        """Start without lists.

        Args:
            store: the server.
            clock: time.
            age: seconds after which a list is repeated.
        """
        self._store = store
        self._clock = clock
        self._age = age
        self._lists: dict[Kind, tuple[float, Listing]] = {}
        self._is_frozen = False

    def list(self, kind: Kind) -> Listing:
        """The objects of a kind."""
        now = self._clock.monotonic()
        found = self._lists.get(kind)
        if found is None or (now - found[0] > self._age and not self._is_frozen):
            found = self._lists[kind] = now, self._store.list(kind)
        return found[1]

    def freeze(self) -> None:
        """Repeat all lists once, and keep them until the server answers again."""
        for kind in tuple(self._lists):
            self._lists[kind] = self._clock.monotonic(), self._store.list(kind)
        self._is_frozen = True

    def thaw(self) -> None:
        """Repeat lists again, because the server answers."""
        self._is_frozen = False
