"""Requests for a container from its use, with bounds that narrow as the history grows.

Source: the Vertical Pod Autoscaler's ``recommender/model`` and ``recommender/logic``. Amounts are
milli-CPU and bytes; every step truncates.
"""

import math
from dataclasses import dataclass
from typing import Final

import msgspec

from stretto.capacity.histograms.decaying import BucketScale, DecayingHistogram

MOST: Final = 10**14
"""Largest recommended amount: without a history there is no upper bound."""
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


class ContainerHistory:
    """The use of one container."""

    def __init__(self, config: VerticalConfig) -> None:
        """Start without samples."""
        self._config = config
        self.cpu = DecayingHistogram(CPU_SCALE, config.cpu_half_life_s)
        self.memory = DecayingHistogram(MEMORY_SCALE, config.memory_half_life_s)
        self.sampled = CpuHistory()
        self._memory_at_s = -math.inf
        #: End of the interval of which one peak counts; ``None`` without samples.
        self._window_end_s: float | None = None
        self._usage_peak = 0
        self._kill_peak = 0

    def add_cpu(self, cores: float, at_s: float) -> bool:
        """Add a sample; returns false if it is not newer than the last one."""
        if at_s <= self.sampled.last_s:
            return False
        self.cpu.add(int(cores * 1000) / 1000, CPU_WEIGHT, at_s)
        self.sampled = self.sampled.with_sample(at_s)
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
        used = max(int(size), self._usage_peak)
        bumped = max(used + int(self._config.oom_min_bump), int(used * self._config.oom_bump_ratio))
        self._add_peak(bumped, at_s, killed=True)
        return True

    def reload(self) -> None:
        """Store the histograms and load them again, as a restart does."""
        self.cpu.restore(self.cpu.stored())
        self.memory.restore(self.memory.stored())

    def _add_peak(self, size: int, at_s: float, *, killed: bool) -> None:
        self._memory_at_s = at_s
        end = at_s if self._window_end_s is None else self._window_end_s
        interval = self._config.memory_interval_s
        if at_s < end:
            old = max(self._usage_peak, self._kill_peak)
            if not old or size <= old:
                return
            self.memory.subtract(old, 1.0, end)
        else:
            end += ((at_s - end) // interval + 1) * interval
            self._usage_peak = self._kill_peak = 0
        self._window_end_s = end
        self.memory.add(size, 1.0, end)
        if killed:
            self._kill_peak = size
        else:
            self._usage_peak = size


class VerticalBounds(msgspec.Struct, frozen=True):
    """Recommended requests: milli-CPU and bytes."""

    #: Lower bound: with a smaller request, the container should be restarted.
    lower: tuple[int, int]
    #: Recommended request.
    target: tuple[int, int]
    #: Upper bound: with a larger request, the container should be restarted.
    upper: tuple[int, int]


def recommend(history: ContainerHistory, config: VerticalConfig, containers: int) -> VerticalBounds:
    """Requests of a container; ``containers`` is the number of containers of its pod."""
    least = (
        _scaled(int(config.pod_min_cpu_millicores), 1 / containers),
        _scaled(int(config.pod_min_memory_mb * 2**20), 1 / containers),
    )
    confidence = history.sampled.confidence(config.confidence_interval_s)

    def bound(percentile: float, factor: float = 1.0) -> tuple[int, int]:
        amounts = (
            int(history.cpu.percentile(percentile) * 1000),
            int(history.memory.percentile(percentile)),
        )
        with_margin = (each + _scaled(each, config.safety_margin) for each in amounts)
        cpu, memory = (_scaled(each, factor) for each in with_margin)
        return max(cpu, least[0]), max(memory, least[1])

    return VerticalBounds(
        bound(config.lower_percentile, _power(0.001, confidence, -2.0)),
        bound(config.target_percentile),
        bound(config.upper_percentile, _power(1.0, confidence, 1.0)),
    )


def _power(multiplier: float, confidence: float, exponent: float) -> float:
    """Factor of a bound; without confidence, 0 or infinity."""
    if not confidence:
        return 0.0 if exponent < 0 else math.inf
    factor: float = (1 + multiplier / confidence) ** exponent
    return factor


def _scaled(amount: int, factor: float) -> int:
    """``amount`` times ``factor``, truncated, between 0 and :data:`MOST`."""
    if not amount:
        return 0
    return int(min(amount * factor, MOST))
