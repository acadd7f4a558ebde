"""The overcommit ratio that the measured load of a node allows.

The formula is Katalyst's: the unused load below the target is divided by the load per requested
unit, because the next pods will use the same part of their requests as the present ones. Amounts
may be in any unit, but only one per resource.
"""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

MILLI: Final = 1000
"""Milli-CPU per core: the CPU request of a pod is compared in whole cores."""


class LoadTargets(NamedTuple):
    """Limits of the ratio of one resource by measured load."""

    #: Share of the allocatable amount that may be in use.
    node_load: float
    #: Minimum share of its request that a pod is assumed to use.
    pod_load: float


class ContainerUse(NamedTuple):
    """Load of one container; a field is ``None`` if it was not measured."""

    #: CPU in use, in cores.
    cpu: float | None = None
    #: Mean of runnable threads over one minute.
    load_1m: float | None = None
    #: Mean of runnable threads over five minutes.
    load_5m: float | None = None
    #: Resident memory in bytes.
    rss: float | None = None


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


def reported_ratio(static: float | None, measured: float) -> float:
    """Smaller of the configured and the measured ratio; no configuration counts as 1."""
    return min(1.0 if static is None else static, measured)


def pod_cpu_use(containers: Iterable[ContainerUse]) -> float:
    """Number of cores that a pod uses: its usage or the larger one of its load averages."""
    found = list(containers)
    cpu = sum(each.cpu or 0.0 for each in found)
    load_1m = sum(each.load_1m or 0.0 for each in found)
    load_5m = sum(each.load_5m or 0.0 for each in found)
    return max(cpu, load_1m, load_5m, 0.0)


def pod_memory_use(containers: Iterable[ContainerUse]) -> float:
    """Resident bytes of a pod."""
    return max(sum(each.rss or 0.0 for each in containers), 0.0)


def pod_cpu_request(containers: Iterable[int], init: int) -> int:
    """Milli-CPU of a pod.

    The sum of its containers, or an init container that needs more whole cores.
    """
    total = sum(containers)
    return init if math.ceil(init / MILLI) > math.ceil(total / MILLI) else total
