"""A local cluster: its parts, and the step that runs controllers and scheduler."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from stretto.api.wire.kinds import NAMESPACE, NODE
from stretto.base.clock import Clock
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.store import Store
from stretto.web.api.internal import ApiClient
from stretto.web.api.server import ApiServer
from stretto.web.local.autoscaling.assembly import scaling_controllers, served_use
from stretto.web.local.controllers.assembly import (
    SimulatedNodes,
    local_controllers,
    make_local_objects,
    node_controllers,
)
from stretto.web.local.store import AdmittingStore
from stretto.workloads.cluster import LocalCluster, event_recorders

_NAME = "local"
_STEPS = 64
"""Number of scheduler steps between two turns of the network."""
_KEYS = 64
"""Number of reconciled keys between two turns of the network."""


class _NodeHead(msgspec.Struct):
    """Metadata of a node."""

    #: Its name.
    name: str


class _NamedNode(msgspec.Struct):
    """A node of which only the name is decoded."""

    #: Its metadata.
    metadata: _NodeHead


@dataclass(frozen=True)
class LocalParts:
    """The parts of a local cluster besides the API."""

    #: Simulated nodes, as JSON.
    nodes: Sequence[bytes] = ()
    #: True if the controllers of workloads run here; the kubelets of simulated nodes always run.
    controllers: bool = True
    #: Configuration of the scheduler; ``None``: no scheduler runs.
    plane: PlaneConfig | None = None
    #: Seconds between two heartbeats of a simulated node.
    heartbeat_s: float = 10.0
    #: True if kubelets write events about containers: several per start of a pod.
    kubelet_events: bool = True
    #: PEM certificate of the server's authority, for pods; empty for plain HTTP.
    authority: bytes = b""
    #: Calls the admission webhooks for writes of controllers; ``None``: none are called.
    start_reviews: Callable[..., None] | None = None


class LocalClusterProcess:
    """Controllers and scheduler over the store of an API server."""

    def __init__(self, server: ApiServer, store: Store, clock: Clock, parts: LocalParts) -> None:
        """Create the nodes that do not exist yet and start the parts."""
        self._server = server
        self._clock = clock
        client = ApiClient(server.state, "kube-controller-manager", parts.start_reviews)
        #: Writes to the server on behalf of its components.
        self.client = client
        admitting = AdmittingStore(store, client)
        self._create_nodes(store, parts.nodes)
        self._loop = ReconcileLoop(clock)
        if parts.controllers or parts.nodes:
            self._add_controllers(admitting, client, parts)
        #: The scheduler; ``None`` if there is none.
        self.plane = None if parts.plane is None else Plane(parts.plane, store, clock)

    def _create_nodes(self, store: Store, bodies: Sequence[bytes]) -> None:
        if bodies:
            store.create(NODE, bodies)

    def _add_controllers(self, store: Store, client: ApiClient, parts: LocalParts) -> None:
        cache = self._loop.add_store(_NAME, store)
        cache.follow(NAMESPACE)
        recorders = event_recorders(store, self._clock, kubelets=parts.kubelet_events)
        cluster = LocalCluster(cache, self._clock, recorders)
        state = self._server.state
        nodes = SimulatedNodes(_names(parts.nodes), parts.heartbeat_s, parts.controllers)
        self._loop.add_controllers(node_controllers(cluster, state, client, nodes))
        use = served_use(cluster, client)
        if not parts.controllers:
            return
        make_local_objects(client)
        authority = parts.authority
        self._loop.add_controllers(local_controllers(cluster, cache, state, client, authority))
        scaling = scaling_controllers(cache, use, self._clock, client, parts.plane)
        self._loop.add_controllers(scaling)

    def step(self) -> bool:
        """Run a small step of all parts; return whether more work may be due at once."""
        self._server.tick()
        moved = self._loop.step(_KEYS) > 0
        if self.plane is not None:
            for _ in range(_STEPS):
                if not self.plane.step():
                    break
                moved = True
        return moved

    def next_due(self) -> float:
        """Return the seconds until a part has work without a change; at most one."""
        now = self._clock.monotonic()
        times = [now + 1.0]
        due = self._loop.next_due()
        if due is not None:
            times.append(due)
        if self.plane is not None:
            times.append(self.plane.next_due())
        return max(0.0, min(times) - now)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call a function whenever the store has changed."""
        self._server.state.storage.store.subscribe(lambda _: callback())

    def close(self) -> None:
        """Stop the scheduler."""
        if self.plane is not None:
            self.plane.close()


def _names(nodes: Sequence[bytes]) -> list[str]:
    """The names of nodes."""
    return [msgspec.json.decode(each, type=_NamedNode).metadata.name for each in nodes]
