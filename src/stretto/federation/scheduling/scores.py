"""Scores: points from 0 to 100 for each cluster, under KubeAdmiral's names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import numpy as np

from stretto.federation.scheduling.filters import matches
from stretto.federation.scheduling.fleet import ClusterColumn, MemberFleet
from stretto.federation.scheduling.resources import CPU, EPHEMERAL, GPU, MEMORY, is_scalar
from stretto.federation.scheduling.workload import ClusterTerm, FederatedWorkload
from stretto.state.nodes.taints import PREFER_NO_SCHEDULE, untolerated

MOST: Final = 100
"""The best score."""
_WEIGHTS: Final[Mapping[str, int]] = {CPU: 1, MEMORY: 1, GPU: 4}
"""Default weights of resources in LeastAllocated and MostAllocated; others have 1."""


RawScore: TypeAlias = Callable[[FederatedWorkload, MemberFleet], ClusterColumn]
"""Function from a workload and the clusters to a raw score of each cluster."""
CapacityPart: TypeAlias = Callable[[ClusterColumn, ClusterColumn], ClusterColumn]
"""Function from requested amounts and capacities to the part of the capacity that scores."""


class Scale(Enum):
    """Conversion of raw scores to points."""

    #: Raw scores are points.
    POINTS = "points"
    #: Points are proportional to the raw score; the largest one gets 100.
    MOST_IS_BEST = "most is best"
    #: Points are proportional to the raw score and reversed; the smallest raw score is best.
    LEAST_IS_BEST = "least is best"


@dataclass(frozen=True, slots=True)
class ClusterScore:
    """A score plugin."""

    #: Raw scores of all clusters.
    raw: RawScore
    #: Conversion of raw scores to points.
    scale: Scale = Scale.POINTS

    def points(self, raw: ClusterColumn) -> ClusterColumn:
        """Points for raw scores, 0 to 100."""
        if self.scale is Scale.POINTS:
            return raw
        best = max(raw.tolist(), default=0)
        if best <= 0:
            return np.full_like(raw, MOST) if self.scale is Scale.LEAST_IS_BEST else raw
        product = MOST * raw
        share: ClusterColumn = np.sign(product) * (np.abs(product) // best)
        return MOST - share if self.scale is Scale.LEAST_IS_BEST else share


def untolerated_taints(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterColumn:
    """Number of untolerated PreferNoSchedule taints."""
    return fleet.column(
        untolerated(each.taints, workload.tolerations, (PREFER_NO_SCHEDULE,))
        for each in fleet.members
    )


def preferred_terms(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterColumn:
    """Sum of the weights of the preferred terms that match; only labels count.

    Raises:
        InputError: a requirement of a term with weight is invalid.
    """
    return fleet.column(
        sum(
            term.weight
            for term in workload.preferred
            if term.weight and matches(ClusterTerm(term.match_expressions), each)
        )
        for each in fleet.members
    )


def balanced(workload: FederatedWorkload, fleet: MemberFleet) -> ClusterColumn:
    """Points for equal shares of all resources in use: 100 × (1 − standard deviation)."""
    fractions = []
    full = fleet.mask(False for _ in fleet.members)
    for name in _relevant(workload):
        capacity = fleet.allocatable(name)
        requested = fleet.used(name) + workload.request.get(name, 0)
        share = np.ones(len(capacity))
        np.divide(requested, capacity, out=share, where=capacity != 0)
        full |= share >= 1
        fractions.append(share)
    if len(fractions) == 2:
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = sum(fractions, np.zeros(len(fleet.members))) / len(fractions)
        squares = [(each - mean) * (each - mean) for each in fractions]
        deviation = np.sqrt(sum(squares, np.zeros(len(fleet.members))) / len(fractions))
    points = ((1 - deviation) * float(MOST)).astype(np.int64)
    return np.where(full, 0, points)


def allocation(part: CapacityPart, weights: Mapping[str, int] = _WEIGHTS) -> RawScore:
    """A score for a part of the capacity.

    It is the weighted mean over resources of the percentage of the part; fully used resources score
    0.

    Args:
        part: function from the requested amounts and the capacity to the amounts that score.
        weights: weights of resources; other resources have weight 1.
    """
    return lambda workload, fleet: _mean(workload, fleet, part, weights)


def free_part(requested: ClusterColumn, capacity: ClusterColumn) -> ClusterColumn:
    """The free part, which gives points to empty clusters."""
    return capacity - requested


def used_part(requested: ClusterColumn, _capacity: ClusterColumn) -> ClusterColumn:
    """The used part, which gives points to full clusters."""
    return requested


def _mean(
    workload: FederatedWorkload,
    fleet: MemberFleet,
    part: CapacityPart,
    by_resource: Mapping[str, int],
) -> ClusterColumn:
    total, weights = fleet.column(0 for _ in fleet.members), 0
    for name in _relevant(workload):
        weight = by_resource.get(name, 1)
        capacity = fleet.allocatable(name)
        requested = fleet.used(name) + workload.request.get(name, 0)
        percentage = part(requested, capacity) * MOST // np.maximum(capacity, 1)
        total += weight * np.where((capacity == 0) | (requested > capacity), 0, percentage)
        weights += weight
    return total // max(weights, 1)


def _relevant(workload: FederatedWorkload) -> list[str]:
    """CPU, memory, requested scalars, and ephemeral storage if it is requested."""
    found = [CPU, MEMORY, *(name for name in workload.request if is_scalar(name))]
    return [*found, EPHEMERAL] if workload.request.get(EPHEMERAL) else found


SCORES: Final[Mapping[str, ClusterScore]] = {
    "TaintToleration": ClusterScore(untolerated_taints, Scale.LEAST_IS_BEST),
    "ClusterResourcesBalancedAllocation": ClusterScore(balanced),
    "ClusterResourcesLeastAllocated": ClusterScore(allocation(free_part)),
    "ClusterResourcesMostAllocated": ClusterScore(allocation(used_part)),
    "ClusterAffinity": ClusterScore(preferred_terms, Scale.MOST_IS_BEST),
}
"""Score plugins by name."""
