"""The walk of ``apportion`` all at once, where Webster's method keeps every quota by itself.

Without lower bounds, and as long as no upper bound is met, the walk gives each replica to the
cluster that Webster's method prefers, unless that breaks a quota now or makes one unreachable. If
Webster's sequence keeps all quotas up to the last total at which a taken turn is due, it is its own
proof that they stay reachable; then the walk never deviates from it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stretto.federation.planner.division.shares import ShareBounds

_BITS: Final = 62
"""Bits of a criterion that fit in an integer column."""
_CELLS: Final = 1 << 20
"""Totals times clusters beyond which the walk costs less memory."""


def sequence_counts(
    bounds: ShareBounds, ties: Sequence[int], total: int, lookahead: int
) -> list[int] | None:
    """Replicas of each cluster at the total; None if the walk has to decide.

    Args:
        bounds: Positive weights, and bounds.
        ties: A different number for each cluster; the smaller one precedes at equal criteria.
        total: The replicas, at most the sum of the upper bounds.
        lookahead: Totals for which the walk examines a preferred cluster.
    """
    if any(bounds.least) or not total:
        return None
    whole, lightest = sum(bounds.weights), min(bounds.weights)
    beyond = -(-whole // lightest) + 1
    horizon = total + beyond
    shift = 2 * max(bounds.weights).bit_length() + 2
    fits = (2 * horizon + 1).bit_length() + shift <= _BITS
    if not fits or beyond > lookahead or horizon * len(ties) > _CELLS:
        return None
    weights = np.array(bounds.weights, np.int64)
    reached = -(-horizon * weights // whole)
    if (reached > np.array(bounds.most, np.int64)).any():
        return None
    turns = reached + 1
    cluster = np.repeat(np.arange(len(ties)), turns)
    number = np.arange(len(cluster)) - np.repeat(np.cumsum(turns) - turns, turns)
    criterion = ((2 * number + 1) << shift) // weights[cluster]
    order = np.lexsort((np.array(ties, np.int64)[cluster], criterion))[:horizon]
    given = np.zeros((horizon, len(ties)), np.int64)
    given[np.arange(horizon), cluster[order]] = 1
    counts = given.cumsum(axis=0)
    shares = np.arange(1, horizon + 1, dtype=np.int64)[:, None] * weights
    lower = shares // whole
    upper = -(-shares // whole)
    if ((counts < lower) | (counts > upper)).any():
        return None
    found: list[int] = counts[total - 1].tolist()
    return found
