"""A whole world in virtual time: a store in memory, a clock that is told, and the real plane.

Every simulation starts here, so that what is measured is what runs: the same plane as in
production, told by its arguments that time is virtual and that the store loses nothing.
"""

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import NODE
from stretto.base.clock import ManualClock
from stretto.base.errors import InvariantBrokenError
from stretto.base.rng import Rng
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.framework.profile.profile import Profile
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.objects.objects import node_body
from stretto.plane import Plane, PlaneConfig
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Replies, WriteOutcome

AT_ONCE: Final = 4096
"""Objects written in one call: what a watch hands over in one go."""
POLLED: Final = 1 << 30
"""Events taken from a watch before anything is decided: all there are."""
WINDOW: Final = 8
"""Units of a blocking queue that are tried at once: where a pool is full, one or two start."""


class World(NamedTuple):
    """One plane with everything around it."""

    #: Virtual time.
    clock: ManualClock
    #: Where objects live.
    store: MemoryStore
    #: The scheduler.
    plane: Plane

    def poll(self) -> None:
        """Let the plane see all that has been written, before it decides anything."""
        now = self.clock.monotonic()
        while self.plane.pump.poll(now, POLLED):
            pass


class WorldConfig(msgspec.Struct, frozen=True):
    """What a world is built from."""

    #: Rules, policy and tie rule.
    profile: Profile
    #: Order of the queue: a name of ``QueuePolicy``.
    queue: str = "FifoSkip"
    #: Whether what does not fit is tried again; otherwise it is given up at once.
    retry: bool = True
    #: Resources managed device by device; none makes them plain counts.
    devices: bool = True
    #: Seed of every draw.
    seed: int = 0
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"


def build_world(config: WorldConfig, nodes: Sequence[FleetNode]) -> World:
    """A world with these nodes in it, already seen by the plane."""
    clock = ManualClock()
    rng = Rng(config.seed)
    store = MemoryStore(clock, rng.child("store"))
    cluster = ClusterConfig() if config.devices else ClusterConfig(device_kinds={})
    dispatcher = DispatcherConfig(
        other_queues=QueueConfig("default", policy=config.queue),
        retry=config.retry,
        schedule_timeout=inf,
        safety_net=inf,
        blocking_window=WINDOW,
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
    for low in range(0, len(nodes), AT_ONCE):
        require_accepted(
            store.create(NODE, [node_body(node) for node in nodes[low : low + AT_ONCE]])
        )
    world.poll()
    plane.run_until_idle()
    return world


def require_accepted(replies: Replies) -> None:
    """Every write went through; a store in memory has no other excuse than a bug of ours."""
    for reply in replies:
        if reply.outcome is not WriteOutcome.OK:
            reason = reply.message or reply.code.value
            raise InvariantBrokenError("the simulated store", reason, "report this as a bug")
