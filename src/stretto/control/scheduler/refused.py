"""Classes that preemption could not help, shared by all loops of a plane.

The loop that probes a class later must use the refusals of other loops. The end of a pod's
protection must wake the units that were refused because of it.
"""

from math import inf
from typing import Final

REMEMBERED: Final = 100_000
"""Size of the table of refused classes; a full table drops its oldest half."""


class RefusedClasses:
    """The highest refused priority of each class, and the time at which a refusal may change."""

    def __init__(self) -> None:
        """Start without a refusal."""
        self._priorities: dict[int, int] = {}
        self._retry_at = inf

    def note(self, class_id: int, priority: int) -> None:
        """Record that no pods could be evicted for a class at a priority."""
        known = self._priorities.pop(class_id, priority)
        if len(self._priorities) >= REMEMBERED:
            for each in list(self._priorities)[: REMEMBERED // 2]:
                del self._priorities[each]
        self._priorities[class_id] = max(known, priority)

    def priority_of(self, class_id: int) -> int | None:
        """The highest refused priority of a class; ``None`` if preemption refused none."""
        return self._priorities.get(class_id)

    def note_protection(self, until: float) -> None:
        """Record that a pod which a refusal spared is evictable from this clock time on."""
        self._retry_at = min(self._retry_at, until)

    def next_due(self) -> float:
        """Clock time at which the next protection ends; infinity for none."""
        return self._retry_at

    def take_due(self, now: float) -> bool:
        """Return whether a protection has ended since the last call."""
        if now < self._retry_at:
            return False
        self._retry_at = inf
        return True
