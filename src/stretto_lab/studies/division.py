"""The division study: the default division and those of KubeAdmiral and Karmada for equal inputs.

Each workload is a set of clusters and a sequence of totals. Every planner divides the totals one
after another and starts each time from its own last result. Distances are measured on first
divisions. Karmada has no limits of single clusters, so it divides only the workloads without
limits.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from stretto.base.rng import Rng
from stretto.federation.planner.division.demand import DivisionCluster, DivisionDemand
from stretto.federation.planner.division.plan import divide
from stretto.federation.planner.division.shares import ShareBounds, Shares
from stretto.federation.planner.kubeadmiral import spread
from stretto.federation.planner.kubeadmiral.demand import ReplicaDemand, ReplicaPreference
from stretto_lab.models.karmada import assignment, webster
from stretto_lab.models.karmada.assignment import (
    AssignmentDemand,
    DivisionStrategy,
    ReplicaCandidate,
)

Division: TypeAlias = Mapping[str, int]
"""Replicas by cluster."""
STEPS: Final = 8
"""Totals of a workload."""
_FREE: Final = 1000
"""Free replicas for each unit of weight, for Karmada's dynamic weights."""


class DividedWorkload(msgspec.Struct, frozen=True):
    """One input."""

    #: Namespace and name.
    key: str
    #: The clusters.
    clusters: tuple[DivisionCluster, ...]
    #: The totals.
    totals: tuple[int, ...]

    def shares(self, total: int) -> dict[str, float]:
        """Exact shares of the total, limited to the bounds of the clusters."""
        bounds = ShareBounds.of(
            [each.weight for each in self.clusters],
            [each.minimum for each in self.clusters],
            [each.most() for each in self.clusters],
        )
        total = min(max(total, int(bounds.least.sum())), int(bounds.most.sum()))
        exact = Shares(bounds).exact(total)
        return {each.name: float(n) for each, n in zip(self.clusters, exact, strict=True)}


DivisionPlanner: TypeAlias = Callable[[DividedWorkload, int, Division], Division]
"""Function from a workload, a total and the present replicas to a division."""


class DivisionFigures(msgspec.Struct):
    """Results of one planner over all workloads."""

    #: The planner.
    planner: str
    #: True if clusters have limits.
    limits: bool
    #: First divisions.
    divisions: int = 0
    #: Sum over all divisions of the differences between replicas and exact shares, in replicas.
    distance: float = 0.0
    #: Largest difference of one cluster, in replicas.
    farthest: float = 0.0
    #: Divisions in which a cluster differs from its exact share by a whole replica or more.
    outside_quota: int = 0
    #: Divisions of one more replica in which a cluster loses one.
    not_monotone: int = 0
    #: Replicas started in all sequences.
    started: int = 0
    #: Replicas stopped in all sequences.
    stopped: int = 0
    #: Replicas that must start or stop because the total changed.
    necessary: int = 0
    #: Wanted replicas that the planner neither placed nor reported.
    dropped: int = 0


def workloads(count: int, seed: int, *, limits: bool) -> Iterator[DividedWorkload]:
    """Random workloads: 2 to 20 clusters, small, large or very different weights."""
    for number in range(count):
        rng = Rng(seed).child("division", str(limits), number)
        kind = rng.randint(0, 2)
        clusters = []
        for at in range(rng.randint(2, 20)):
            least = rng.choice([0, 0, rng.randint(0, 8)]) if limits else 0
            most = rng.choice([None, None, least + rng.randint(0, 30)]) if limits else None
            clusters.append(DivisionCluster(f"c{at:02}", _weight(rng, kind), least, most))
        totals = [rng.randint(1, 200)]
        for _ in range(STEPS - 1):
            change = rng.choice([-1, 1, rng.randint(-60, 60)])
            totals.append(max(0, totals[-1] + change))
        yield DividedWorkload(f"default/w{number}", tuple(clusters), tuple(totals))


