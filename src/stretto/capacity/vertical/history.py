"""The use of containers: decaying histograms of CPU and of the peaks of memory.

Source: the Vertical Pod Autoscaler's ``recommender/model``. All instances of a container (one in
each pod of a workload) add to one history.
"""

import math
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from stretto.capacity.histograms.decaying import (
    BucketScale,
    DecayingHistogram,
    HistogramSample,
    StoredHistogram,
)

CPU_SCALE: Final = BucketScale(0.01, 1.05, 1000.0)
"""Buckets of CPU, in cores."""
MEMORY_SCALE: Final = BucketScale(1e7, 1.05, 1e12)
"""Buckets of memory, in bytes."""
CPU_WEIGHT: Final = 0.1
"""Weight of a CPU sample of a container without a request."""
MINUTE_S: Final = 60.0
"""Seconds between two samples of a complete history."""


class VerticalConfig(msgspec.Struct, frozen=True):
    """Parameters of history and recommendation."""

    #: Fraction added to percentiles.
    safety_margin: float = 0.15
    #: Minimum CPU of a pod, in milli-CPU; divided among its containers.
    pod_min_cpu_millicores: float = 25
    #: Minimum memory of a pod, in MiB; divided among its containers.
    pod_min_memory_mb: float = 250
    #: Percentile of the target.
    target_percentile: float = 0.9
    #: Percentile of the lower bound.
    lower_percentile: float = 0.5
    #: Percentile of the upper bound.
    upper_percentile: float = 0.95
    #: Seconds of history for a confidence of 1.
    confidence_interval_s: float = 86_400.0
    #: Seconds in which the weight of a CPU sample halves.
    cpu_half_life_s: float = 86_400.0
    #: Seconds in which the weight of a memory peak halves.
    memory_half_life_s: float = 86_400.0
    #: Seconds of the interval of which one memory peak counts.
    memory_interval_s: float = 86_400.0
    #: Factor on the memory at which a container was killed.
    oom_bump_ratio: float = 1.2
    #: Minimum number of bytes added to it.
    oom_min_bump: float = 100 * 2**20
    #: Seconds after the last CPU sample at which a history is dropped.
    expiry_s: float = 8 * 86_400.0


@dataclass(frozen=True)
class CpuHistory:
    """Duration and number of CPU samples."""

    #: Time of the first sample; infinite without one.
    first_s: float = math.inf
    #: Time of the last sample.
    last_s: float = -math.inf
    #: Number of samples.
    count: int = 0

    def with_sample(self, at_s: float) -> "CpuHistory":
        """Return the history with one more sample."""
        return CpuHistory(min(self.first_s, at_s), max(self.last_s, at_s), self.count + 1)

    def confidence(self, interval_s: float) -> float:
        """Confidence: 0 without samples, 1 for ``interval_s`` with a sample each minute."""
        if not self.count:
            return 0.0
        lifespan = (self.last_s - self.first_s) / interval_s
        return min(lifespan, self.count / (interval_s / MINUTE_S))


class ContainerHistograms:
    """The history of a container over all pods of a workload."""

    def __init__(self, config: VerticalConfig) -> None:
        """Start without samples."""
        #: Use of CPU in cores.
        self.cpu = DecayingHistogram(CPU_SCALE, config.cpu_half_life_s)
        #: Peaks of memory in bytes: one for each instance and interval.
        self.memory = DecayingHistogram(MEMORY_SCALE, config.memory_half_life_s)
        #: Duration and number of the CPU samples.
        self.sampled = CpuHistory()

    def add_cpu(self, cores: float, at_s: float) -> None:
        """Add a sample of CPU."""
        self.cpu.add(int(cores * 1000) / 1000, CPU_WEIGHT, at_s)
        self.sampled = self.sampled.with_sample(at_s)

    def restore(self, cpu: StoredHistogram, memory: StoredHistogram, sampled: CpuHistory) -> None:
        """Replace the history by a stored one."""
        self.cpu.restore(cpu)
        self.memory.restore(memory)
        self.sampled = sampled

    def reload(self) -> None:
        """Store the histograms and load them again, as a restart does."""
        self.restore(self.cpu.stored(), self.memory.stored(), self.sampled)


class MemoryWindow(msgspec.Struct, frozen=True):
    """The interval of an instance of which one peak of memory counts."""

    #: End of the interval, in seconds since the epoch.
    end_s: float
    #: Largest measurement in bytes; 0 without one.
    usage: int = 0
    #: Bytes needed after an out-of-memory kill; 0 without one.
    kill: int = 0

    @property
    def peak(self) -> int:
        """The peak that counts, in bytes."""
        return max(self.usage, self.kill)


class ContainerHistory:
    """The samples of one instance of a container."""

    def __init__(
        self,
        config: VerticalConfig,
        use: ContainerHistograms | None = None,
        window: MemoryWindow | None = None,
        killed_s: float = -math.inf,
    ) -> None:
        """Start without samples.

        Args:
            config: parameters.
            use: the history to which the instance adds; ``None`` for one of its own.
            window: the current interval of memory if the history contains its peak; ``None``: the
                first sample begins an interval.
            killed_s: time of the last kill in the history, in seconds since the epoch.
        """
        self._config = config
        #: The history to which the instance adds.
        self.use = use or ContainerHistograms(config)
        #: The current interval of memory; ``None`` without samples.
        self.window = window
        #: Time of the last kill in the history, in seconds since the epoch.
        self.killed_s = killed_s
        self._cpu_at_s = -math.inf
        self._memory_at_s = -math.inf

    def add_cpu(self, cores: float, at_s: float) -> bool:
        """Add a sample; returns false if it is not newer than the last one."""
        if at_s <= self._cpu_at_s:
            return False
        self._cpu_at_s = at_s
        self.use.add_cpu(cores, at_s)
        return True

    def add_memory(self, size: float, at_s: float) -> bool:
        """Add a sample in bytes; returns false if it is older than the last one."""
        if at_s < self._memory_at_s:
            return False
        self._add_peak(int(size), at_s, killed=False)
        return True

    def add_kill(self, size: float, at_s: float) -> bool:
        """Add an out-of-memory kill at ``size`` bytes.

        Returns false if it is older than the last sample by more than an interval.
        """
        if at_s < self._memory_at_s - self._config.memory_interval_s:
            return False
        self.killed_s = max(self.killed_s, at_s)
        used = max(int(size), 0 if self.window is None else self.window.usage)
        bumped = max(used + int(self._config.oom_min_bump), int(used * self._config.oom_bump_ratio))
        self._add_peak(bumped, at_s, killed=True)
        return True

    def _add_peak(self, size: int, at_s: float, *, killed: bool) -> None:
        self._memory_at_s = at_s
        old = self.window or MemoryWindow(at_s)
        interval = self._config.memory_interval_s
        if at_s < old.end_s:
            if not old.peak or size <= old.peak:
                return
            self.use.memory.subtract(HistogramSample(old.peak, 1.0, old.end_s))
        else:
            ended = (at_s - old.end_s) // interval + 1
            old = MemoryWindow(old.end_s + ended * interval)
        self.use.memory.add(size, 1.0, old.end_s)
        field = "kill" if killed else "usage"
        self.window = replace(old, **{field: size})
