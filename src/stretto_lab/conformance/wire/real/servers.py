"""A host and the members of a recording on real API servers, with the controllers in this process.

The servers serve the kinds of the recording and have its nodes; the clusters join with the labels
and taints that they had. Objects that the servers create themselves stay on the host.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from stretto.base.clock import Clock
from stretto.base.errors import TimeoutExpiredError
from stretto.base.rng import Rng
from stretto.federation.assembly import Federation, FederationParts
from stretto.federation.connection.kube import KubeConnector
from stretto.federation.fleet import is_ready
from stretto_lab.conformance.wire.real import preparation
from stretto_lab.conformance.wire.real.stores import BUSY, CachedLists, RecentLists, store_of
from stretto_lab.conformance.wire.scenario import RecordedCluster
from stretto_lab.conformance.wire.setup import settings_of
from stretto_lab.conformance.wire.webhooks import ScenarioWebhooks
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

Fields = dict[str, Any]

HOST: Final = "host"
"""Name of the host among the servers."""
WITHIN: Final = 600.0
"""Seconds within which all clusters join, also on a busy machine."""
STEP: Final = 0.1
"""Seconds between two steps of the controllers."""
AGE: Final = 0.5
"""Seconds after which comparisons list objects again."""
_MEMBER: Final = ControlPlaneConfig(
    parts=("kube-controller-manager", "kube-scheduler", "kwok"),
    controllers="*,-persistentvolumeclaim-protection-controller,-node-lifecycle-controller",
)
"""The recorded members had no controllers that protect claims or taint nodes."""


class RealServers:
    """Running servers by name, and the controllers."""

    def __init__(self, planes: Mapping[str, ControlPlane], common: Fields, clock: Clock) -> None:
        """Prepare the servers.

        Args:
            planes: the host and the members by name.
            common: what all scenarios share: kinds, nodes and configurations.
            clock: real time.
        """
        #: The servers by name.
        self.planes = planes
        #: Stores of the servers by name.
        self.stores = {name: store_of(each) for name, each in planes.items()}
        #: Their objects by name of the server, for comparisons.
        self.lists = {name: RecentLists(x, clock, AGE) for name, x in self.stores.items()}
        #: The webhook servers of the scenarios.
        self.webhooks = ScenarioWebhooks(clock)
        #: Real time.
        self.clock = clock
        preparation.prepare_host(planes[HOST], self.stores[HOST], common)
        for name in self.members:
            preparation.prepare_member(planes[name], name, common)
        #: The controllers.
        self.federation = Federation(
            self.stores[HOST],
            clock,
            settings_of(common),
            KubeConnector(Rng(1), BUSY),
            FederationParts(self.webhooks),
        )
        fleet = self.federation.fleet
        #: The same from the caches of the controllers, which cost no request.
        self.caches = {name: CachedLists(partial(fleet.member, name)) for name in self.members}
        self.caches[HOST] = CachedLists(lambda: fleet.host)

    @property
    def members(self) -> list[str]:
        """Names of the members."""
        return [name for name in self.planes if name != HOST]

    def join(self, clusters: Sequence[RecordedCluster]) -> None:
        """Let clusters join, and wait until they are ready.

        Raises:
            TimeoutExpiredError: one is not ready in time.
        """
        for each in clusters:
            preparation.join(self.planes[HOST], self.planes[each.name], each)
        wanted = {each.name for each in clusters}

        def joined() -> bool:
            fleet = self.federation.fleet
            return wanted <= {x.record.name for x in fleet.clusters if is_ready(x)}

        if not self.run_until(joined, WITHIN):
            text = str(dict(self.federation.loop.errors))
            raise TimeoutExpiredError(f"joining {', '.join(sorted(wanted))}", text)

    def run_until(self, holds: Callable[[], bool], within: float) -> bool:
        """Run the controllers until something holds, or for some seconds; whether it holds."""
        end = self.clock.monotonic() + within
        while True:
            self.step()
            if holds():
                return True
            if self.clock.monotonic() >= end:
                return False

    def step(self) -> None:
        """Let the controllers do what they have to do, and wait a moment."""
        self.federation.loop.step()
        self.clock.sleep(STEP)

    def close(self) -> None:
        """Stop the controllers and close all connections."""
        self.federation.close()
        for each in self.stores.values():
            each.close()


@contextmanager
def real_servers(common: Fields, clock: Clock) -> Iterator[RealServers]:
    """Start a host and the members of a recording; all at the same time."""
    planes = {HOST: ControlPlane()}
    planes |= {name: ControlPlane(_MEMBER) for name in common["clusters"]}
    with ExitStack() as stack, ThreadPoolExecutor(len(planes)) as pool:
        list(pool.map(stack.enter_context, planes.values()))
        servers = RealServers(planes, common, clock)
        stack.callback(servers.close)
        yield servers
