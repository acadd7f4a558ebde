"""The CPU for best-effort pods: a threshold of the node, less the use of all others.

Source: Koordinator's ``koordlet/qosmanager/plugins/cpusuppress``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import msgspec

LEAST_CPUS: Final = 2
"""CPUs that best-effort pods always keep."""
LEAST_QUOTA: Final = 2000
"""Microseconds per period that best-effort pods always keep."""
GROWTH: Final = 0.1
"""Part of the node by which their share grows at most in one round."""
IGNORED: Final = 0.01
"""Part of the node below which a change of the quota is not written."""
PERIOD: Final = 100_000
"""Microseconds of a period."""
UNLIMITED: Final = -1
"""The quota of a group without a limit."""


class Processor(msgspec.Struct, frozen=True):
    """A logical CPU."""

    #: Its number.
    cpu: int
    #: Its core.
    core: int
    #: Its socket.
    socket: int
    #: Its NUMA node.
    numa: int


@dataclass(frozen=True)
class CpuUse:
    """Use of a node, in cores."""

    #: The whole node.
    node: float
    #: All pods.
    pods: float
    #: Pods that are not best effort.
    protected_pods: float
    #: All applications outside pods.
    apps: float
    #: Applications that are not best effort.
    protected_apps: float
    #: Milli-CPU that are reserved for the system.
    reserved_milli: int


@dataclass(frozen=True)
class Suppression:
    """The threshold, in percent of the capacity."""

    #: Use of the node that best-effort pods may fill up to.
    threshold_percent: int
    #: Amount that they keep independent of others; ``None`` for none.
    least_percent: int | None = None


def allowance(capacity_milli: int, use: CpuUse, rule: Suppression) -> int:
    """Milli-CPU that best-effort pods may use; negative if others use more than the threshold."""
    system = max(_milli(use.node - use.pods - use.apps), 0)
    free = (
        int(capacity_milli * rule.threshold_percent / 100)
        - _milli(use.protected_pods)
        - _milli(use.protected_apps)
        - max(system, use.reserved_milli)
    )
    if rule.least_percent is None:
        return free
    return max(free, int(capacity_milli * rule.least_percent / 100))


def quota(milli: int, capacity_milli: int, old: int) -> int | None:
    """Microseconds per period; ``None`` if the old quota stays.

    Args:
        milli: the allowance.
        capacity_milli: of the node; counted in whole cores, rounded up.
        old: the present quota; :data:`UNLIMITED` for none.
    """
    whole = -(-capacity_milli // 1000) * PERIOD
    new = max(milli * PERIOD // 1000, LEAST_QUOTA)
    if abs(new - old) < whole * IGNORED and new != LEAST_QUOTA:
        return None
    if old != UNLIMITED and new - old > whole * GROWTH:
        return old + int(whole * GROWTH)
    return new


@dataclass(frozen=True)
class EligibleCpus:
    """CPUs on which best-effort pods may run."""

    #: CPUs of exclusive pods that share while they idle.
    idle: tuple[Processor, ...]
    #: CPUs without exclusive pods.
    shared: tuple[Processor, ...]


def cpus(milli: int, eligible: EligibleCpus, old: int, processors: int) -> tuple[int, ...]:
    """CPUs for best-effort pods, sorted; empty if the old ones stay.

    CPUs are taken from idle and shared ones in proportion. A group with fewer CPUs than its part
    gives none.

    Args:
        milli: the allowance.
        eligible: CPUs to choose from; without any, the old ones stay.
        old: number of CPUs that best-effort pods have now.
        processors: number of CPUs of the node.
    """
    total = len(eligible.idle) + len(eligible.shared)
    if not total:
        return ()
    count = min(max(math.ceil(milli / 1000), LEAST_CPUS), old + math.ceil(processors * GROWTH))
    idle = count * len(eligible.idle) // total
    return tuple(sorted(_spread(eligible.idle, idle) + _spread(eligible.shared, count - idle)))


def _spread(processors: Sequence[Processor], count: int) -> list[int]:
    """``count`` CPUs: whole cores first, one NUMA node after the other."""
    if count <= 0 or len(processors) < count:
        return []
    by_numa: dict[int, list[Processor]] = {}
    for each in sorted(processors, key=lambda p: (p.numa, p.socket, p.core, p.cpu)):
        by_numa.setdefault(each.numa, []).append(each)
    nodes = sorted(by_numa.values(), key=lambda each: (-len(each), each[0].cpu))
    taken: list[int] = []
    turn = _take_cores(nodes, count, taken)
    idle = 0
    while len(taken) < count and idle < len(nodes):
        free = [each.cpu for each in nodes[turn] if each.cpu not in taken]
        idle = 0 if free else idle + 1
        taken += free[:1]
        turn = (turn + 1) % len(nodes)
    return taken


def _take_cores(nodes: list[list[Processor]], count: int, taken: list[int]) -> int:
    """Take pairs of CPUs of one core in turn; return the turn at which that ended."""
    turn, found = 0, True
    while count - len(taken) > 1:
        if turn == 0:
            if not found:
                break
            found = False
        pair = _free_core(nodes[turn], taken)
        found = found or bool(pair)
        taken += pair
        turn = (turn + 1) % len(nodes)
    return turn


def _free_core(node: list[Processor], taken: list[int]) -> list[int]:
    for one, other in pairwise(node):
        if one.cpu not in taken and one.core == other.core:
            return [one.cpu, other.cpu]
    return []


def _milli(cores: float) -> int:
    return int(cores * 1000)
