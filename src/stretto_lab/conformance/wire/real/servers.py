"""A host and the members of a recording on real API servers, with the controllers in this process.

The servers serve the kinds of the recording and have its nodes; the clusters join with their
recorded labels and taints. Objects that the servers create themselves stay on the host. A silenced
member has a suspended API server: connections stay open without answers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from stretto.base.clock import Clock
from stretto.base.errors import TimeoutExpiredError
from stretto.base.rng import Rng
from stretto.federation.assembly import Federation, FederationParts
from stretto.federation.connection.kube import KubeConnector
from stretto.federation.fleet import HOST, ClusterFleet, is_ready
from stretto_lab.conformance.wire.real import preparation
from stretto_lab.conformance.wire.real.stores import BUSY, CachedLists, RecentLists, store_of
from stretto_lab.conformance.wire.scenario import RecordedCluster
from stretto_lab.conformance.wire.setup import settings_of
from stretto_lab.conformance.wire.webhooks import ScenarioWebhooks
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

Fields = dict[str, Any]

WITHIN: Final = 600.0
"""Seconds within which all clusters join, also on a busy machine."""
CALM: Final = 10.0
"""Seconds for which the controllers run before a scenario that uses the servers exclusively."""
THREADS: Final = 2
"""Threads for joining and leaving, so that a member that does not answer delays no other one."""
STEP: Final = 0.1
"""Seconds between two steps of the controllers."""
AGE: Final = 0.5
"""Seconds after which comparisons list objects again."""
_MEMBER: Final = ControlPlaneConfig(
    parts=("kube-controller-manager", "kube-scheduler", "kwok"),
    controllers="*,-persistentvolumeclaim-protection-controller,-node-lifecycle-controller",
)
"""The recorded members had no controllers that protect PVCs or taint nodes."""


class RealServers:
    """Running servers by name, and the controllers."""

    #: Name of the host.
    host: Final = HOST

    def __init__(self, planes: Mapping[str, ControlPlane], common: Fields, clock: Clock) -> None:
        """Prepare the servers.

        Args:
            planes: the host and the members by name.
            common: common data of all scenarios: kinds, nodes and configurations.
            clock: real time.
        """
        #: The servers by name.
        self.planes = planes
        #: Stores of the servers by name.
        self.stores = {name: store_of(each) for name, each in planes.items()}
        #: Objects by name of the server, for comparisons.
        self.lists = {name: RecentLists(x, clock, AGE) for name, x in self.stores.items()}
        #: The webhook servers of the scenarios.
        self.webhooks = ScenarioWebhooks(clock)
        #: Real time.
        self.clock = clock
        preparation.prepare_host(planes[HOST], self.stores[HOST], common)
        for name in self.members:
            preparation.prepare_member(planes[name], name, common)
        #: Objects of the servers from the caches of the controllers, which need no request.
        self.caches = {name: CachedLists(lambda: self.fleet, name) for name in planes}
        self._settings = settings_of(common)
        self._federation: Federation | None = None

    @property
    def members(self) -> list[str]:
        """Names of the members."""
        return [name for name in self.planes if name != HOST]

    @property
    def fleet(self) -> ClusterFleet | None:
        """The fleet of the controllers; ``None`` while they do not run."""
        return self._federation.fleet if self._federation is not None else None

    def start(self) -> None:
        """Start the controllers."""
        parts = FederationParts(self.webhooks, THREADS)
        connector, host = KubeConnector(Rng(1), BUSY), self.stores[HOST]
        self._federation = Federation(host, self.clock, self._settings, connector, parts)

    def stop(self) -> None:
        """Stop the controllers."""
        if self._federation is not None:
            self._federation.close()
        self._federation = None

    def silence(self, name: str) -> None:
        """Suspend the API server of a member; its lists keep the present state."""
        self.lists[name].freeze()
        self.planes[name]["kube-apiserver"].pause()

    def resume(self, name: str) -> None:
        """Resume the API server of a member."""
        self.planes[name]["kube-apiserver"].resume()
        self.lists[name].thaw()

    def join(self, clusters: Sequence[RecordedCluster]) -> None:
        """Let clusters join, and wait until they are ready.

        Raises:
            TimeoutExpiredError: a cluster is not ready in time.
        """
        for each in clusters:
            preparation.join(self.planes[HOST], self.planes[each.name], each)
        wanted = {each.name for each in clusters}

        def joined() -> bool:
            ready = self.fleet.clusters if self.fleet is not None else ()
            return wanted <= {x.record.name for x in ready if is_ready(x)}

        if not self.run_until(joined, WITHIN):
            errors = self._federation.loop.errors if self._federation is not None else {}
            raise TimeoutExpiredError(f"joining {', '.join(sorted(wanted))}", str(dict(errors)))

    def run_until(self, holds: Callable[[], bool], within: float) -> bool:
        """Run the controllers until ``holds()`` is true; return false after ``within`` s."""
        end = self.clock.monotonic() + within
        while True:
            self.step()
            if holds():
                return True
            if self.clock.monotonic() >= end:
                return False

    def step(self) -> None:
        """Run one step of the controllers, and wait a moment."""
        if self._federation is not None:
            self._federation.loop.step()
        self.clock.sleep(STEP)

    def close(self) -> None:
        """Stop the controllers and close all connections."""
        self.stop()
        for each in self.stores.values():
            each.close()


@contextmanager
def real_servers(common: Fields, clock: Clock) -> Iterator[RealServers]:
    """Start a host and the members of a recording, one after another.

    A busy machine starts them in the same time as all at once, but each has the limit for itself.
    """
    planes = {HOST: ControlPlane()}
    planes |= {name: ControlPlane(_MEMBER) for name in common["clusters"]}
    with ExitStack() as stack:
        for each in planes.values():
            stack.enter_context(each)
        servers = RealServers(planes, common, clock)
        stack.callback(servers.close)
        yield servers
