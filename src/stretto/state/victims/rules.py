"""Preemption rules of a profile: the pods that may be evicted, and for which preemptors.

The search for victims applies these rules, and the binder checks them again before an eviction,
because the state may have changed in between.
"""

from enum import Enum
from math import inf
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.state.classes.preemption_attributes import PreemptionAttributes
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionState

UNPROTECTED: Final = 1 << 31
"""Priority above all others: no pod is protected by priority."""


class CandidateSelection(Enum):
    """Selection of a gang's candidate nodes (Gödel's ``candidatesSelectPolicy``)."""

    #: The best of all nodes.
    BEST = "best"
    #: The best of a number of nodes at the lowest sufficient priority.
    BETTER = "better"
    #: The best of the first sufficient nodes, from a random start.
    RANDOM = "random"


class EvictionGuard(Enum):
    """Reason why a pod may not be evicted."""

    #: It is not running.
    NOT_RUNNING = "is not running"
    #: The priority of the pod is not below that of the preemptor.
    PRIORITY = "has no lower priority"
    #: The eviction of the pod is already in progress or stuck.
    EVICTING = "is being evicted already"
    #: The profile protects its priority.
    PROTECTED = "is protected by its priority"
    #: The pod or its PriorityClass forbids its preemption.
    FORBIDDEN = "forbids its preemption"
    #: The profile requires an opt-in, and the pod has none.
    NOT_OPTED_IN = "has not opted in to preemption"
    #: It belongs to another scheduler.
    OTHER_SCHEDULER = "belongs to another scheduler"
    #: It started recently.
    RECENT = "started recently"
    #: Without the pod, its queue would fall below its guarantee.
    GUARANTEED = "is within the guarantee of its queue"


class PreemptionRules(msgspec.Struct, frozen=True):
    """Preemption settings of a profile."""

    #: True if pods may preempt others at all.
    enabled: bool = True
    #: True if a PodDisruptionBudget is never violated; otherwise it is violated as rarely as
    #: possible.
    hard_budgets: bool = False
    #: True if only pods that opt in may be preempted.
    opt_in: bool = False
    #: True if pods of other schedulers are not preempted.
    spares_others: bool = True
    #: Pods of this priority and above are never preempted.
    protected_from: int = UNPROTECTED
    #: Seconds after its start in which a pod is not preempted, regardless of its annotation.
    protected_for: float = 0.0
    #: Seconds for which a preemptor waits for its victims.
    wait_timeout: float = 120.0
    #: True if the guarantee of a queue protects its pods from preemptors of other queues. Otherwise
    #: priority precedes guarantees, and reclaim evicts no pod of higher priority than the pod that
    #: needs the capacity.
    guarantees_first: bool = True
    #: Selection of candidate nodes.
    select: CandidateSelection = CandidateSelection.BEST
    #: Number of nodes that are examined in detail if not all are.
    candidates: int = 100


OFF: Final = PreemptionRules(enabled=False)
"""Rules that disable preemption."""


def guard_of(
    cluster: Cluster, rules: PreemptionRules, row: int, now: float
) -> EvictionGuard | None:
    """Reason why a pod may not be evicted, apart from priorities and budgets.

    ``None`` if it may.
    """
    pods = cluster.pods
    if int(pods.state[row]) != PodState.BOUND:  # int: faster than comparing a NumPy scalar
        return EvictionGuard.NOT_RUNNING
    if int(pods.eviction_state[row]) != EvictionState.NONE:
        return EvictionGuard.EVICTING
    if pods.priority[row] >= rules.protected_from:
        return EvictionGuard.PROTECTED
    attributes = cluster.preemption_attributes[int(pods.preemption_attributes[row])]
    guard = guard_by_attributes(attributes, rules)
    if guard is not None:
        return guard
    return EvictionGuard.RECENT if now < protected_until(cluster, rules, row) else None


def guard_by_attributes(
    attributes: PreemptionAttributes, rules: PreemptionRules
) -> EvictionGuard | None:
    """Reason why pods with these attributes may not be evicted.

    ``None`` if they may, at some time.
    """
    if attributes.of_other_scheduler:
        return EvictionGuard.OTHER_SCHEDULER
    if attributes.can_be_preempted is False:
        return EvictionGuard.FORBIDDEN
    if rules.opt_in and not attributes.can_be_preempted:
        return EvictionGuard.NOT_OPTED_IN
    return None


def guards_of(
    cluster: Cluster, rules: PreemptionRules, rows: npt.NDArray[np.int64], now: float
) -> list[EvictionGuard | None]:
    """``guard_of`` of many rows; pods that differ at most in their start are evaluated once."""
    pods, known = cluster.pods, dict[tuple[int, int, int, bool], EvictionGuard | None]()
    columns = (
        pods.state[rows],
        pods.eviction_state[rows],
        pods.preemption_attributes[rows],
        pods.priority[rows] >= rules.protected_from,
    )
    found = []
    for row, *parts in zip(rows.tolist(), *(each.tolist() for each in columns), strict=True):
        key = (parts[0], parts[1], parts[2], parts[3])
        if key not in known:
            guard = guard_of(cluster, rules, row, now)
            if protected_until(cluster, rules, row) != -inf:
                found.append(guard)
                continue
            known[key] = guard
        found.append(known[key])
    return found


def protected_until(cluster: Cluster, rules: PreemptionRules, row: int) -> float:
    """Clock time until which a pod is protected because it started recently."""
    pods = cluster.pods
    window = max(
        rules.protected_for,
        cluster.preemption_attributes[int(pods.preemption_attributes[row])].protected_for,
    )
    return float(pods.started[row]) + window if window > 0 else -inf


def guard_against(
    cluster: Cluster, rules: PreemptionRules, row: int, priority: int, now: float
) -> EvictionGuard | None:
    """Reason why a preemptor of this priority may not evict a pod, budgets aside.

    ``None`` if it may.
    """
    if cluster.pods.priority[row] >= priority:
        return EvictionGuard.PRIORITY
    return guard_of(cluster, rules, row, now)


def may_preempt(cluster: Cluster, row: int) -> bool:
    """Return whether a pod's own policy allows it to preempt others."""
    return cluster.preemption_attributes[int(cluster.pods.preemption_attributes[row])].preempts
