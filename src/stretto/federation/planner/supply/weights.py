"""Dynamic weights: shares of the free capacity, limited by the size of a cluster.

The weight of a cluster is min(A / ΣA, 1.4 × T / ΣT): its share of the free capacity A, but at most
1.4 times its share of the total capacity T, so that a small cluster that happens to be empty does
not take most replicas. The rule is the one that ByteDance published for KubeAdmiral. Here both
capacities count in replicas of the workload: of all requested resources, the scarcest decides.
Weights are exact integers; they neither sum to 1,000 nor round to zero.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from stretto.federation.planner.supply.capacity import Amounts, ClusterCapacity, fitting

SUPPLY_RATIO: Final = Fraction(14, 10)
"""A weight over the share of the total capacity, at most."""
_SCALE: Final = 10**6
"""The sum of all weights, about."""
_ONE_MILLI: Final[Amounts] = {"cpu": 1}
"""What weighs clusters for a workload that requests nothing: free CPU."""


def dynamic_weights(
    clusters: Sequence[ClusterCapacity], request: Amounts, ratio: Fraction = SUPPLY_RATIO
) -> dict[str, int]:
    """Weights by cluster; a cluster without headroom for a replica has none.

    If no cluster has headroom, weights follow the total capacity, so that pending replicas are
    divided; if there is none either, they are equal.
    """
    needed = request if any(count > 0 for count in request.values()) else _ONE_MILLI
    free = {each.name: fitting(each.available, needed) or 0 for each in clusters}
    total = {each.name: fitting(each.allocatable, needed) or 0 for each in clusters}
    if not sum(free.values()):
        return _scaled(_shares(total)) if sum(total.values()) else dict.fromkeys(free, 1)
    # min(A / ΣA, r × T / ΣT), over the common denominator ΣA × ΣT × denominator of r.
    whole_free, whole_total = sum(free.values()), sum(total.values()) or 1
    up, down = ratio.numerator * whole_free, ratio.denominator * whole_total
    return _scaled_integers({n: min(free[n] * down, total[n] * up) for n in free})


def _scaled_integers(shares: Mapping[str, int]) -> dict[str, int]:
    """Integers in proportion to integer shares; a positive share stays positive."""
    whole = sum(shares.values())
    return {
        name: max(1, (2 * share * _SCALE + whole) // (2 * whole)) if share else 0
        for name, share in shares.items()
    }


def _shares(counts: Mapping[str, int]) -> dict[str, Fraction]:
    whole = sum(counts.values())
    return {name: Fraction(count, whole or 1) for name, count in counts.items()}


def _scaled(shares: Mapping[str, Fraction]) -> dict[str, int]:
    """Integers in proportion to the shares; a positive share stays positive."""
    whole = sum(shares.values())
    return {
        name: max(1, round(share / whole * _SCALE)) if share else 0
        for name, share in shares.items()
    }
