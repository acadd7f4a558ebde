"""Evictions on a node to free memory: triggers, the order of pods, and freed amounts.

Source: Koordinator's ``koordlet/qosmanager/plugins/memoryevict``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from stretto.base.amounts import add_amounts, covers
from stretto.capacity.model.classes import Band

MEMORY: Final = "memory"
"""Memory requested by pods that are not in a reclaimed band."""
USE: Final = ""
"""Key of measured use."""
MOST_RECLAIMED: Final = 7999
"""The highest priority of pods that use reclaimed memory."""
LOWER_STEP: Final = 2
"""Percent below the threshold to which memory is freed if there is no lower limit."""
BAND_DEFAULTS: Final = {Band.PROD: 9500, Band.MID: 7500, Band.BATCH: 5500, Band.FREE: 3500}
"""Priorities of pods without a priority, by band."""
RECLAIMED: Final = {
    Band.BATCH: "kubernetes.io/batch-memory",
    Band.MID: "kubernetes.io/mid-memory",
}
"""Memory resource that pods of a reclaimed band request."""


class Trigger(Enum):
    """Reason to free memory; the members are in the order in which triggers run."""

    #: The node uses too much memory; only best-effort pods are evicted.
    BEST_EFFORT = "BEMemoryEvict"
    #: Requests of reclaimed memory exceed the remaining amount.
    ALLOCATABLE = "MemoryAllocatableEvict"
    #: The node uses too much memory; pods up to a priority are evicted.
    MEMORY = "MemoryEvict"


class ByteUnit(Enum):
    """Unit in which ``MemoryEvict`` counts the use that evictions free."""

    #: Bytes.
    BYTES = 1
    #: Koordinator compares thousandths of bytes with bytes, so one pod is usually enough.
    THOUSANDTHS = 1000


@dataclass(frozen=True)
class EvictablePod:
    """A pod on the node."""

    #: Name.
    name: str
    #: Band.
    band: Band
    #: Priority in the spec; ``None`` if there is none.
    priority: int | None = None
    #: True if its QoS label is best effort.
    best_effort: bool = False
    #: True if it runs or will run.
    active: bool = True
    #: True if it may be evicted for other pods.
    enabled: bool = False
    #: Rank among pods to evict, lowest first.
    rank: int = 0
    #: Priority in its label; ``None``: the priority applies.
    label_priority: int | None = None
    #: Triggers that apply; ``None`` for all.
    triggers: frozenset[str] | None = None
    #: Requests by resource.
    requests: Mapping[str, int] | None = None
    #: Measured bytes; ``None`` without a metric.
    used: float | None = None

    @property
    def effective_priority(self) -> int:
        """The pod's priority, or the priority of its band."""
        return self.priority or BAND_DEFAULTS.get(self.band, 0)

    @property
    def reclaimed(self) -> str:
        """The reclaimed resource of its band; empty if there is none."""
        return RECLAIMED.get(self.band, "")

    def requested(self, resource: str) -> int:
        """Requested bytes of a resource."""
        return (self.requests or {}).get(resource, 0)

    def heeds(self, trigger: Trigger) -> bool:
        """Return whether a trigger applies."""
        return self.triggers is None or trigger.value in self.triggers


@dataclass(frozen=True)
class UseLimit:
    """Percent of the capacity that the node may use; ``None`` disables the trigger."""

    #: Percent from which memory is freed.
    threshold: int | None = None
    #: Percent to which memory is freed; ``None``: ``LOWER_STEP`` below the threshold.
    lower: int | None = None

    def to_free(self, used: float, capacity: int) -> int:
        """Bytes to free; 0 if nothing must be freed."""
        if self.threshold is None or self.threshold < 0 or not capacity:
            return 0
        lower = self.threshold - LOWER_STEP if self.lower is None else self.lower
        percent = 100 * int(used) // capacity
        if lower >= self.threshold or percent < self.threshold:
            return 0
        return capacity * (percent - lower) // 100


@dataclass(frozen=True)
class RequestLimit:
    """Percent of reclaimed memory that pods may request."""

    #: Percent above which memory is freed; ``None`` disables the trigger.
    threshold: int | None = None
    #: Percent to which memory is freed.
    lower: int | None = None
    #: Highest priority of pods that count and may be evicted.
    priority: int | None = None

    def to_free(
        self, pods: Iterable[EvictablePod], allocatable: Mapping[str, int]
    ) -> dict[str, int]:
        """Bytes to free by resource; empty if nothing must be freed.

        Pods of other bands request plain memory, which no eviction frees.
        """
        if self.threshold is None or self.lower is None or self.priority is None:
            return {}
        if self.threshold < 0 or self.priority > MOST_RECLAIMED or self.lower >= self.threshold:
            return {}
        sums: dict[str, int] = {}
        for pod in pods:
            if pod.effective_priority <= self.priority:
                name = pod.reclaimed or MEMORY
                sums[name] = sums.get(name, 0) + pod.requested(name)
        found = {}
        for name, requested in sums.items():
            whole = allocatable.get(name, 0)
            if requested and (not whole or requested / whole > self.threshold / 100):
                share = requested / whole - self.lower / 100 if whole else 0.0
                found[name] = int(share * whole) if whole else requested
        return found


