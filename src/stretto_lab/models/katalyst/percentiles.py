"""Percentiles of the use of a container, and the request that they recommend."""

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, NamedTuple

import msgspec

from stretto.capacity.histograms.decaying import BucketScale, DecayingHistogram

DAY_S: Final = 86_400.0
"""Seconds that samples must span, and maximum age of the newest sample."""
KIB: Final = 1 << 10
MIB: Final = 1 << 20
LEAST_CPU_WEIGHT: Final = 0.1
"""Weight of a sample of an idle container; other samples have their use as weight."""
PERCENTILE: Final = 0.9
"""Recommended percentile."""
OOM_VALID_S: Final = 7 * DAY_S
"""Age in seconds at which an out-of-memory kill is outdated."""
OOM_STEP: Final = 100 * MIB
"""Minimum number of bytes above the limit at which a container was killed."""
OOM_RATIO: Final = 1.2
"""Minimum factor on that limit."""


class RecommendedResource(Enum):
    """Resources that are recommended."""

    #: CPU in cores.
    CPU = "cpu"
    #: Memory in bytes.
    MEMORY = "memory"


_SCALES: Final = {
    RecommendedResource.CPU: BucketScale(0.01, 1.05, 1000.0),
    RecommendedResource.MEMORY: BucketScale(1e7, 1.05, 1e12),
}


class UseSample(NamedTuple):
    """One measurement."""

    #: Clock time in seconds.
    at_s: float
    #: Cores or bytes.
    value: float


class UseError(ValueError):
    """Error: there is too little use for a percentile; the message names the missing samples."""


class UseHistory:
    """The use of one resource of one container."""

    def __init__(self, resource: RecommendedResource, half_life_s: float = DAY_S) -> None:
        """Start without samples."""
        self._resource = resource
        self._histogram = DecayingHistogram(_SCALES[resource], half_life_s)
        self._first_s = math.inf
        self._last_s = -math.inf

    def add(self, samples: Sequence[UseSample]) -> None:
        """Add the measurements of one query: all of CPU, the peak of memory at the newest time.

        CPU samples are added by value, not by time.
        """
        if not samples:
            return
        times = [each.at_s for each in samples]
        if self._resource is RecommendedResource.MEMORY:
            newest = max(times)
            self._histogram.add(max(each.value for each in samples), 1.0, newest)
        else:
            for each in sorted(samples, key=lambda e: e.value):
                self._histogram.add(each.value, max(each.value, LEAST_CPU_WEIGHT), each.at_s)
        self._first_s = min(self._first_s, *times)
        self._last_s = max(self._last_s, *times)

    def percentile(self, part: float, now_s: float) -> float:
        """Return a percentile of the use.

        Raises:
            UseError: there are no samples, no recent ones, or they span less than a day.
        """
        if self._last_s == -math.inf:
            raise UseError("there are no samples yet")
        if now_s - self._last_s > DAY_S:
            raise UseError("there are no samples of the last 24 hours")
        if self._last_s - self._first_s < DAY_S:
            raise UseError("the samples span less than 24 hours")
        return self._histogram.percentile(part)


class OomRecord(msgspec.Struct, frozen=True):
    """An out-of-memory kill."""

    #: Namespace of the pod.
    namespace: str
    #: Name of the pod.
    pod: str
    #: Name of the container.
    container: str
    #: Memory limit in bytes.
    memory: int
    #: Clock time in seconds.
    at_s: float


class RecommendedWorkload(msgspec.Struct, frozen=True):
    """The workload of a recommendation."""

    #: Namespace.
    namespace: str
    #: Name of the workload, which is the prefix of the names of its pods.
    name: str

    def owns(self, pod: str) -> bool:
        """True if the name of a pod begins with the name of the workload."""
        return pod.startswith(self.name)


def recommended_cpu(cores: float, buffer: float) -> int:
    """Milli-CPU to request, truncated; ``buffer`` is the added fraction."""
    return int(cores * (1 + buffer) * 1000)


def recommended_memory(memory: float, buffer: float, least: float = 0.0) -> int:
    """Bytes to request, rounded up to whole KiB from 1 KiB on, and to whole MiB from 1 MiB on.

    Fractions of a byte do not count.

    Args:
        memory: percentile of use.
        buffer: added fraction.
        least: minimum bytes after an out-of-memory kill.
    """
    wanted = int(max(memory * (1 + buffer), least))
    unit = MIB if wanted >= MIB else KIB if wanted >= KIB else 1
    return -(-wanted // unit) * unit


def memory_after_kills(
    workload: RecommendedWorkload, container: str, records: Iterable[OomRecord], now_s: float
) -> float:
    """Bytes that a container needs after out-of-memory kills; 0 without kills.

    Only the first record of the container counts, even if a later one has a larger limit.
    """
    first = next(
        (
            each
            for each in records
            if each.namespace == workload.namespace
            and each.container == container
            and workload.owns(each.pod)
        ),
        None,
    )
    if first is None or now_s - first.at_s > OOM_VALID_S:
        return 0.0
    return max(first.memory + OOM_STEP, first.memory * OOM_RATIO)
