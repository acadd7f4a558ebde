"""A member cluster of this process: a store, nodes, a plane and the controllers of workloads."""

from collections.abc import Sequence

from stretto.api.wire.kinds import NODE
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.control.reporting.reporter import ReportConfig
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore

_SCHEDULER_NAMES = frozenset({"", "default-scheduler"})
"""Every pod of a member that names no other scheduler."""
_REPORT = ReportConfig(events=False, scheduled=False)
"""Members report unschedulable pods, by which the federation moves them."""


class EmbeddedMember:
    """One member cluster."""

    def __init__(self, name: str, clock: Clock, rng: Rng, nodes: Sequence[bytes] = ()) -> None:
        """Create the store with its nodes, and a plane over it.

        Args:
            name: name of the cluster.
            clock: time of the whole fleet.
            rng: draws of the store and of the plane.
            nodes: JSON of the nodes.
        """
        #: Name of the cluster.
        self.name = name
        #: The store.
        self.store = MemoryStore(clock, rng.child("store"))
        self.store.create(NODE, nodes)
        config = PlaneConfig(
            profile=load_profile("default"),
            cluster=ClusterConfig(scheduler_names=_SCHEDULER_NAMES),
            seed=rng.child("plane").seed,
            tier="numpy",
            report=_REPORT,
        )
        #: Its scheduler.
        self.plane = Plane(config, self.store, clock)

    def step(self) -> bool:
        """Schedule what is pending; whether anything changed in the store."""
        before = self.store.version
        self.plane.run_until_idle()
        return self.store.version != before

    def next_due(self) -> float:
        """Monotonic time of the plane's next work; infinity if there is none."""
        return self.plane.next_due()
