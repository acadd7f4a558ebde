"""The walk of ``apportion`` in one step, for inputs where Webster's method keeps every quota.

The walk gives each replica to the cluster that Webster's method prefers, unless this breaks a quota
now or makes a quota unreachable. A cluster's turn for its next replica opens at the first total at
which its share exceeds its replicas. The turn is due at the first total at which the share reaches
one more replica. If Webster's sequence takes every turn between these two totals, up to the last
total at which a taken turn is due, all quotas stay reachable, and the walk equals the sequence.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from stretto.federation.planner.division.lines import ShareLine, bent_line, straight_line
from stretto.federation.planner.division.shares import Counts, ShareBounds

_BITS: Final = 62
"""Bits of a criterion that fit into an integer column."""
_EXACT: Final = 51
"""Maximum bits of a product for which different quotients stay different in floating point."""
_TURNS: Final = 1 << 20
"""Maximum number of totals; beyond it the walk needs less memory."""
_MARGIN: Final = 16
"""Totals beyond the desired one that are examined at first, besides two for each cluster."""


@dataclass(frozen=True, slots=True)
class _Turns:
    """Turns of all clusters, in Webster's order."""

    #: Cluster of each turn.
    cluster: Counts
    #: First total at which each turn is open.
    opens: Counts
    #: Total at which each turn is due.
    due: Counts


def sequence_counts(bounds: ShareBounds, total: int, lookahead: int) -> Counts | None:
    """Replicas of each cluster at the total; ``None`` if the walk must decide.

    Args:
        bounds: Positive weights and bounds; each lower bound is less than its upper bound. Ties go
            to the cluster that is listed first.
        total: The replicas, within the sums of the bounds.
        lookahead: Totals for which the walk examines a preferred cluster.
    """
    weights, size, horizon = bounds.weights, len(bounds.weights), total + lookahead + 1
    heaviest = int(weights.max())
    bits = (2 * horizon).bit_length() + 2 * heaviest.bit_length() + 2
    if bits > _BITS or horizon > _TURNS or size * horizon * heaviest >= 1 << _EXACT:
        return None
    # No share exceeds the total, so that larger bounds have no influence up to the horizon.
    most = np.minimum(bounds.most, horizon)
    first = int(bounds.least.sum())
    least, begin = (bounds.least, first) if first else _begin(weights, most, total)
    rest = total - begin
    if not rest:
        return least
    end = total + 2 * size + _MARGIN
    while True:
        line = None if first else straight_line(weights, least, most, end)
        turns = _turns(line or bent_line(weights, least, most, end), heaviest)
        due = turns.due[:rest]
        if len(due) < rest or int((due - np.arange(begin, total)).max()) > lookahead + 1:
            return None
        last = max(total, int(due.max()))
        if last <= end:
            break
        end = last
    if not _proves(turns, begin, last):
        return None
    counts: Counts = least + np.bincount(turns.cluster[:rest], minlength=size)
    return counts


def _begin(weights: Counts, most: Counts, total: int) -> tuple[Counts, int]:
    """Shares without lower bounds from which the walk may start, and their total.

    They are the shares at the last total, before a cluster reaches an upper bound, at which all
    shares are integers; every rounding that keeps the quotas equals them.
    """
    unit = weights // np.gcd.reduce(weights)
    period = int(unit.sum())
    shares: Counts = unit * (total // period)
    if total >= period and (shares > most).any():
        shares = np.zeros_like(shares)
        return shares, 0
    return shares, total // period * period


def _turns(line: ShareLine, heaviest: int) -> _Turns:
    """All turns that open until the end of a line, in Webster's order."""
    turns = line.last - line.least
    ends = turns.cumsum()
    cluster = np.arange(len(turns)).repeat(turns)
    weight = line.weights[cluster]
    # The replica of each turn, counted from the first of its cluster.
    count = np.arange(1, len(cluster) + 1) - (ends - line.last)[cluster]
    # Two fractions with such denominators differ by more than the bits cut off here.
    criterion = ((2 * count - 1) << (2 * heaviest.bit_length() + 2)) // weight
    order = criterion.argsort(kind="stable")
    due, opens = line.due(count, weight), line.opens(count, weight)
    return _Turns(cluster[order], opens[order], due[order])


def _proves(turns: _Turns, begin: int, last: int) -> bool:
    """True if each turn up to a total is taken while it is open, and no due turn is left."""
    taken = last - begin
    opens, due = turns.opens[:taken], turns.due[:taken]
    if len(due) < taken:
        return False
    ranks = np.arange(begin + 1, last + 1)
    in_time = ((opens <= ranks) & (ranks <= due)).all()
    return bool(in_time and (turns.due[taken:] > last).all())
