"""Warm-up: place workloads in memory, so that kernels are compiled before a measurement.

It runs as a separate process (``python -m stretto_lab.bench.kube.warm PROFILE WORKLOAD...``),
because compilation raises the peak memory of its process.
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
from stretto.sim.writes import require_accepted
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto_lab.bench.kube.shapes import (
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
from stretto_lab.bench.kube.watch import PodWatcher

NODES: Final = 50
"""Nodes of a warm-up."""
_POLLS: Final = 30
"""Polls, one virtual second apart, for pods that wait for evictions."""


class WarmUp:
    """A workload in a memory store, with a watcher."""

    def __init__(self, shape: WorkloadShape) -> None:
        """Create nodes, running pods and pending pods."""
        #: Pod counts.
        self.counts = workload_counts(shape, NODES)
        #: Virtual time.
        self.clock = ManualClock()
        #: The store.
        self.store = MemoryStore(self.clock, Rng(0))
        pods = self.counts.pods + self.counts.steady
        self._create(NAMESPACE, [b'{"metadata": {"name": "%s"}}' % n.encode() for n in SPACES])
        self._create(NODE, list(node_bodies(shape, NODES)))
        self._create(POD, list(running_bodies(shape, NODES, NODES)))
        self._create(POD_GROUP, group_bodies(shape, pods))
        #: Observations of the pods.
        self.seen = PodWatcher(self.store, self.clock, gangs=shape.gang > 1)
        self._create(POD, pod_bodies(shape, NODES, range(pods)))

    def place(self, profile: str = "default", tier: str = "auto", batch: int = BATCH) -> None:
        """Place the pods by a plane, in batches."""
        cluster = ClusterConfig(scheduler_names=frozenset({SCHEDULER}))
        config = PlaneConfig(load_profile(profile), cluster=cluster, tier=tier, batch=batch)
        plane = Plane(config, self.store, self.clock)
        for _ in range(_POLLS):
            plane.run_until_idle()
            self.seen.look(1.0)
        plane.close()

    def _create(self, kind: Kind, bodies: Sequence[bytes]) -> None:
        require_accepted(self.store.create(kind, bodies))


def main(words: Sequence[str]) -> int:
    """Place the named workloads under a profile."""
    profile, *names = words
    for name in names:
        for batch in (BATCH, 1):  # single pods use other kernels
            WarmUp(shape_named(name)).place(profile, batch=batch)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
