"""Round exact shares to replicas so that no cluster loses one when the total grows.

Replicas are assigned one after another, so the result is monotone in the total. Each is assigned to
the cluster that Webster's method prefers, among those where every cluster can still keep its quota
at every later total: its share, rounded down or up. This is the quota method with Webster's
criterion (M. L. Balinski and H. P. Young, The quota method of apportionment, 1975; J. W. Still, A
class of new methods for congressional apportionment, 1979), here for shares with bounds.
"""

import heapq
from typing import Final, TypeAlias

import numpy as np

from stretto.federation.planner.division.sequence import sequence_counts
from stretto.federation.planner.division.shares import Counts, ShareBounds, Shares

LOOKAHEAD: Final = 256
"""Minimum number of totals for which a preferred cluster is examined.

For many clusters the number is four for each cluster. A cluster whose next replica is due later
waits until no other cluster can take the turn, which is always allowed.
"""

_Turn: TypeAlias = tuple[int, int, int]
"""Webster's criterion, cluster, due total: the smallest is preferred."""


def apportion(total: int, bounds: ShareBounds) -> Counts:
    """Replicas of each cluster; ties go to the cluster that is listed first.

    They sum to ``total``, or to the sum of the upper bounds if that is less; clusters without a
    weight get their lower bound. If the lower bounds exceed the total, they replace the weights and
    the upper bounds.

    Args:
        total: The replicas.
        bounds: Weights and bounds.
    """
    surplus = total - int(bounds.least.sum())
    if surplus < 0:
        none = np.zeros_like(bounds.least)
        return apportion(total, ShareBounds(bounds.least, none, bounds.least))
    growing = (bounds.weights > 0) & (bounds.most > bounds.least)
    if not surplus or not growing.any():
        return bounds.least
    part = bounds.only(growing)
    counts = bounds.least.copy()
    counts[growing] = _counts(part, surplus + int(part.least.sum()))
    return counts


def _counts(bounds: ShareBounds, total: int) -> Counts:
    """Replicas of clusters above their lower bounds: in one step if exact, else by the walk."""
    total = min(total, int(bounds.most.sum()))
    at_once = sequence_counts(bounds, total, _lookahead(len(bounds.weights)))
    return _Rounding(bounds, total).counts() if at_once is None else at_once


def _lookahead(clusters: int) -> int:
    return max(LOOKAHEAD, 4 * clusters)


class _Rounding:
    """One walk over the totals, from the last one at which all shares are integers."""

    def __init__(self, bounds: ShareBounds, total: int) -> None:
        self._weights: list[int] = bounds.weights.tolist()
        self._most: list[int] = bounds.most.tolist()
        self._total = total
        self._shares = Shares(bounds)
        begin, counts = self._shares.whole(total) or (int(bounds.least.sum()), bounds.least)
        self._counts = np.array(counts, np.int64)
        self._begin = begin + 1
        self._lookahead = _lookahead(len(self._weights))
        self._slack = self._shares.slack(self._begin, self._begin, self._counts)
        self._shift = 2 * max(self._weights).bit_length() + 2
        self._opening: list[tuple[int, int]] = []
        self._ready: list[_Turn] = []
        for cluster in range(len(self._weights)):
            self._open(cluster)

    def counts(self) -> Counts:
        """Replicas of each cluster at the total."""
        for turn in range(self._begin, self._total + 1):
            self._extend(turn)
            while self._opening and self._opening[0][0] <= turn:
                self._admit(heapq.heappop(self._opening)[1])
            self._give(turn, self._next(turn))
        return self._counts

    def _open(self, cluster: int) -> None:
        count = int(self._counts[cluster])
        if count < self._most[cluster]:
            heapq.heappush(self._opening, (self._shares.opens(cluster, count), cluster))

    def _admit(self, cluster: int) -> None:
        """Allow a cluster to take a turn, because it no longer exceeds its quota."""
        count = int(self._counts[cluster])
        weight = self._weights[cluster]
        # Two fractions with such denominators differ by more than the bits cut off here.
        criterion = ((2 * count + 1) << self._shift) // weight
        due = self._shares.due(cluster, count + 1)
        heapq.heappush(self._ready, (criterion, cluster, due))

    def _extend(self, turn: int) -> None:
        """Compute the slack of all totals that the look-ahead reads."""
        end = self._begin + len(self._slack)
        if turn + self._lookahead >= end:
            more = self._shares.slack(end, end + 2 * self._lookahead, self._counts)
            self._slack = np.concatenate([self._slack[turn - self._begin :], more])
            self._begin = turn

    def _next(self, turn: int) -> _Turn:
        """The preferred cluster that keeps every quota reachable, else the most urgent cluster."""
        passed: list[_Turn] = []
        chosen: _Turn | None = None
        while self._ready and chosen is None:
            first = heapq.heappop(self._ready)
            if self._allows(turn, first[2]):
                chosen = first
            else:
                passed.append(first)
        if chosen is None:
            chosen = min(passed, key=lambda each: (each[2], *each))
            passed.remove(chosen)
        for each in passed:
            heapq.heappush(self._ready, each)
        return chosen

    def _allows(self, turn: int, due: int) -> bool:
        if due > turn + self._lookahead:
            return False
        between = self._slack[turn - self._begin : due - self._begin]
        return not len(between) or bool(between.min() > 0)

    def _give(self, turn: int, chosen: _Turn) -> None:
        _, cluster, due = chosen
        self._slack[turn - self._begin : max(0, due - self._begin)] -= 1
        self._counts[cluster] += 1
        self._open(cluster)
