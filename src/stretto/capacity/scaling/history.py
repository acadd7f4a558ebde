"""Recommendations and changes of one workload, as far back as a rule reads them.

Entries that no rule of their own direction reads any more are overwritten in place, as in
Kubernetes. Therefore a longer policy of the other direction may miss a change.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ScalingEvent:
    """A recommendation of replicas, or a change by replicas, at a time in seconds."""

    #: Time.
    at: float
    #: Replicas, or the signed change.
    replicas: int


@dataclass
class History:
    """Recommendations and changes of one workload."""

    #: Recommendations.
    recommended: list[ScalingEvent] = field(default_factory=list)
    #: Growth.
    ups: list[ScalingEvent] = field(default_factory=list)
    #: Shrinking.
    downs: list[ScalingEvent] = field(default_factory=list)

    def start(self, now: float, current: int) -> None:
        """Begin with the current replicas as a recommendation."""
        if not self.recommended:
            self.recommended.append(ScalingEvent(now, current))

    def largest(self, now: float, window: float, desired: int) -> int:
        """Largest recommendation of the window (its end inclusive) and of now."""
        valid = [each.replicas for each in self.recommended if each.at >= now - window]
        _put(self.recommended, ScalingEvent(now, desired), now - window)
        return max([desired, *valid])

    def range(self, now: float, windows: tuple[float, float], desired: int) -> tuple[int, int]:
        """Smallest recommendation of the first window and the largest of the second.

        Both include the new one and exclude the end of the window.
        """
        low, high = (
            [each.replicas for each in self.recommended if each.at > now - window]
            for window in windows
        )
        _put(self.recommended, ScalingEvent(now, desired), now - max(windows))
        return min([desired, *low]), max([desired, *high])

    def changed(self, now: float, period: float) -> int:
        """Sum of all changes within the period."""
        return sum(each.replicas for each in (*self.ups, *self.downs) if each.at > now - period)

    def record(self, change: ScalingEvent, longest: float) -> None:
        """Record a change; ``longest`` is the longest period of its direction."""
        events = self.ups if change.replicas > 0 else self.downs
        _put(events, change, change.at - longest)


def _put(events: list[ScalingEvent], new: ScalingEvent, cutoff: float) -> None:
    """Overwrite the last event before the cutoff, or append."""
    for index in reversed(range(len(events))):
        if events[index].at < cutoff:
            events[index] = new
            return
    events.append(new)
