"""Back-off of failing pods of a DaemonSet; without it, a kubelet that rejects a pod causes a loop.

The delay of a node starts at one second, doubles with each failed pod, and is reset after twice the
longest delay, as in the DaemonSet controller of Kubernetes.
"""

from dataclasses import dataclass
from typing import Final

FIRST: Final = 1.0
"""Delay in seconds after the first failure."""
LONGEST: Final = 900.0
"""Longest delay in seconds."""

Place = tuple[str, str]
"""Uid of a DaemonSet and name of a node."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Last failed pod of a node."""

    #: Clock time of its deletion.
    at: float
    #: Seconds until the next pod is deleted.
    delay: float


class FailureDelays:
    """Back-off delays of nodes whose pods failed."""

    def __init__(self) -> None:
        """Start without failures."""
        self._last: dict[Place, _Failure] = {}

    def remaining(self, place: Place, now: float) -> float:
        """Seconds until a failed pod of a node may be deleted; 0: now."""
        last = self._last.get(place)
        return 0.0 if last is None else max(0.0, last.at + last.delay - now)

    def note(self, place: Place, now: float) -> None:
        """Record the deletion of a failed pod of a node; drop expired records."""
        self._last = {key: each for key, each in self._last.items() if now - each.at <= 2 * LONGEST}
        last = self._last.get(place)
        delay = FIRST if last is None else min(2 * last.delay, LONGEST)
        self._last[place] = _Failure(now, delay)
