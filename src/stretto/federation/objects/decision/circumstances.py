"""Input of a decision besides the object and the clusters."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Input of a decision besides the object, its rules and the clusters."""

    #: Seconds since the epoch, at which migrations are evaluated.
    wall_time: float
    #: True if scores use the CPU and the memory of a replica.
    counts_requests: bool = True
    #: Replicas of this object that the reports of its clusters deduct; ``None`` for its placement.
    running: Mapping[str, int] | None = None
