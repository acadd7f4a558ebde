"""Workloads placed once in memory: kernels that are not compiled yet are, before anybody measures.

A process of its own (``python -m stretto_lab.bench_kube.warm PROFILE WORKLOAD...``), because what a
kernel's first compilation takes stays in the memory of whoever compiles it.
"""

import sys
from collections.abc import Sequence
from typing import Final

from stretto.api.wire.kinds import NAMESPACE, NODE, POD, POD_GROUP, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.scheduler.loop import BATCH
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.world import require_accepted
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto_lab.bench_kube.shapes import (
    SCHEDULER,
    SPACES,
    WorkloadShape,
    group_bodies,
    node_bodies,
    pod_bodies,
    running_bodies,
    shape_named,
    workload_counts,
)
from stretto_lab.bench_kube.watch import PodWatcher

NODES: Final = 50
"""Nodes of a rehearsal."""
_LOOKS: Final = 30
"""Looks of a second (of virtual time) each, for pods that wait for others to leave."""


class WarmUp:
    """A workload in a store in memory, and what an onlooker saw of it."""

    def __init__(self, shape: WorkloadShape) -> None:
        """Nodes, running pods and pods to place; nobody places them yet."""
        #: Pods there are.
        self.counts = workload_counts(shape, NODES)
        #: Virtual time.
        self.clock = ManualClock()
        #: Everything.
        self.store = MemoryStore(self.clock, Rng(0))
        pods = self.counts.pods + self.counts.steady
        self._create(NAMESPACE, [b'{"metadata": {"name": "%s"}}' % n.encode() for n in SPACES])
        self._create(NODE, list(node_bodies(shape, NODES)))
        self._create(POD, list(running_bodies(shape, NODES, NODES)))
        self._create(POD_GROUP, group_bodies(shape, pods))
        #: What is seen of the pods.
        self.seen = PodWatcher(self.store, self.clock, gangs=shape.gang > 1)
        self._create(POD, pod_bodies(shape, NODES, range(pods)))

    def place(self, profile: str = "default", tier: str = "auto", batch: int = BATCH) -> None:
        """Let a plane place the pods, so many at once."""
        cluster = ClusterConfig(scheduler_names=frozenset({SCHEDULER}))
        config = PlaneConfig(load_profile(profile), cluster=cluster, tier=tier, batch=batch)
        plane = Plane(config, self.store, self.clock)
        for _ in range(_LOOKS):
            plane.run_until_idle()
            self.seen.look(1.0)
        plane.close()

    def _create(self, kind: Kind, bodies: Sequence[bytes]) -> None:
        require_accepted(self.store.create(kind, bodies))


def main(words: Sequence[str]) -> int:
    """Rehearse the named workloads under a profile."""
    profile, *names = words
    for name in names:
        for batch in (BATCH, 1):  # pods that come one by one have kernels of their own
            WarmUp(shape_named(name)).place(profile, batch=batch)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
