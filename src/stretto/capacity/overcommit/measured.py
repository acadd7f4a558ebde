"""The overcommit ratio that the measured load of a node allows.

The formula is Katalyst's: the unused load below the target is divided by the load per requested
unit, because the next pods will use the same part of their requests as the present ones. Amounts
may be in any unit, but only one per resource.
"""

from typing import NamedTuple


class LoadTargets(NamedTuple):
    """Limits of the ratio of one resource by measured load."""

    #: Share of the allocatable amount that may be in use.
    node_load: float
    #: Minimum share of its request that a pod is assumed to use.
    pod_load: float


def measured_ratio(allocatable: float, request: float, usage: float, targets: LoadTargets) -> float:
    """Ratio of promised to real capacity at which the node reaches its target load.

    Args:
        allocatable: amount of the node before overcommit.
        request: sum of the requests of its pods.
        usage: sum of their use.
        targets: target load of the node and minimum load of a pod.

    Returns:
        At least 1. It is 1 if the requests, the allocatable amount or the assumed use are 0.
    """
    if request <= 0 or allocatable <= 0:
        return 1.0
    load = max(min(usage / request, 1.0), targets.pod_load)
    if load <= 0:
        return 1.0
    spare = allocatable * targets.node_load - usage
    return max((spare / load + request) / allocatable, 1.0)
