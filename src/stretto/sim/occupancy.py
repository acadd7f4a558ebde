"""Samples of a cluster's occupancy and of its pending pods."""

from typing import Final, NamedTuple

import numpy as np

from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.resources import CPU, MEMORY

GPU: Final = "gpu"
"""Name for the devices of all kinds together."""
NAMES: Final = ("cpu", "memory", GPU)
"""Names of the sampled resources."""


class OccupancySample(NamedTuple):
    """Occupancy at one instant."""

    #: Second.
    time_s: float
    #: Used part of the allocatable amount, 0..1, in the order of ``NAMES``.
    used: tuple[float, float, float]
    #: Pending pods.
    pending: int


class OccupancySampler:
    """Samples the occupancy of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Start without samples."""
        #: All samples, in order.
        self.levels: list[OccupancySample] = []
        self._cluster = cluster

    def sample(self, time: float, pods: int) -> None:
        """Add a sample; ``pods`` is the number of existing pods, bound or pending."""
        cluster = self._cluster
        states = cluster.pods.state[: cluster.pods.length]
        placed = int(np.isin(states, (PodState.BOUND, PodState.ASSUMED, PodState.NOMINATED)).sum())
        used = (self._part(CPU), self._part(MEMORY), self._devices())
        self.levels.append(OccupancySample(time, used, max(0, pods - placed)))

    def mean(self) -> dict[str, float]:
        """Mean occupancy over time, by name; devices are omitted if no node has any."""
        if len(self.levels) < 2:
            return {name: round(value, 4) for name, value in self.peak().items()}
        times = np.array([level.time_s for level in self.levels])
        spans = np.diff(times)
        whole = max(float(spans.sum()), 1e-9)
        used = np.array([level.used for level in self.levels])[:-1]
        means = (used * spans[:, None]).sum(axis=0) / whole
        return self._named(means.tolist())

    def peak(self) -> dict[str, float]:
        """Highest occupancy of all samples, by name."""
        if not self.levels:
            return {}
        return self._named(np.array([level.used for level in self.levels]).max(axis=0).tolist())

    def _named(self, values: list[float]) -> dict[str, float]:
        present = (True, True, bool((self._cluster.ledger.devices.kind > 0).any()))
        found = zip(NAMES, values, present, strict=True)
        return {name: round(value, 4) for name, value, exists in found if exists}

    def _part(self, column: int) -> float:
        ledger = self._cluster.ledger
        whole = int(ledger.alloc[:, column].sum())
        return float(ledger.used[:, column].sum() / whole) if whole else 0.0

    def _devices(self) -> float:
        devices = self._cluster.ledger.devices
        present = devices.kind > 0
        whole = int(present.sum()) * WHOLE
        return 1.0 - float(devices.free[present].sum()) / whole if whole else 0.0
