"""Replicas from one value of a whole workload: Object and External metrics.

Source: Kubernetes' ``podautoscaler/replica_calculator.go``.
"""

import math
from typing import Final

from stretto.base.errors import InputError
from stretto.capacity.scaling.replicas import MetricPod, Proposal, Tolerance, capped

INT64_MAX: Final = 2**63 - 1


def by_value(
    pods: list[MetricPod], value: int, target: int, current: int, tolerance: Tolerance
) -> Proposal:
    """Replicas that bring a value of the whole workload to ``target`` milli-units.

    Raises:
        InputError: there are no pods to multiply.
    """
    ratio = value / target
    if not current:
        return Proposal(tolerance.whole(ratio), value)
    if tolerance.holds(ratio):
        return Proposal(current, value)
    if not pods:
        raise InputError("pods", 0, "at least one pod that the selector selects")
    ready = sum(pod.running_ready for pod in pods)
    return Proposal(capped(ratio * ready), value)


def by_value_per_pod(value: int, target: int, current: int, tolerance: Tolerance) -> Proposal:
    """Replicas that bring a value, divided by the replicas, to ``target`` milli-units."""
    whole = target * float(current)
    replicas = current
    if not whole or not tolerance.holds(value / whole):
        replicas = tolerance.whole(value / target)
    usage = math.ceil(value / current) if current else -INT64_MAX - 1
    return Proposal(replicas, usage)
