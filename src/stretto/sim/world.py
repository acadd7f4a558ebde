"""Simulated worlds: a memory store, a manual clock and the production plane.

Every simulation uses such a world, so it measures the production plane. The configuration has no
timeouts and no safety net, because the store loses no events.
"""

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.framework.profile.profile import Profile
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.objects.objects import node_body
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.writes import create_all, create_in_parts
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore

POLLED: Final = 1 << 30
"""Upper bound of events per poll before a decision: all of them."""
WINDOW: Final = 8
"""Units of a blocking queue that are tried at once; in a full pool, one or two start."""


class World(NamedTuple):
    """One plane with its store and clock."""

    #: Virtual time.
    clock: ManualClock
    #: Store of the objects.
    store: MemoryStore
    #: The scheduler.
    plane: Plane

    def poll(self) -> None:
        """Let the plane read all changes before it decides."""
        now = self.clock.monotonic()
        while self.plane.pump.poll(now, POLLED):
            pass

    def submit_pods(self, bodies: Sequence[bytes]) -> None:
        """Create pods in batches; the plane reads each batch without decisions."""
        for _ in create_in_parts(self.store, POD, bodies):
            self.poll()


class WorldConfig(msgspec.Struct, frozen=True):
    """Settings of a world."""

    #: Rules, weights and tie rule.
    profile: Profile
    #: Policy of the queue, by its name in ``QueuePolicy``.
    queue: str = "FifoSkip"
    #: True if units that do not fit are retried; otherwise they are given up at once.
    retry: bool = True
    #: True if GPUs are managed device by device; otherwise they are plain amounts.
    devices: bool = True
    #: Units of a blocking queue that are tried at once; 1 with several queues, so that the queues
    #: alternate unit by unit.
    window: int = WINDOW
    #: Seed of every draw.
    seed: int = 0
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"


def build_world(config: WorldConfig, nodes: Sequence[FleetNode]) -> World:
    """A world with these nodes, which the plane has already read."""
    clock = ManualClock()
    rng = Rng(config.seed)
    store = MemoryStore(clock, rng.child("store"))
    cluster = ClusterConfig() if config.devices else ClusterConfig(device_kinds={})
    dispatcher = DispatcherConfig(
        other_queues=QueueConfig("default", policy=config.queue),
        retry=config.retry,
        schedule_timeout=inf,
        safety_net=inf,
        blocking_window=config.window,
    )
    plane = Plane(
        PlaneConfig(
            profile=config.profile,
            cluster=cluster,
            dispatcher=dispatcher,
            seed=rng.child("plane").seed,
            tier=config.tier,
        ),
        store,
        clock,
    )
    world = World(clock, store, plane)
    create_all(store, NODE, [node_body(node) for node in nodes])
    world.poll()
    plane.run_until_idle()
    return world
