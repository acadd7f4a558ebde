"""Who may be asked to leave, and by whom: the rules of preemption that a profile sets.

The search for victims counts by these rules, and the binder asks them again before anybody is
asked to leave: what has changed between the two must not matter.
"""

from enum import Enum
from math import inf
from typing import Final

import msgspec

from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.evictions import EvictionState

NOBODY: Final = 1 << 31
"""A priority above all: from here on nobody is protected."""


class CandidateSelection(Enum):
    """How a gang's candidates are chosen (Gödel's ``candidatesSelectPolicy``)."""

    #: The best node of all.
    BEST = "best"
    #: The best of a number of nodes at the lowest priority that will do.
    BETTER = "better"
    #: The best of the first nodes that will do, from a drawn start.
    RANDOM = "random"


class EvictionGuard(Enum):
    """Why a pod may not be asked to leave."""

    #: It is not running.
    NOT_RUNNING = "is not running"
    #: Its priority is not below the preemptor's.
    PRIORITY = "has no lower priority"
    #: It leaves already, or does not go.
    LEAVING = "is leaving already"
    #: The profile protects its priority.
    PROTECTED = "is protected by its priority"
    #: It, or its PriorityClass, forbids it.
    FORBIDDEN = "forbids its preemption"
    #: The profile wants pods to allow it, and it does not.
    NOT_OPTED_IN = "has not agreed to be preempted"
    #: Another scheduler's pods are none of ours to move.
    OTHERS = "is another scheduler's"
    #: It has started a short while ago.
    RECENT = "started a short while ago"


class PreemptionRules(msgspec.Struct, frozen=True):
    """What a profile says of preemption."""

    #: Whether pods may push others out at all.
    enabled: bool = True
    #: Whether a disruption budget is never broken; otherwise as rarely as possible.
    hard_budgets: bool = False
    #: Whether only pods that agree may be preempted.
    opt_in: bool = False
    #: Whether pods that ask for another scheduler stay.
    spares_others: bool = True
    #: Pods of this priority and above are never preempted.
    protected_from: int = NOBODY
    #: Seconds after its start in which a pod is not preempted, whatever it says itself.
    protected_for: float = 0.0
    #: Seconds after which a preemptor no longer waits for its victims.
    patience: float = 120.0
    #: How candidates are chosen.
    select: CandidateSelection = CandidateSelection.BEST
    #: Nodes that are looked at closely where not all are.
    candidates: int = 100


OFF: Final = PreemptionRules(enabled=False)
"""Nobody pushes anybody out."""


def guard_of(
    cluster: Cluster, rules: PreemptionRules, row: int, now: float
) -> EvictionGuard | None:
    """What keeps a pod from being asked to leave, priorities and budgets aside."""
    pods = cluster.pods
    if int(pods.state[row]) != PodState.BOUND:  # NumPy's own number asks the enum's class each time
        return EvictionGuard.NOT_RUNNING
    if int(pods.eviction_state[row]) != EvictionState.NONE:
        return EvictionGuard.EVICTING
    if pods.priority[row] >= rules.protected_from:
        return EvictionGuard.PROTECTED
    traits = cluster.preemption_attributes[int(pods.preemption_attributes[row])]
    if traits.of_other_scheduler:
        return EvictionGuard.OTHER_SCHEDULER
    if traits.can_be_preempted is False:
        return EvictionGuard.FORBIDDEN
    if rules.opt_in and not traits.can_be_preempted:
        return EvictionGuard.NOT_OPTED_IN
    return EvictionGuard.RECENT if now < protected_until(cluster, rules, row) else None


def protected_until(cluster: Cluster, rules: PreemptionRules, row: int) -> float:
    """Clock time until which a pod is protected because it started a short while ago."""
    pods = cluster.pods
    window = max(
        rules.protected_for,
        cluster.preemption_attributes[int(pods.preemption_attributes[row])].protected_for,
    )
    return float(pods.started[row]) + window if window > 0 else -inf


def guard_against(
    cluster: Cluster, rules: PreemptionRules, row: int, priority: int, now: float
) -> EvictionGuard | None:
    """What keeps a pod from being preempted by one of this priority, budgets aside."""
    if cluster.pods.priority[row] >= priority:
        return EvictionGuard.PRIORITY
    return guard_of(cluster, rules, row, now)


def may_preempt(cluster: Cluster, row: int) -> bool:
    """Whether a pod's own policy lets it push others out."""
    return cluster.preemption_attributes[int(cluster.pods.preemption_attributes[row])].preempts
