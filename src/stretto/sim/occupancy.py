"""How full a plane's cluster is and how many pods wait, looked at from time to time."""

from typing import Final, NamedTuple

import numpy as np

from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.resources import CPU, MEMORY

GPU: Final = "gpu"
"""Name under which devices of all kinds are counted together."""
NAMES: Final = ("cpu", "memory", GPU)
"""What is looked at."""


class OccupancySample(NamedTuple):
    """One look."""

    #: Second.
    time_s: float
    #: Part in use of what the nodes offer, 0..1, in the order of ``NAMES``.
    used: tuple[float, float, float]
    #: Pods that wait.
    pending: int


class OccupancyMeter:
    """Looks at one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Nothing seen yet."""
        #: Every look, in order.
        self.levels: list[OccupancySample] = []
        self._cluster = cluster

    def look(self, time: float, pods: int) -> None:
        """Note how it stands; ``pods`` exist, on nodes or waiting."""
        cluster = self._cluster
        states = cluster.pods.state[: cluster.pods.length]
        held = int(np.isin(states, (PodState.BOUND, PodState.ASSUMED, PodState.NOMINATED)).sum())
        used = (self._part(CPU), self._part(MEMORY), self._devices())
        self.levels.append(OccupancySample(time, used, max(0, pods - held)))

    def mean(self) -> dict[str, float]:
        """Use over time, by name; what the nodes have nothing of is left out."""
        if len(self.levels) < 2:
            return {name: round(value, 4) for name, value in self.peak().items()}
        times = np.array([level.time_s for level in self.levels])
        spans = np.diff(times)
        whole = max(float(spans.sum()), 1e-9)
        used = np.array([level.used for level in self.levels])[:-1]
        means = (used * spans[:, None]).sum(axis=0) / whole
        return self._named(means.tolist())

    def peak(self) -> dict[str, float]:
        """Most in use at any look, by name."""
        if not self.levels:
            return {}
        return self._named(np.array([level.used for level in self.levels]).max(axis=0).tolist())

    def _named(self, values: list[float]) -> dict[str, float]:
        there = (True, True, bool((self._cluster.ledger.devices.kind > 0).any()))
        found = zip(NAMES, values, there, strict=True)
        return {name: round(value, 4) for name, value, has in found if has}

    def _part(self, column: int) -> float:
        ledger = self._cluster.ledger
        whole = int(ledger.alloc[:, column].sum())
        return float(ledger.used[:, column].sum() / whole) if whole else 0.0

    def _devices(self) -> float:
        devices = self._cluster.ledger.devices
        there = devices.kind > 0
        whole = int(there.sum()) * WHOLE
        return 1.0 - float(devices.free[there].sum()) / whole if whole else 0.0
