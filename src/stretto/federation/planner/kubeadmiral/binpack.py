"""Fill clusters by priority like KubeAdmiral (scheduling mode Divide, strategy Binpack).

Each cluster first gets its minimum; then the first cluster is filled to its capacity, and the next
ones take the rest. A plan is made only when the estimates agree with the running replicas, because
otherwise they are about to change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stretto.federation.planner.kubeadmiral.demand import (
    ReplicaDemand,
    ReplicaPlan,
    ReplicaPreference,
)

_NO_LIMITS: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class _Present:
    """Present replicas within the limits."""

    #: Replicas by cluster.
    placed: dict[str, int]
    #: Their sum.
    total: int
    #: Running replicas within the hard limits.
    scheduled: int


def plan(demand: ReplicaDemand) -> ReplicaPlan:
    """Divide the replicas of ``demand``."""
    if not _is_settled(demand):
        return ReplicaPlan(dict(demand.current), {})
    wanted = _fill(demand.preferences, demand.estimated, demand.limited, demand.replicas)
    present = _present(demand)
    keep = demand.keep_unschedulable or not demand.avoid_disruption
    if not keep and present.scheduled == demand.replicas:
        return ReplicaPlan(dict(demand.scheduled), {})
    if not demand.avoid_disruption:
        return wanted
    overflow = wanted.overflow
    if not keep:
        missing = demand.replicas - present.scheduled
        capped = {name: min(count, missing) for name, count in overflow.items()}
        overflow = {name: count for name, count in capped.items() if count > 0}
    return ReplicaPlan(_with_fewer_moves(demand, present, wanted.placed), overflow)


def _is_settled(demand: ReplicaDemand) -> bool:
    """True if a plan is due: a cluster is gone, a hard limit is exceeded or estimates are new."""
    known = {each.name for each in demand.preferences}
    if not demand.current.keys() <= known:
        return True
    if any(count > demand.limited.get(name, count) for name, count in demand.current.items()):
        return True
    return all(
        count == demand.estimated.get(name, demand.current.get(name, 0))
        for name, count in demand.scheduled.items()
    )


def _present(demand: ReplicaDemand) -> _Present:
    placed, scheduled = {}, 0
    for each in demand.preferences:
        count = demand.current.get(each.name, 0)
        count = min(count, demand.estimated.get(each.name, count))
        placed[each.name] = min(count, demand.limited.get(each.name, count))
        runs = demand.scheduled.get(each.name, 0)
        scheduled += min(runs, demand.limited.get(each.name, runs))
    return _Present(placed, sum(placed.values()), scheduled)


def _fill(
    preferences: Sequence[ReplicaPreference],
    estimated: Mapping[str, int],
    limited: Mapping[str, int],
    replicas: int,
) -> ReplicaPlan:
    """Minimums, then one cluster after another; replicas beyond an estimate are overflow."""
    found = ReplicaPlan({}, {})
    rest = replicas
    for each in preferences:
        count = min(each.minimum, rest)
        count = min(count, limited.get(each.name, count))
        allowed = min(count, estimated.get(each.name, count))
        if allowed < count:
            found.overflow[each.name] = count - allowed
        found.placed[each.name] = allowed
        rest -= allowed
    for each in preferences:
        before = found.placed[each.name]
        count = before + rest
        if each.maximum is not None:
            count = min(count, each.maximum)
        count = min(count, limited.get(each.name, count))
        allowed = min(count, estimated.get(each.name, count))
        if allowed < count:
            overflow = found.overflow.get(each.name, 0)
            found.overflow[each.name] = max(count - allowed, overflow)
        found.placed[each.name] = allowed
        rest -= allowed - before
    return found


def _with_fewer_moves(
    demand: ReplicaDemand, present: _Present, wanted: dict[str, int]
) -> dict[str, int]:
    """The present replicas, changed only by the difference to the desired total."""
    has = present.placed
    missing = demand.replicas - present.total
    if present.total == sum(wanted.values()):
        return has
    if present.total > sum(wanted.values()):
        above = [
            ReplicaPreference(each.name, maximum=has[each.name])
            for each in reversed(demand.preferences)
            if has[each.name] > wanted[each.name]
        ]
        taken = _fill(above, _NO_LIMITS, _NO_LIMITS, -missing).placed
        return {name: count - taken.get(name, 0) for name, count in has.items()}
    below = [
        replace(each, maximum=None if each.maximum is None else each.maximum - has[each.name])
        for each in demand.preferences
        if has[each.name] < wanted[each.name]
    ]
    given = _fill(below, _NO_LIMITS, demand.limited, missing).placed
    return {name: count + given.get(name, 0) for name, count in has.items()}
