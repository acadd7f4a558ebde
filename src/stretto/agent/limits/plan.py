"""Current limits of best-effort pods: limits of their cgroups, and pods to evict.

CPU follows Koordinator's suppression: a threshold of the node minus the use of others, as a quota
or as a set of CPUs. Above a first memory threshold, ``memory.high`` throttles each reclaimed pod.
Above a second threshold, reclaimed pods are evicted in order. No other pod is limited.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import msgspec

from stretto.agent.enforcement.eviction import EvictablePod, UseLimit, victims
from stretto.agent.enforcement.suppression import (
    PERIOD,
    UNLIMITED,
    CpuUse,
    EligibleCpus,
    Processor,
    Suppression,
    allowance,
    cpus,
    quota,
)
from stretto.agent.files import format_list, read_list
from stretto.agent.limits.files import LimitChange, LimitKind

LEAST_MEMORY: Final = 16 << 20
"""Minimum and step of ``memory.high`` of a pod in bytes.

A lower limit stops even small processes. A smaller step follows noise, and the kernel rounds a
limit down to a whole page, so that the file would differ from the plan.
"""


class CpuLimit(Enum):
    """Method of limiting CPU."""

    #: By a quota of CPU time.
    QUOTA = "quota"
    #: By the set of CPUs of best-effort pods.
    CPUSET = "cpuset"


class LimitRules(msgspec.Struct, frozen=True):
    """Thresholds in percent of the node."""

    #: CPU use up to which best-effort pods may fill the node.
    cpu_percent: int = 65
    #: Minimum CPU for best-effort pods, independent of the use of others.
    least_cpu_percent: int = 2
    #: Method of limiting CPU.
    cpu_limit: CpuLimit = CpuLimit.QUOTA
    #: Memory in use above which reclaimed pods are throttled.
    throttle_percent: int = 70
    #: Memory in use from which reclaimed pods are evicted.
    evict_percent: int = 85


class LimitedPod(msgspec.Struct, frozen=True):
    """A reclaimed pod."""

    #: Uid.
    uid: str
    #: Its cgroup, relative to the root.
    cgroup: str
    #: Bytes in use.
    memory: int
    #: Priority.
    priority: int = 0
    #: True if it is being deleted: its memory becomes free without an eviction.
    is_ending: bool = False


class LimitState(msgspec.Struct, frozen=True):
    """Measurements of a node that a plan needs."""

    #: Its processors.
    processors: tuple[Processor, ...]
    #: Its memory in bytes.
    memory: int
    #: Cores in use: of the node, of all pods, of pods that are not reclaimed.
    cores: tuple[float, float, float]
    #: Bytes in use on the node.
    memory_used: int
    #: Reclaimed pods.
    pods: tuple[LimitedPod, ...]
    #: The cgroup of the best-effort tree, relative to the root; empty if there is none.
    tree: str
    #: Current contents of the limit files of the tree.
    present: Mapping[LimitKind, str] = {}


class LimitPlan(msgspec.Struct, frozen=True):
    """Changes of limits, and evictions."""

    #: Limits to change; limits of the tree are first.
    changes: tuple[LimitChange, ...] = ()
    #: Uids of pods to evict, in the order of eviction.
    evicted: tuple[str, ...] = ()


def plan_limits(state: LimitState, rules: LimitRules) -> LimitPlan:
    """Plan the limits of best-effort pods for the current use."""
    changes = [*_cpu_changes(state, rules), *_memory_changes(state, rules)]
    return LimitPlan(tuple(changes), tuple(_victims(state, rules)))


def _cpu_changes(state: LimitState, rules: LimitRules) -> list[LimitChange]:
    """Plan the CPU limit of the tree: the threshold minus the use of others.

    There is no change if the current limit is close enough, or without a tree or processors.
    """
    if not state.tree or not state.processors:
        return []
    node, pods, owned = state.cores
    use = CpuUse(node, pods, owned, 0.0, 0.0, 0)
    capacity = 1000 * len(state.processors)
    rule = Suppression(rules.cpu_percent, rules.least_cpu_percent)
    milli = allowance(capacity, use, rule)
    reason = f"best-effort pods may use {milli} millicores: {owned:.1f} cores are in use by others"
    if rules.cpu_limit is CpuLimit.QUOTA:
        old = _quota_now(state.present.get(LimitKind.QUOTA, ""))
        new = quota(milli, capacity, old)
        if new is None:
            return []
        return [LimitChange(state.tree, LimitKind.QUOTA, f"{new} {PERIOD}", reason)]
    before = state.present.get(LimitKind.CPUS, "")
    had = len(read_list(before)) or len(state.processors)
    eligible = EligibleCpus((), state.processors)
    chosen = cpus(milli, eligible, had, len(state.processors))
    if not chosen:
        return []
    return [LimitChange(state.tree, LimitKind.CPUS, format_list(chosen), reason)]


def _quota_now(text: str) -> int:
    """Quota in microseconds from ``cpu.max``; unlimited for ``max`` or an unreadable text."""
    first = text.split()[:1]
    return int(first[0]) if first and first[0].isdigit() else UNLIMITED


def _memory_changes(state: LimitState, rules: LimitRules) -> list[LimitChange]:
    """Plan ``memory.high`` of each reclaimed pod: the excess is divided in proportion to use."""
    limit = state.memory * rules.throttle_percent // 100
    excess, held = state.memory_used - limit, sum(pod.memory for pod in state.pods)
    if excess <= 0 or held <= 0:
        reason = "the node is below its memory threshold"
        return [
            LimitChange(pod.cgroup, LimitKind.MEMORY, LimitKind.MEMORY.released, reason)
            for pod in state.pods
        ]
    kept = max(held - excess, 0)
    reason = f"the node uses {excess} bytes more than {rules.throttle_percent} % of its memory"
    return [
        LimitChange(
            pod.cgroup,
            LimitKind.MEMORY,
            str(max(pod.memory * kept // held // LEAST_MEMORY, 1) * LEAST_MEMORY),
            reason,
        )
        for pod in state.pods
    ]


def _victims(state: LimitState, rules: LimitRules) -> Iterable[str]:
    """Reclaimed pods to evict: lowest priority first, then largest use, until enough is free."""
    target = UseLimit(rules.evict_percent).to_free(state.memory_used, state.memory)
    target -= sum(pod.memory for pod in state.pods if pod.is_ending)
    remaining = (pod for pod in state.pods if not pod.is_ending)
    return victims(
        (EvictablePod(pod.uid, pod.priority, float(pod.memory)) for pod in remaining), target
    )
