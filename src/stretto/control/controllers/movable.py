"""Conditions for moving a pod: the limits of a plan, and the rules about one pod."""

from collections.abc import Callable
from typing import NamedTuple

from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.units import Units


class MoveLimits(NamedTuple):
    """Limits of a plan."""

    #: Maximum number of moves.
    moves: int
    #: Disruption budgets.
    budgets: BudgetLedger
    #: The units, to recognise gangs.
    units: Units
    #: Predicate on a row: a rule of the profile protects the pod from evictions.
    is_protected: Callable[[int], bool]
    #: Owner of a row's pod, ``Kind/namespace/name``; empty if no controller recreates it.
    owner_of: Callable[[int], str]


def may_leave(cluster: Cluster, limits: MoveLimits, row: int, owner: str) -> bool:
    """Return whether a pod with this owner may be moved, disruption budgets aside."""
    pods = cluster.pods
    pod, unit = cluster.classes[int(pods.class_id[row])], limits.units.of_row(row)
    if pods.state[row] != PodState.BOUND or pods.eviction_state[row]:
        return False
    if (unit is not None and unit.is_gang) or pod.annotations.staged:
        return False
    if cluster.classes.with_terms[pod.id] or not owner:
        return False
    return not limits.is_protected(row)
