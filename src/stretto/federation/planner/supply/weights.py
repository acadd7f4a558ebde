"""Dynamic weights: shares of the free capacity, limited by the size of a cluster.

The weight of a cluster is min(A / ΣA, 1.4 × T / ΣT): its share of the free capacity A, but at most
1.4 times its share of the total capacity T, so that a small empty cluster does not take most
replicas. ByteDance published the rule for KubeAdmiral. Here both capacities are measured in
replicas of the workload, by the scarcest of its requested resources. Weights are exact integers;
they neither sum to 1,000 nor round to zero.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from stretto.federation.planner.supply.capacity import Amounts

SUPPLY_RATIO: Final = Fraction(14, 10)
"""Maximum ratio of a weight to the share of the total capacity."""
_SCALE: Final = 10**6
"""Approximate sum of all weights."""
_ONE_MILLI: Final[Amounts] = {"cpu": 1}
"""Amount that weighs clusters for a workload without requests: free CPU."""


def weighed_request(request: Amounts) -> Amounts:
    """The request that weighs clusters: CPU for a workload without requests."""
    return request if any(count > 0 for count in request.values()) else _ONE_MILLI


def weights_of(
    free: Sequence[int], total: Sequence[int], ratio: Fraction = SUPPLY_RATIO
) -> list[int]:
    """Weights of clusters; a cluster without headroom for a replica has weight 0.

    If no cluster has headroom, weights follow the total capacity, so that pending replicas are
    divided; without total capacity they are equal.

    Args:
        free: replicas that fit in the free capacity of each cluster.
        total: replicas that fit in the total capacity of each cluster.
        ratio: maximum ratio of the weight to the share of the total capacity.
    """
    whole_free, whole_total = sum(free), sum(total)
    if not whole_free:
        return _scaled(total) if whole_total else [1] * len(free)
    # min(A / ΣA, r × T / ΣT), over the common denominator ΣA × ΣT × denominator of r.
    up, down = ratio.numerator * whole_free, ratio.denominator * (whole_total or 1)
    return _scaled([min(a * down, t * up) for a, t in zip(free, total, strict=True)])


def _scaled(shares: Sequence[int]) -> list[int]:
    """Integers in proportion to integer shares; a positive share stays positive."""
    whole = 2 * sum(shares)
    factor, half = 2 * _SCALE, whole // 2
    return [max(1, (share * factor + half) // whole) if share else 0 for share in shares]
