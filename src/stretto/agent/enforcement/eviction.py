"""Evictions of best-effort pods on a node to free memory: the amount and the order of pods.

Source: Koordinator's ``koordlet/qosmanager/plugins/memoryevict``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

LOWER_STEP: Final = 2
"""Percent below the threshold to which memory is freed if there is no lower limit."""


@dataclass(frozen=True)
class EvictablePod:
    """A pod on the node."""

    #: Name.
    name: str
    #: Priority in the spec; ``None`` if there is none.
    priority: int | None = None
    #: Measured bytes; ``None`` without a metric.
    used: float | None = None


Pod = TypeVar("Pod", bound=EvictablePod)


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


def victims(pods: Iterable[EvictablePod], target: int) -> Iterator[str]:
    """Names of the pods to evict, in order, until their use reaches ``target`` bytes."""
    freed = 0.0
    for each in eviction_order(pods):
        if freed >= target:
            return
        freed += each.used or 0.0
        yield each.name


def eviction_order(pods: Iterable[Pod]) -> list[Pod]:
    """Best-effort pods in the order of eviction: lowest priority first, then largest use.

    The sort is by insertion, because pods without a priority make the order intransitive.
    """
    found: list[Pod] = []
    for pod in pods:
        place = len(found)
        while place and _is_before(pod, found[place - 1]):
            place -= 1
        found.insert(place, pod)
    return found


def _is_before(one: EvictablePod, other: EvictablePod) -> bool:
    if one.priority is not None and other.priority is not None and one.priority != other.priority:
        return one.priority < other.priority
    if one.used and other.used:
        return one.used > other.used
    if not one.used and not other.used:
        return one.name > other.name
    return bool(one.used)
