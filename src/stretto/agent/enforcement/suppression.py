"""The CPU limit of best-effort pods: a threshold of the node, minus the use of all others.

Source: Koordinator's ``koordlet/qosmanager/plugins/cpusuppress``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import msgspec

LEAST_CPUS: Final = 2
"""Minimum number of CPUs of best-effort pods."""
LEAST_QUOTA: Final = 2000
"""Minimum quota of best-effort pods, in microseconds per period."""
GROWTH: Final = 0.1
"""Maximum growth of their share in one round, as a fraction of the node."""
IGNORED: Final = 0.01
"""Fraction of the node below which a change of the quota is not written."""
PERIOD: Final = 100_000
"""Length of a period in microseconds."""
UNLIMITED: Final = -1
"""Quota of a group without a limit."""


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
    #: Milli-CPU reserved for the system.
    reserved_milli: int


@dataclass(frozen=True)
class Suppression:
    """Thresholds of suppression, in percent of the capacity."""

    #: Use of the node up to which best-effort pods may run.
    threshold_percent: int
    #: Minimum for best-effort pods, independent of the use of others; ``None`` for no minimum.
    least_percent: int | None = None


def allowance(capacity_milli: int, use: CpuUse, rule: Suppression) -> int:
    """Milli-CPU that best-effort pods may use; negative if others use more than the threshold."""
    system = max(use.node - use.pods - use.apps, use.reserved_milli / 1000)
    free = (
        int(capacity_milli * rule.threshold_percent / 100)
        - _milli(use.protected_pods)
        - _milli(use.protected_apps)
        - _milli(system)
    )
    if rule.least_percent is None:
        return free
    return max(free, int(capacity_milli * rule.least_percent / 100))


def quota(milli: int, capacity_milli: int, old: int) -> int | None:
    """Quota in microseconds per period; ``None`` if the old quota stays.

    Args:
        milli: the allowance in milli-CPU.
        capacity_milli: capacity of the node, counted in whole cores, rounded up.
        old: the current quota; :data:`UNLIMITED` for none.
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

    #: CPUs of exclusive pods that share their CPUs while idle.
    idle: tuple[Processor, ...]
    #: CPUs without exclusive pods.
    shared: tuple[Processor, ...]


def cpus(milli: int, eligible: EligibleCpus, old: int, processors: int) -> tuple[int, ...]:
    """CPUs for best-effort pods, sorted; empty if the old CPUs stay.

    CPUs are selected from idle and shared ones in proportion. A group with fewer CPUs than its part
    contributes none.

    Args:
        milli: the allowance in milli-CPU.
        eligible: CPUs to choose from; if there are none, the old CPUs stay.
        old: current number of CPUs of best-effort pods.
        processors: number of CPUs of the node.
    """
    total = len(eligible.idle) + len(eligible.shared)
    if not total:
        return ()
    count = min(max(math.ceil(milli / 1000), LEAST_CPUS), old + math.ceil(processors * GROWTH))
    idle = count * len(eligible.idle) // total
    return tuple(sorted(_spread(eligible.idle, idle) + _spread(eligible.shared, count - idle)))


def _spread(processors: Sequence[Processor], count: int) -> list[int]:
    """Select ``count`` CPUs: whole cores first, one NUMA node of a socket after the other."""
    if count <= 0 or len(processors) < count:
        return []
    groups: dict[tuple[int, int], list[Processor]] = {}
    for each in sorted(processors, key=lambda p: (p.core, p.cpu)):
        groups.setdefault((each.socket, each.numa), []).append(each)
    nodes = sorted(groups.values(), key=lambda each: (-len(each), each[0].cpu))
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
    """Select pairs of CPUs of one core in turn; return the turn of the last pair."""
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
