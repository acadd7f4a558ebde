"""The choice between the proposals of several metrics.

Source: Kubernetes' ``podautoscaler/horizontal.go`` (``computeReplicasForMetrics``).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """The metric that determines the replicas."""

    #: Number of replicas.
    replicas: int
    #: Index of the metric.
    metric: int


def choose(proposals: Sequence[int | None], current: int) -> Choice | None:
    """Choose the largest proposal; ``None`` if nothing may change.

    Args:
        proposals: replicas by metric; ``None`` for a metric that failed.
        current: current replicas. A failed metric could require more, so it prevents scaling down.
    """
    best: Choice | None = None
    for index, replicas in enumerate(proposals):
        if replicas is not None and (best is None or not best.replicas or replicas > best.replicas):
            best = Choice(replicas, index)
    failed = None in proposals
    if best is None or (failed and best.replicas < current):
        return None
    return best
