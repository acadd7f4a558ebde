"""CPU headroom by estimate: CPU that shared and dedicated containers should not need."""

from collections.abc import Iterable
from typing import Final, NamedTuple

USE_MARGIN: Final = 1.25
"""Factor on measured use; load averages have no factor."""
UNKNOWN_CORES: Final = 4.0
"""Cores of a container without use and without request."""


class CpuContainer(NamedTuple):
    """A shared or dedicated container."""

    #: Requested cores.
    request: float
    #: Cores in use; 0 if not measured.
    use: float = 0.0
    #: Mean of runnable threads over one minute.
    load_1m: float = 0.0
    #: Mean of runnable threads over five minutes.
    load_5m: float = 0.0
    #: True if the unused part of its request may be reclaimed.
    lends: bool = True
    #: Share of the container inside the region, by its assigned CPUs.
    share: float = 1.0


def cpu_estimate(container: CpuContainer) -> float:
    """Number of cores that a container is expected to need inside its region."""
    need = max(USE_MARGIN * container.use, container.load_1m, container.load_5m)
    if not container.lends or need <= 0:
        need = container.request
    return (need or UNKNOWN_CORES) * container.share


def cpu_headroom(
    upper: float,
    containers: Iterable[CpuContainer],
    reserved_for_allocate: float = 0.0,
    reserved_for_reclaim: float = 0.0,
) -> float:
    """Number of cores of a region that may be reclaimed.

    Args:
        upper: cores of the region.
        containers: its shared and dedicated containers.
        reserved_for_allocate: cores kept free for containers that start.
        reserved_for_reclaim: minimum number of cores for reclaimed pods.
    """
    need = sum(map(cpu_estimate, containers)) + reserved_for_allocate
    return max(upper - need + reserved_for_reclaim, 0.0)