def _weight(rng: Rng, kind: int) -> int:
    """Draw a small weight, a weight that may be large, or a power of two."""
    return (rng.randint(1, 10), rng.randint(1, 1000), 1 << rng.randint(0, 8))[kind]


def by_default(workload: DividedWorkload, total: int, current: Division) -> Division:
    """Return the default division."""
    demand = DivisionDemand(total, workload.clusters, current, workload.key)
    return divide(demand).total()


def by_kubeadmiral(workload: DividedWorkload, total: int, current: Division) -> Division:
    """Return the division of KubeAdmiral, which avoids disruption."""
    preferences = tuple(
        ReplicaPreference(each.name, each.weight, each.minimum, each.maximum)
        for each in workload.clusters
    )
    return spread.plan(ReplicaDemand(total, preferences, workload.key, current)).total()


def by_karmada_static(workload: DividedWorkload, total: int, _current: Division) -> Division:
    """Return the division of Karmada by static weights."""
    votes = {each.name: each.weight for each in workload.clusters}
    return webster.divide(total, votes, {}, workload.key)


def by_karmada_dynamic(workload: DividedWorkload, total: int, current: Division) -> Division:
    """Return Karmada's steady division; free replicas are proportional to the weights.

    It uses Karmada's dynamic weights.
    """
    candidates = tuple(
        ReplicaCandidate(each.name, _FREE * each.weight - current.get(each.name, 0))
        for each in workload.clusters
    )
    strategy = DivisionStrategy.DYNAMIC_WEIGHT
    return assignment.assign(
        AssignmentDemand(strategy, total, candidates, current, uid=workload.key)
    )


PLANNERS: Final[Mapping[str, DivisionPlanner]] = {
    "default": by_default,
    "KubeAdmiral": by_kubeadmiral,
    "Karmada, static weights": by_karmada_static,
    "Karmada, dynamic weights": by_karmada_dynamic,
}
"""Planners by name."""


def measure(count: int, seed: int) -> Iterator[DivisionFigures]:
    """Yield the figures of every planner, without and with limits of clusters."""
    for limits in (False, True):
        given = list(workloads(count, seed, limits=limits))
        for name, planner in PLANNERS.items():
            if limits and name.startswith("Karmada"):
                continue
            figures = DivisionFigures(name, limits)
            for each in given:
                _from_nothing(figures, planner, each)
                _in_sequence(figures, planner, each)
            yield figures


def _from_nothing(
    figures: DivisionFigures, planner: DivisionPlanner, workload: DividedWorkload
) -> None:
    """Add the distances of a first division, and the effect of one more replica."""
    reports = figures.planner == "default"
    names = [each.name for each in workload.clusters]
    least = sum(each.minimum for each in workload.clusters)
    for total in workload.totals:
        one, more = (planner(workload, count, {}) for count in (total, total + 1))
        figures.not_monotone += any(more.get(name, 0) < one.get(name, 0) for name in names)
        figures.dropped += 0 if reports else max(0, total - sum(one.values()))
        figures.divisions += 1
        if total < least:
            continue
        shares = workload.shares(total)
        away = [abs(one.get(name, 0) - shares[name]) for name in names]
        figures.distance += sum(away)
        figures.farthest = max(figures.farthest, *away)
        figures.outside_quota += max(away) >= 1


def _in_sequence(
    figures: DivisionFigures, planner: DivisionPlanner, workload: DividedWorkload
) -> None:
    """Add the replicas that start and stop after the first division."""
    current: Division = planner(workload, workload.totals[0], {})
    for total in workload.totals[1:]:
        found = planner(workload, total, current)
        moves = [found.get(name, 0) - current.get(name, 0) for name in {**found, **current}]
        figures.started += sum(n for n in moves if n > 0)
        figures.stopped -= sum(n for n in moves if n < 0)
        figures.necessary += abs(sum(found.values()) - sum(current.values()))
        current = found
