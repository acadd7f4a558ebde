"""The latest decisions of a running scheduler, bounded: slow readers miss old ones."""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

_KEPT: Final = 500
"""Number of decisions that a log keeps."""


class PodDecision(msgspec.Struct, frozen=True):
    """One decision about one pod."""

    #: Time of the scheduler's clock: since 1970, or since the start of a run in virtual time.
    time_s: float
    #: ``namespace/name`` of the pod.
    pod: str
    #: The decision: ``bound``, ``no place``, ``preempted``, ...
    step: str
    #: The node; empty for none.
    node: str = ""
    #: The shard that decided; -1 if unknown.
    shard: int = -1


class DecisionLog:
    """The latest decisions with their positions."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Create an empty log that keeps the latest ``kept`` decisions."""
        self._latest: deque[PodDecision] = deque(maxlen=kept)
        #: Number of decisions ever added.
        self.count = 0

    def add(self, decisions: Sequence[PodDecision]) -> None:
        """Append decisions; beyond the limit, drop the oldest."""
        self._latest.extend(decisions)
        self.count += len(decisions)

    def after(self, position: int) -> tuple[int, Sequence[PodDecision]]:
        """Return the kept decisions after a position, oldest first, and the last position."""
        missing = min(max(self.count - position, 0), len(self._latest))
        return self.count, tuple(self._latest)[len(self._latest) - missing :]


def matching_decisions(
    decisions: Sequence[PodDecision], text: str, since: float
) -> list[PodDecision]:
    """Return the decisions since a time, newest first; ``text`` is in pod, node or decision."""
    return [
        each
        for each in reversed(decisions)
        if each.time_s >= since and any(text in part for part in (each.pod, each.node, each.step))
    ]