@dataclass(frozen=True)
class EvictionRound:
    """The victims of one trigger, and the amounts to free."""

    #: The trigger.
    trigger: Trigger
    #: Bytes to free: of use under :data:`USE`, of requests under the resource.
    target: Mapping[str, int]
    #: Pods in the order of eviction.
    victims: Sequence[EvictablePod]
    #: Unit of the use that evictions free.
    unit: ByteUnit = ByteUnit.BYTES

    def frees(self, pod: EvictablePod) -> dict[str, float]:
        """Amounts that the eviction of a pod frees, for this trigger and for later triggers."""
        found = {USE: (pod.used or 0.0) * self.unit.value}
        if pod.reclaimed:
            found[pod.reclaimed] = pod.requested(pod.reclaimed)
        return found


def best_effort_round(pods: Iterable[EvictablePod], target: int) -> EvictionRound:
    """Round of best-effort pods: lowest priority first, then largest use."""
    chosen = [each for each in pods if each.best_effort and each.heeds(Trigger.BEST_EFFORT)]
    ordered = _inserted(chosen, _best_effort_first)
    return EvictionRound(Trigger.BEST_EFFORT, {USE: target}, ordered)


def memory_round(
    pods: Iterable[EvictablePod], priority: int, target: int, unit: ByteUnit = ByteUnit.BYTES
) -> EvictionRound:
    """Round of pods up to a priority: lowest rank and priority first, then largest use."""
    chosen = _candidates(pods, Trigger.MEMORY, priority)
    chosen.sort(key=lambda each: (*_rank(each), -(each.used or 0.0)))
    return EvictionRound(Trigger.MEMORY, {USE: target}, chosen, unit)


def allocatable_round(
    pods: Iterable[EvictablePod],
    priority: int,
    target: Mapping[str, int],
    unit: ByteUnit = ByteUnit.BYTES,
) -> EvictionRound:
    """Round of pods up to a priority: lowest rank and priority first, then largest request."""
    chosen = _candidates(pods, Trigger.ALLOCATABLE, priority)
    chosen.sort(key=lambda each: (*_rank(each), -each.requested(each.reclaimed or MEMORY)))
    return EvictionRound(Trigger.ALLOCATABLE, target, chosen, unit)


def evict(rounds: Iterable[EvictionRound], attempt: Callable[[str, Trigger], bool]) -> None:
    """Evict until every target is reached; freed amounts of one trigger count for the next.

    ``attempt`` evicts a pod and returns whether the pod is deleted or terminating. A pod that it
    could not evict frees nothing.
    """
    freed: dict[str, float] = {}
    done: set[str] = set()
    for each in rounds:
        for victim in each.victims:
            if covers(freed, each.target):
                break
            if victim.name in done or not attempt(victim.name, each.trigger):
                continue
            done.add(victim.name)
            add_amounts(freed, each.frees(victim).items())


def _candidates(
    pods: Iterable[EvictablePod], trigger: Trigger, priority: int
) -> list[EvictablePod]:
    return [
        each
        for each in pods
        if each.active
        and each.enabled
        and each.used is not None
        and each.effective_priority <= priority
        and each.heeds(trigger)
    ]


def _rank(pod: EvictablePod) -> tuple[int, int, int]:
    own = pod.effective_priority
    return pod.rank, own, own if pod.label_priority is None else pod.label_priority


def _best_effort_first(one: EvictablePod, other: EvictablePod) -> bool:
    if one.priority is not None and other.priority is not None and one.priority != other.priority:
        return one.priority < other.priority
    if one.used and other.used:
        return one.used > other.used
    if not one.used and not other.used:
        return one.name > other.name
    return bool(one.used)


def _inserted(
    pods: Iterable[EvictablePod], before: Callable[[EvictablePod, EvictablePod], bool]
) -> list[EvictablePod]:
    """Sort by insertion, because pods without a priority make the order intransitive."""
    found: list[EvictablePod] = []
    for pod in pods:
        place = len(found)
        while place and before(pod, found[place - 1]):
            place -= 1
        found.insert(place, pod)
    return found
