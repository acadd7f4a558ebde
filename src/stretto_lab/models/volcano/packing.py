"""The packing score: prefers the nodes that the task fills best (Volcano's plugin ``binpack``)."""

from collections.abc import Mapping

import msgspec

from stretto.capacity.model.profiles import CapacityProfile

MOST = 100.0
"""Score of a node that the task fills completely, times the weight of the score."""


class PackingWeights(msgspec.Struct, frozen=True):
    """Weights of the resources."""

    #: Weights by resource; a resource without one does not count.
    resources: dict[str, float]
    #: Weight of the whole score.
    score: float = 1.0


def packing_score(
    requests: Mapping[str, int],
    used: Mapping[str, int],
    capacity: Mapping[str, int],
    weights: PackingWeights,
    profile: CapacityProfile = CapacityProfile.STRETTO,
) -> float:
    """Weighted mean of the used fractions after placement; 0 if the task does not fit.

    Args:
        requests: amounts of the task.
        used: amounts in use on the node.
        capacity: allocatable amounts of the node; the fraction of a missing resource is 0.
        weights: weights.
        profile: with ``VOLCANO``, a negative weight of the score prefers empty nodes.
    """
    total = 0.0
    counted = 0.0
    for name, amount in requests.items():
        weight = weights.resources.get(name)
        if amount <= 0 or weight is None:
            continue
        counted += weight
        has, needed = capacity.get(name, 0), used.get(name, 0) + amount
        if not has or not weight:
            continue
        if needed > has:
            return 0.0
        total += weight * needed / has
    scale = weights.score
    if profile is not CapacityProfile.VOLCANO:
        scale = max(scale, 0.0)
    return total / counted * MOST * scale if counted else 0.0
