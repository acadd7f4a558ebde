"""Divide replicas by weight like KubeAdmiral (scheduling mode Divide, strategy Spread).

Each cluster first gets its minimum. Then rounds over the clusters, by weight and hash, assign each
its share of the rest, rounded up, until nothing is left or nothing changes; full clusters drop out.
With ``avoid_disruption`` only the difference to the present replicas is divided, in proportion to
each cluster's distance from its share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stretto.federation.planner.hashes import fnv1
from stretto.federation.planner.kubeadmiral.demand import (
    ReplicaDemand,
    ReplicaPlan,
    ReplicaPreference,
)

_NO_LIMITS: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class _SpreadRound:
    """Input of one division by weight."""

    #: Replicas to divide.
    replicas: int
    #: The clusters, heaviest first.
    ordered: Sequence[ReplicaPreference]
    #: Estimates by cluster.
    estimated: Mapping[str, int]
    #: Hard limits by cluster.
    limited: Mapping[str, int]


def plan(demand: ReplicaDemand) -> ReplicaPlan:
    """Divide the replicas of ``demand``."""
    keep = demand.keep_unschedulable or not demand.avoid_disruption
    wanted = _divide(
        _SpreadRound(
            demand.replicas,
            _heaviest_first(demand.preferences, demand.key),
            demand.estimated,
            demand.limited,
        ),
        keep,
    )
    if not demand.avoid_disruption:
        return wanted
    return ReplicaPlan(_with_fewer_moves(demand, wanted.placed), wanted.overflow)


def _heaviest_first(preferences: Sequence[ReplicaPreference], key: str) -> list[ReplicaPreference]:
    return sorted(preferences, key=lambda each: (-each.weight, fnv1(each.name + key)))


def _divide(division: _SpreadRound, keep: bool) -> ReplicaPlan:
    """Minimums, then rounds; ``keep`` also keeps overflow that another cluster replaces."""
    found = ReplicaPlan({}, {})
    rest = division.replicas
    for each in division.ordered:
        minimum = min(each.minimum, rest)
        if each.name in division.limited:
            minimum = min(minimum, division.limited[each.name])
        if minimum > division.estimated.get(each.name, minimum):
            found.overflow[each.name] = minimum - division.estimated[each.name]
            minimum = division.estimated[each.name]
        found.placed[each.name] = minimum
        rest -= minimum
    rest = _rounds(division, found, rest)
    if keep:
        return found
    trimmed = {name: min(count, rest) for name, count in found.overflow.items()}
    return ReplicaPlan(found.placed, {name: n for name, n in trimmed.items() if n > 0})


def _rounds(division: _SpreadRound, found: ReplicaPlan, rest: int) -> int:
    """Assign ``rest`` in rounds, adding to ``found``; return the replicas that fit nowhere."""
    open_clusters = list(division.ordered)
    changed = True
    while changed and rest > 0:
        changed = False
        weights = sum(each.weight for each in open_clusters)
        if weights <= 0:
            break
        in_round, still_open = rest, []
        for each in open_clusters:
            before = found.placed[each.name]
            after = before + min(-(-in_round * each.weight // weights), rest)
            allowed = _allowed(division, found, each, after)
            if allowed == after:
                still_open.append(each)
            found.placed[each.name] = allowed
            rest -= allowed - before
            changed = changed or allowed > before
        open_clusters = still_open
    return rest


def _allowed(
    division: _SpreadRound, found: ReplicaPlan, cluster: ReplicaPreference, count: int
) -> int:
    """``count`` within the limits of ``cluster``; replicas beyond its estimate are overflow."""
    name = cluster.name
    if cluster.maximum is not None:
        count = min(count, cluster.maximum)
    count = min(count, division.limited.get(name, count))
    estimate = division.estimated.get(name, count)
    if count > estimate:
        found.overflow[name] = found.overflow.get(name, 0) + count - estimate
        return estimate
    return count


def _with_fewer_moves(demand: ReplicaDemand, wanted: dict[str, int]) -> dict[str, int]:
    """The present replicas, changed only by the difference to the desired total."""
    present = {}
    for each in demand.preferences:
        count = demand.current.get(each.name, 0)
        count = min(count, demand.estimated.get(each.name, count))
        present[each.name] = min(count, demand.limited.get(each.name, count))
    difference = sum(wanted.values()) - sum(present.values())
    if difference < 0:
        return _shrunk(demand, present, wanted, -difference)
    return _grown(demand, present, wanted, difference) if difference else present


def _shrunk(
    demand: ReplicaDemand, present: dict[str, int], wanted: dict[str, int], count: int
) -> dict[str, int]:
    """Take ``count`` replicas from clusters above their share."""
    above = [
        ReplicaPreference(name, has - wanted[name], maximum=has)
        for name, has in present.items()
        if has > wanted[name]
    ]
    ordered = _heaviest_first(above, demand.key)
    taken = _divide(_SpreadRound(count, ordered, _NO_LIMITS, _NO_LIMITS), keep=False).placed
    return {name: has - taken.get(name, 0) for name, has in present.items()}


def _grown(
    demand: ReplicaDemand, present: dict[str, int], wanted: dict[str, int], count: int
) -> dict[str, int]:
    """Give ``count`` replicas to clusters below their share; only own maximums limit them."""
    below = []
    for each in demand.preferences:
        has = present[each.name]
        if wanted[each.name] > has:
            limit = None if each.general else each.maximum
            headroom = None if limit is None else limit - has
            below.append(ReplicaPreference(each.name, wanted[each.name] - has, maximum=headroom))
    ordered = _heaviest_first(below, demand.key)
    given = _divide(_SpreadRound(count, ordered, _NO_LIMITS, _NO_LIMITS), keep=False).placed
    return {name: has + given.get(name, 0) for name, has in present.items()}
