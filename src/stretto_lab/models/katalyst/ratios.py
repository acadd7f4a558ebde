"""Ratios of overcommitted nodes, from readings of containers and annotations, after Katalyst.

The formula of the measured ratio is in ``stretto.capacity.overcommit.measured``.
"""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from stretto.capacity.overcommit.floats import parse_float

MILLI: Final = 1000
"""Milli-CPU per core: the CPU request of a pod is compared in whole cores."""


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


def effective_ratio(static: str | None, measured: str | None) -> float:
    """Ratio of a node: the smaller of the configured and the measured one, at least 1.

    Without a finite ratio a node is not overcommitted. A measured ratio that cannot be read also
    disables overcommit, because the load of the node is then unknown.
    """
    ratio = parse_float(static or "")
    if ratio is None:
        return 1.0
    if measured is not None:
        known = parse_float(measured) or 0.0
        ratio = min(ratio, known)
    return max(ratio, 1.0) if math.isfinite(ratio) else 1.0


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
