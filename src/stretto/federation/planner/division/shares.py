"""Exact shares of clusters with bounds, as functions of the total.

At a total t the share of a cluster is λ × weight, at least its lower and at most its upper bound;
λ is the number at which the shares sum to t. Between the totals at which a cluster meets a bound, λ
is linear in t, so that shares are exact with integers alone.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stretto.base.errors import InputError

UNBOUNDED: Final = 2**40
"""An upper bound that no total reaches."""
MOST_WEIGHT: Final = 2**31 - 1
"""Maximum weight; products with totals fit in 64 bits."""

Counts: TypeAlias = NDArray[np.int64]
"""One int64 for each cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class ShareBounds:
    """Weights and bounds of all clusters, in the same order."""

    #: Weights, 0 or more.
    weights: Counts
    #: Lower bounds.
    least: Counts
    #: Upper bounds, at least the lower ones.
    most: Counts

    @classmethod
    def of(cls, weights: Sequence[int], least: Sequence[int], most: Sequence[int]) -> "ShareBounds":
        """The bounds of numbers.

        Raises:
            InputError: a weight is out of its range.
        """
        for weight in weights:
            if not 0 <= weight <= MOST_WEIGHT:
                raise InputError("weight", weight, f"an integer from 0 to {MOST_WEIGHT}")
        return cls(*(np.array(each, np.int64) for each in (weights, least, most)))

    def only(self, kept: NDArray[np.bool_]) -> "ShareBounds":
        """The clusters of a mask."""
        return ShareBounds(self.weights[kept], self.least[kept], self.most[kept])


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Totals between which the same clusters are between their bounds."""

    #: λ at the beginning.
    rate: Fraction
    #: The total at the beginning.
    begin: Fraction
    #: Sum of the bounds that clusters have met.
    fixed: int
    #: Sum of the weights of the other clusters.
    weight: int


class Shares:
    """The shares of clusters with a positive weight, from the sum of their lower bounds on."""

    def __init__(self, bounds: ShareBounds) -> None:
        self._weights: list[int] = bounds.weights.tolist()
        self._column = bounds.weights
        self._least = bounds.least
        self._most = bounds.most
        self._stretches = _stretches(bounds)
        rates = [each.rate for each in self._stretches]
        self._ratios = [(each.numerator, each.denominator) for each in rates]
        self._begins = [each.begin for each in self._stretches]

    def due(self, cluster: int, count: int) -> int:
        """The smallest total at which the share of ``cluster`` is ``count`` or more."""
        at = self._stretch(cluster, count)
        return at.fixed - (-at.weight * count // self._weights[cluster])

    def opens(self, cluster: int, count: int) -> int:
        """The smallest total at which the share of ``cluster`` is more than ``count``."""
        at = self._stretch(cluster, count)
        return at.fixed + at.weight * count // self._weights[cluster] + 1

    def _stretch(self, cluster: int, count: int) -> _Stretch:
        """The stretch in which the share of ``cluster`` reaches ``count``."""
        weight = self._weights[cluster]
        low, high = 0, len(self._ratios)
        numerator, denominator = self._ratios[-1]
        if count * denominator >= numerator * weight:
            return self._stretches[-1]
        # The last stretch whose rate is at most count / weight, by integers.
        while low < high:
            middle = (low + high) // 2
            numerator, denominator = self._ratios[middle]
            if numerator * weight > count * denominator:
                high = middle
            else:
                low = middle + 1
        return self._stretches[max(0, low - 1)]

    def exact(self, total: int) -> list[Fraction]:
        """The shares at ``total``."""
        at = self._stretches[max(0, bisect_right(self._begins, total) - 1)]
        rate = Fraction(total - at.fixed, at.weight) if at.weight else at.rate
        return [
            min(max(rate * weight, Fraction(int(least))), Fraction(int(most)))
            for weight, least, most in zip(self._weights, self._least, self._most, strict=True)
        ]

    def whole(self, total: int) -> tuple[int, list[int]] | None:
        """The largest total up to ``total`` that was found at which all shares are integers.

        Every rounding that keeps the quota equals the shares there.

        Returns:
            The total and the shares; ``None`` if there is no such total.
        """
        for number in range(bisect_right(self._begins, total) - 1, -1, -1):
            found = self._whole(self._stretches[number], total)
            if found is not None:
                return found, [int(each) for each in self.exact(found)]
            total = min(total, math.floor(self._begins[number]))
        return None

    def _whole(self, at: _Stretch, total: int) -> int | None:
        """The largest total of one stretch at which all shares are integers."""
        growing = [
            weight
            for weight, least, most in zip(self._weights, self._least, self._most, strict=True)
            if int(least) <= at.rate * weight < int(most)
        ]
        if not growing:
            return at.fixed
        parts = math.gcd(*growing)
        rate = Fraction((total - at.fixed) * parts // at.weight, parts)
        return at.fixed + int(at.weight * rate) if rate >= at.rate else None

    def slack(self, begin: int, end: int, counts: Counts) -> Counts:
        """Remainder of each total from ``begin`` to ``end`` beyond all duties.

        A cluster's duty is its share, rounded down, and at least its present count in ``counts``.
        """
        found = np.arange(begin, end, dtype=np.int64)
        first = max(0, bisect_right(self._begins, begin) - 1)
        for number in range(first, len(self._stretches)):
            at = self._stretches[number]
            last = number + 1 == len(self._stretches)
            stop = end if last else min(end, math.ceil(self._begins[number + 1]))
            totals = np.arange(max(begin, math.ceil(at.begin)), stop, dtype=np.int64)
            if len(totals):
                inside = slice(int(totals[0]) - begin, int(totals[-1]) + 1 - begin)
                found[inside] -= self._duties(totals, at, counts)
        return found

    def _duties(self, totals: Counts, at: _Stretch, counts: Counts) -> Counts:
        """The sum of the duties of all clusters at each total of one stretch."""
        lead = (totals - at.fixed)[None, :] * self._column[:, None]
        share = lead // at.weight if at.weight else np.full_like(lead, UNBOUNDED)
        duty = np.clip(share, self._least[:, None], self._most[:, None])
        summed: Counts = np.maximum(duty, counts[:, None]).sum(axis=0)
        return summed


def _stretches(bounds: ShareBounds) -> list[_Stretch]:
    """All stretches, in order; a rate at which the total does not grow has an empty stretch."""
    changes: dict[Fraction, tuple[int, int]] = {}
    columns = bounds.weights.tolist(), bounds.least.tolist(), bounds.most.tolist()
    for weight, least, most in zip(*columns, strict=True):
        for bound, sign in ((least, 1), (most, -1)):
            if bound == UNBOUNDED:
                continue
            rate = Fraction(bound, weight)
            grown, met = changes.get(rate, (0, 0))
            changes[rate] = grown + sign * weight, met - sign * bound
    found: list[_Stretch] = []
    fixed, weight = int(bounds.least.sum()), 0
    for rate in sorted(changes):
        total = fixed + weight * rate
        weight += changes[rate][0]
        fixed += changes[rate][1]
        found.append(_Stretch(rate, total, fixed, weight))
    return found
