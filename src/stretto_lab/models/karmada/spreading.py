"""Select clusters under spread constraints, as Karmada does.

Regions, zones and providers get a score from their best clusters. A constraint on regions selects
the combination of regions with the largest score, then one cluster of each and the best of the
others. A constraint on clusters alone exchanges clusters until the selected ones have headroom.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Final

from stretto_lab.models.karmada.integers import int64

_UNIT: Final = 1000
"""Score of one replica in a group; the mean score of its clusters is the remainder."""
_UNDEFINED: Final = -(2**63)
"""A quotient by zero as a 64-bit integer."""


class SpreadField(StrEnum):
    """Topology field of a spread constraint."""

    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"


class SelectionError(Exception):
    """Error for constraints that no selection meets; the message is Karmada's."""


@dataclass(frozen=True, slots=True)
class ClusterSpread:
    """Minimum and maximum number of groups of one kind."""

    #: The topology field.
    by: SpreadField
    #: Minimum number of groups.
    least: int
    #: Maximum number of groups.
    most: int


@dataclass(frozen=True, slots=True)
class ScoredCluster:
    """A feasible cluster."""

    #: Name.
    name: str
    #: Points, 0 to 100.
    score: int
    #: Free and present replicas.
    available: int
    #: Provider, if known.
    provider: str = ""
    #: Region, if known.
    region: str = ""
    #: Zones.
    zones: tuple[str, ...] = ()

    def groups(self, by: SpreadField) -> tuple[str, ...]:
        """The groups of one kind that the cluster belongs to."""
        if by is SpreadField.ZONE:
            return self.zones
        name = self.region if by is SpreadField.REGION else self.provider
        return (name,) if name else ()


@dataclass(frozen=True, slots=True)
class SpreadDemand:
    """Input of the selection about a workload."""

    #: Replicas.
    replicas: int
    #: True if every cluster runs all replicas.
    duplicated: bool
    #: Constraints; a later one of the same kind replaces an earlier one.
    constraints: tuple[ClusterSpread, ...] = ()
    #: True if the constraints are ignored, as with static weights.
    ignored: bool = False

    def constraint(self, by: SpreadField) -> ClusterSpread | None:
        """The constraint of one kind."""
        return next((each for each in reversed(self.constraints) if each.by is by), None)

    def ignores_topology(self) -> bool:
        """True if groups are not used."""
        kinds = [each.by for each in self.constraints]
        return self.ignored or not kinds or kinds == [SpreadField.CLUSTER]


@dataclass(frozen=True, slots=True)
class SpreadSelection:
    """Clusters and groups under a demand."""

    #: All clusters, best first.
    order: tuple[ScoredCluster, ...]
    #: Scores of groups by kind; only kinds with a constraint.
    scores: Mapping[SpreadField, Mapping[str, int]] = field(default_factory=dict)


def rank(clusters: Sequence[ScoredCluster], demand: SpreadDemand) -> SpreadSelection:
    """Order the clusters and score the groups."""
    order = tuple(_sorted(clusters))
    if demand.ignores_topology():
        return SpreadSelection(order)
    kinds = [by for by in SpreadField if by is not SpreadField.CLUSTER and demand.constraint(by)]
    return SpreadSelection(order, {by: _group_scores(order, by, demand) for by in kinds})


def select(ranked: SpreadSelection, demand: SpreadDemand) -> list[ScoredCluster]:
    """The clusters to use, best first.

    Raises:
        SelectionError: the constraints cannot be met.
    """
    if not demand.constraints or demand.ignored:
        return list(ranked.order)
    regions = demand.constraint(SpreadField.REGION)
    clusters = demand.constraint(SpreadField.CLUSTER)
    if regions is not None:
        limits = clusters or ClusterSpread(SpreadField.CLUSTER, 0, 0)
        return _by_region(ranked, regions, limits)
    if clusters is None:
        raise SelectionError("just support cluster and region spread constraint")
    if len(ranked.order) < clusters.least:
        raise SelectionError(
            "the number of feasible clusters is less than spreadConstraint.MinGroups"
        )
    wanted = min(len(ranked.order), clusters.most)
    if demand.duplicated:
        return list(ranked.order[:wanted])
    return _with_capacity(ranked.order, wanted, demand.replicas)


def _sorted(clusters: Sequence[ScoredCluster]) -> list[ScoredCluster]:
    return sorted(clusters, key=lambda each: (-each.score, -each.available, each.name))


def members(order: Sequence[ScoredCluster], by: SpreadField) -> dict[str, list[ScoredCluster]]:
    """Clusters of each group, best first."""
    found: dict[str, list[ScoredCluster]] = {}
    for each in order:
        for name in each.groups(by):
            found.setdefault(name, []).append(each)
    return found


def _group_scores(
    order: Sequence[ScoredCluster], by: SpreadField, demand: SpreadDemand
) -> dict[str, int]:
    constraint = demand.constraint(by)
    least = constraint.least if constraint else 0
    score = _duplicated_score if demand.duplicated else _divided_score
    return {name: score(each, demand, least) for name, each in members(order, by).items()}


