"""Samples of a cluster's occupancy and of its pending pods."""

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

import numpy as np

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.work.changes import ClusterChanges

GPU: Final = "gpu"
"""Name of the devices of all kinds together."""
NAMES: Final = ("cpu", "memory", GPU)
"""Names of the sampled resources."""
KEPT: Final = 1000
"""Maximum number of samples of a timeline; beyond it every second sample is dropped."""
CHEAP_S: Final = 0.0005
"""Maximum duration of a sample, in seconds, at which a sample is taken after every change."""
COST_PART: Final = 50
"""Slower samples are spaced by this multiple of their duration."""


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
        """Used part of a resource; a preemptor is not counted in addition to its victims."""
        ledger = self._cluster.ledger
        alloc = ledger.alloc[:, column]
        whole = int(alloc.sum())
        return float(np.minimum(ledger.used[:, column], alloc).sum() / whole) if whole else 0.0

    def _devices(self) -> float:
        devices = self._cluster.ledger.devices
        present = devices.kind > 0
        whole = int(present.sum()) * WHOLE
        return 1.0 - float(devices.free[present].sum()) / whole if whole else 0.0


class OccupancyTimeline:
    """Samples of a plane while it runs, bounded in their number and share of the run time."""

    def __init__(self, plane: Plane, seconds_of: Callable[[float], float]) -> None:
        """Sample from now on; ``seconds_of`` maps clock times to seconds of the scenario."""
        self._plane = plane
        self._seconds_of = seconds_of
        self._start = plane.clock.monotonic()
        self._sampler = OccupancySampler(plane.cluster)
        #: Clock seconds since the start of each sample.
        self._clock_s: list[float] = []
        self._next, self._cost = -inf, inf
        self._sample()
        plane.observers.append(self._observe)
        plane.witnesses.append(self._witness)

    def samples(self) -> tuple[list[OccupancySample], bool]:
        """The samples up to now; true in second place if their times are scenario seconds.

        A scenario in which all pods arrive at once takes no scenario seconds at speed 0. Then the
        times are clock seconds.
        """
        self._sample()
        levels = self._sampler.levels
        if levels[-1].time_s > levels[0].time_s:
            return levels, True
        timed = zip(levels, self._clock_s, strict=True)
        return [level._replace(time_s=time) for level, time in timed], False

    def _observe(self, step: Step) -> None:
        del step
        self._sample_if_due()

    def _witness(self, changes: ClusterChanges, now: float) -> None:
        del changes, now
        self._sample_if_due()

    def _sample_if_due(self) -> None:
        """Sample, unless samples are expensive and the last one is recent."""
        if self._plane.clock.monotonic() >= self._next:
            self._sample()

    def _sample(self) -> None:
        began = self._plane.clock.monotonic()
        self._sampler.sample(self._seconds_of(began), len(self._plane.cluster.pods))
        self._clock_s.append(began - self._start)
        if len(self._clock_s) > KEPT:
            del self._clock_s[1::2], self._sampler.levels[1::2]
        ended = self._plane.clock.monotonic()
        self._cost = min(self._cost, ended - began)
        self._next = ended + COST_PART * self._cost if self._cost > CHEAP_S else -inf
