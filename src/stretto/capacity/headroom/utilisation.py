"""CPU headroom by utilisation.

It grows while reclaimed cores are idle and shrinks while they are busy.
"""

from collections.abc import Sequence
from typing import NamedTuple

MILLI = 1000
"""Milli-CPU per core."""


class UtilisationTargets(NamedTuple):
    """Bounds of a headroom by utilisation."""

    #: Utilisation of reclaimed cores below which the headroom grows.
    target: float = 0.6
    #: Utilisation above which the headroom shrinks; 0 for no bound.
    most: float = 0.0
    #: Maximum headroom per core of supply.
    oversold_rate: float = 1.2
    #: Maximum headroom in cores; 0 for no bound.
    capacity: float = 0.0


def reclaimed_supply(core_use: Sequence[float], use: float, quota: float | None = None) -> float:
    """Number of cores that reclaimed pods use or could use.

    Args:
        core_use: utilisation of each core, 0 to 1.
        use: cores that reclaimed pods use now.
        quota: cores that their cgroup may use; ``None`` for no limit.
    """
    supply = max(len(core_use) - sum(core_use), 0.0) + use
    return supply if quota is None else min(supply, quota)


def utilisation_headroom(
    supply: float, use: float, last: float, targets: UtilisationTargets
) -> int:
    """Headroom in milli-CPU, truncated.

    Args:
        supply: cores that reclaimed pods use or could use.
        use: cores that they use.
        last: current headroom in cores.
        targets: bounds.
    """
    if supply <= 0:
        return 0
    utilisation, step = use / supply, 0.0
    if utilisation < targets.target:
        step = supply * (targets.target - utilisation)
    elif 0 < targets.most < utilisation:
        step = supply * (targets.most - utilisation)
    loaned = min(max(last + step, supply), supply * targets.oversold_rate)
    if targets.capacity > 0:
        loaned = min(loaned, targets.capacity)
    return int(loaned * MILLI)
