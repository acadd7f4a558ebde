"""Estimators of the headroom of one node, with one interface from readings to amounts.

Each estimator stores the history that it needs. A node agent has one estimator, which the profile
selects, and publishes its estimate. Studies use the same estimators with traces. CPU and memory may
come from different estimators. Modules that import NumPy are loaded only with an estimator that
needs them: NumPy takes 13 MiB on each node.
"""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.capacity.headroom.cpu import CpuContainer, cpu_headroom
from stretto.capacity.headroom.utilisation import UtilisationTargets, utilisation_headroom
from stretto.capacity.reclaim.memory import (
    CanonicalMemory,
    FreeMemory,
    NumaAwareMemory,
    free_memory,
)
from stretto.capacity.reclaim.reading import (
    MILLI,
    HeadroomEstimate,
    HeadroomEstimator,
    HeadroomReading,
    OwnerPod,
)
from stretto.capacity.reclaim.reservation import PodUseNow, ReservationRules, next_reservation
from stretto.framework.profile.capacity.reclaim import Estimator, MemoryEstimator, ReclaimRules

LEAST_USE: Final = 1
"""Milli-CPU of an idle measured pod: Katalyst treats a use of 0 as no measurement."""


class CanonicalEstimator:
    """Katalyst's estimate per container; for memory, a share of the free amount."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Estimate by rules."""
        self._rules = rules

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        owners = [
            CpuContainer(
                pod.request[0] / MILLI,
                max(pod.use[0], LEAST_USE) / MILLI if pod.use is not None else 0.0,
                lends=not pod.exclusive,
            )
            for pod in reading.pods
        ]
        cores = cpu_headroom(reading.capacity[0] / MILLI, owners, self._rules.reserved_cores)
        return HeadroomEstimate(int(cores * MILLI), free_memory(reading, self._rules.memory_share))


class UtilisationEstimator:
    """Katalyst's headroom by the utilisation of the reclaimed cores."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Start without headroom."""
        self._rules = rules
        self._last = 0.0

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        owned = max(reading.used[0] - reading.reclaimed[0], 0) / MILLI
        supply = max(reading.capacity[0] / MILLI - owned - self._rules.reserved_cores, 0.0)
        targets = UtilisationTargets(self._rules.target)
        cpu = utilisation_headroom(supply, reading.reclaimed[0] / MILLI, self._last, targets)
        self._last = cpu / MILLI
        return HeadroomEstimate(cpu, free_memory(reading, self._rules.memory_share))


class ReservationEstimator:
    """Borg's reservations: the capacity of the node minus the reservations of its pods."""

    def __init__(self, rules: ReclaimRules) -> None:
        """Start without reservations; the first one of a pod is its request."""
        self._rules = ReservationRules(rules.margin, rules.start_seconds, rules.decay_seconds)
        self._reserved = int(rules.reserved_cores * MILLI), 0
        self._kept: dict[str, tuple[float, float]] = {}
        self._at_s: float | None = None

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        elapsed = 0.0 if self._at_s is None else max(reading.at_s - self._at_s, 0.0)
        self._at_s = reading.at_s
        self._kept = {pod.uid: self._next(pod, elapsed) for pod in reading.pods}
        cpu, memory = (
            reading.capacity[k] - self._reserved[k] - sum(each[k] for each in self._kept.values())
            for k in (0, 1)
        )
        return HeadroomEstimate(max(int(cpu), 0), max(int(memory), 0))

    def _next(self, pod: OwnerPod, elapsed_s: float) -> tuple[float, float]:
        before = self._kept.get(pod.uid, pod.request)
        found = []
        for k in (0, 1):
            keeps = pod.exclusive and k == 0
            use = None if pod.use is None or keeps else float(pod.use[k])
            now = PodUseNow(pod.request[k], use, pod.age_s)
            found.append(next_reservation(before[k], now, elapsed_s, self._rules))
        return found[0], found[1]


class JoinedEstimator:
    """CPU of one estimator and memory of another."""

    def __init__(self, cpu: HeadroomEstimator, memory: HeadroomEstimator) -> None:
        """Join two estimators; each has its own history."""
        self._cpu = cpu
        self._memory = memory

    def estimate(self, reading: HeadroomReading) -> HeadroomEstimate:
        """See ``HeadroomEstimator``."""
        return self._memory.estimate(reading)._replace(cpu=self._cpu.estimate(reading).cpu)


def _batch(rules: ReclaimRules) -> HeadroomEstimator:
    from stretto.capacity.reclaim.koordinator import BatchEstimator

    return BatchEstimator(rules)


def _mid(rules: ReclaimRules) -> HeadroomEstimator:
    from stretto.capacity.reclaim.koordinator import MidEstimator

    return MidEstimator(rules)


Maker = Callable[[ReclaimRules], HeadroomEstimator]
"""Creates an estimator."""
_MAKERS: Final[Mapping[Estimator, Maker]] = {
    Estimator.CANONICAL: CanonicalEstimator,
    Estimator.UTILISATION: UtilisationEstimator,
    Estimator.BATCH: _batch,
    Estimator.MID: _mid,
    Estimator.RESERVATION: ReservationEstimator,
}
_MEMORY: Final[Mapping[MemoryEstimator, Maker]] = {
    MemoryEstimator.FREE: FreeMemory,
    MemoryEstimator.CANONICAL: CanonicalMemory,
    MemoryEstimator.NUMA_AWARE: NumaAwareMemory,
    MemoryEstimator.BATCH: _batch,
    MemoryEstimator.MID: _mid,
    MemoryEstimator.RESERVATION: ReservationEstimator,
}


def estimator(rules: ReclaimRules) -> HeadroomEstimator:
    """Create the estimator that the rules select."""
    cpu = _MAKERS[rules.estimator](rules)
    memory = _MEMORY.get(rules.memory.estimator)
    return cpu if memory is None else JoinedEstimator(cpu, memory(rules))
