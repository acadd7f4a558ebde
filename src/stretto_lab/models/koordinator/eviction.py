"""Evictions on a node to free memory: triggers, the order of pods, and freed amounts.

The evictions of the product, of best-effort pods, are in ``stretto.agent.enforcement``.
Source: Koordinator's ``koordlet/qosmanager/plugins/memoryevict``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from stretto.agent.enforcement.eviction import EvictablePod, eviction_order
from stretto.base.amounts import add_amounts, covers
from stretto.capacity.model.classes import Band

MEMORY: Final = "memory"
"""Memory requested by pods that are not in a reclaimed band."""
USE: Final = ""
"""Key of measured use."""
THOUSANDTHS: Final = 1000
"""Koordinator compares thousandths of freed bytes with bytes, so one pod is usually enough."""
MOST_RECLAIMED: Final = 7999
"""The highest priority of pods that use reclaimed memory."""
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


@dataclass(frozen=True, kw_only=True)
class MarkedPod(EvictablePod):
    """A pod with the labels that decide its evictions."""

    #: Band.
    band: Band
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
class RequestLimit:
    """Percent of reclaimed memory that pods may request."""

    #: Percent above which memory is freed; ``None`` disables the trigger.
    threshold: int | None = None
    #: Percent to which memory is freed.
    lower: int | None = None
    #: Highest priority of pods that count and may be evicted.
    priority: int | None = None

    def to_free(self, pods: Iterable[MarkedPod], allocatable: Mapping[str, int]) -> dict[str, int]:
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
    victims: Sequence[MarkedPod]
    #: Multiple of the freed use that counts.
    times: int = 1

    def frees(self, pod: MarkedPod) -> dict[str, float]:
        """Amounts that the eviction of a pod frees, for this trigger and for later triggers."""
        found = {USE: (pod.used or 0.0) * self.times}
        if pod.reclaimed:
            found[pod.reclaimed] = pod.requested(pod.reclaimed)
        return found


def best_effort_round(pods: Iterable[MarkedPod], target: int) -> EvictionRound:
    """Round of best-effort pods: lowest priority first, then largest use."""
    chosen = [each for each in pods if each.best_effort and each.heeds(Trigger.BEST_EFFORT)]
    return EvictionRound(Trigger.BEST_EFFORT, {USE: target}, eviction_order(chosen))


def memory_round(pods: Iterable[MarkedPod], priority: int, target: int) -> EvictionRound:
    """Round of pods up to a priority: lowest rank and priority first, then largest use."""
    chosen = _candidates(pods, Trigger.MEMORY, priority)
    chosen.sort(key=lambda each: (*_rank(each), -(each.used or 0.0)))
    return EvictionRound(Trigger.MEMORY, {USE: target}, chosen, THOUSANDTHS)


def allocatable_round(
    pods: Iterable[MarkedPod],
    priority: int,
    target: Mapping[str, int],
) -> EvictionRound:
    """Round of pods up to a priority: lowest rank and priority first, then largest request."""
    chosen = _candidates(pods, Trigger.ALLOCATABLE, priority)
    chosen.sort(key=lambda each: (*_rank(each), -each.requested(each.reclaimed or MEMORY)))
    return EvictionRound(Trigger.ALLOCATABLE, target, chosen, THOUSANDTHS)


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


def _candidates(pods: Iterable[MarkedPod], trigger: Trigger, priority: int) -> list[MarkedPod]:
    return [
        each
        for each in pods
        if each.active
        and each.enabled
        and each.used is not None
        and each.effective_priority <= priority
        and each.heeds(trigger)
    ]


def _rank(pod: MarkedPod) -> tuple[int, int, int]:
    own = pod.effective_priority
    return pod.rank, own, own if pod.label_priority is None else pod.label_priority