def _duplicated_score(clusters: Sequence[ScoredCluster], demand: SpreadDemand, _least: int) -> int:
    """Score by the clusters with headroom for all replicas, then by their mean score."""
    valid = [each.score for each in clusters if each.available >= demand.replicas]
    return len(valid) * _UNIT + sum(valid) // len(valid) if valid else 0


def _divided_score(clusters: Sequence[ScoredCluster], demand: SpreadDemand, least: int) -> int:
    """Score by replicas of its share that the group can run, then by the clusters' mean score."""
    share = -(-demand.replicas // least) if least else _UNDEFINED
    constraint = demand.constraint(SpreadField.CLUSTER)
    enough = max(constraint.least if constraint else 0, least)
    headroom = scores = used = 0
    for each in clusters:
        headroom += each.available
        scores += each.score
        used += 1
        if used >= enough and headroom >= share:
            break
    if headroom < share:
        return int64(headroom * _UNIT) + scores // len(clusters)
    return int64(share * _UNIT) + scores // used


def _with_capacity(
    order: Sequence[ScoredCluster], wanted: int, replicas: int
) -> list[ScoredCluster]:
    """The first ``wanted`` clusters; larger ones replace the last ones until all replicas fit."""
    chosen, rest = list(order[:wanted]), list(order[wanted:])
    at = len(chosen) - 1
    while _headroom(chosen) < replicas and at >= 0:
        larger = max(rest, key=lambda each: each.available, default=chosen[at])
        if larger.available > chosen[at].available:
            position = rest.index(larger)
            chosen[at], rest[position] = rest[position], chosen[at]
        at -= 1
    if _headroom(chosen) < replicas or not chosen:
        raise SelectionError(f"no enough resource when selecting {wanted} clusters")
    return chosen


def _headroom(clusters: Sequence[ScoredCluster]) -> int:
    return sum(each.available for each in clusters)


def _by_region(
    ranked: SpreadSelection, regions: ClusterSpread, clusters: ClusterSpread
) -> list[ScoredCluster]:
    """One cluster of each selected region, then the best of the others."""
    by_region = members(ranked.order, SpreadField.REGION)
    if len(by_region) < regions.least:
        raise SelectionError(
            "the number of feasible region is less than spreadConstraint.MinGroups"
        )
    scores = ranked.scores[SpreadField.REGION]
    groups = [_Group(name, len(each), scores[name]) for name, each in by_region.items()]
    names = _best_groups(groups, regions, clusters.least)
    if not names:
        raise SelectionError(
            "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        )
    chosen = [by_region[name][0] for name in names]
    others = [each for name in names for each in by_region[name][1:]]
    wanted = min(len(others) + len(chosen), clusters.most) - len(chosen)
    return chosen + _sorted(others)[: max(0, wanted)]


@dataclass(frozen=True, slots=True)
class _Group:
    """A region."""

    #: Name.
    name: str
    #: Number of clusters.
    size: int
    #: Score.
    score: int


@dataclass(frozen=True, slots=True)
class _Path:
    """A combination of groups."""

    #: Sequence number of its discovery.
    number: int
    #: Its groups, best first.
    groups: tuple[_Group, ...]

    def rank(self) -> tuple[int, int, int]:
        """Sort key: larger score first, then more clusters, then earlier."""
        score = sum(each.score for each in self.groups)
        return -score, -sum(each.size for each in self.groups), self.number

    def names(self) -> list[str]:
        """Names of the groups."""
        return [each.name for each in self.groups]


def _best_groups(groups: Sequence[_Group], constraint: ClusterSpread, clusters: int) -> list[str]:
    """The best combination of groups; among those with equal beginnings the shorter one."""
    paths = sorted(_combinations(groups, constraint, clusters), key=_Path.rank)
    if not paths:
        return []
    best = paths[0].names()
    for each in paths[1:]:
        names = each.names()
        if len(names) < len(best) and best[: len(names)] == names:
            best = names
    return best


def _combinations(
    groups: Sequence[_Group], constraint: ClusterSpread, clusters: int
) -> list[_Path]:
    """Smallest combinations with enough groups and clusters, small groups first."""
    ordered = sorted(groups, key=lambda each: (each.size, -each.score, each.name))
    found: list[_Path] = []
    numbers = count(1)

    def extend(chosen: tuple[_Group, ...], begin: int) -> None:
        size = sum(each.size for each in chosen)
        if size >= clusters and constraint.least <= len(chosen) <= constraint.most:
            best = sorted(chosen, key=lambda each: (-each.score, each.name))
            found.append(_Path(next(numbers), tuple(best)))
            return
        if len(chosen) >= constraint.most:
            return
        # All groups are needed, so only one combination remains.
        end = begin + 1 if len(ordered) == constraint.least else len(ordered)
        for at in range(begin, min(end, len(ordered))):
            extend((*chosen, ordered[at]), at + 1)

    extend((), 0)
    return found
