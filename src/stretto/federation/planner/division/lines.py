"""The total as a function of λ: clusters with bounds, up to an end, in integer columns.

A cluster's share is λ × weight within its bounds, and the total is the sum of the shares. It is
linear in λ between the points at which clusters meet bounds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stretto.federation.planner.division.shares import Counts

_ROUNDING = 1 + 1e-9
"""Relative margin for the rounding of a computed λ."""


@dataclass(frozen=True, slots=True)
class ShareLine:
    """The total as a function of λ; columns have one number for each cluster or stretch."""

    #: Weights of the clusters.
    weights: Counts
    #: Lower bounds of the clusters.
    least: Counts
    #: Counts beyond which no turn opens before the end, at most the upper bounds.
    last: Counts
    #: λ at which each stretch begins, except the first one.
    rates: NDArray[np.float64]
    #: Sum of the bounds that clusters have met, on each stretch.
    fixed: Counts
    #: Sum of the weights of the other clusters, on each stretch.
    slope: Counts

    def due(self, count: Counts, weight: Counts) -> Counts:
        """The first totals at which clusters of a weight have a share of a count."""
        found: Counts = -(-self._totals(count, weight) // weight)
        return found

    def opens(self, count: Counts, weight: Counts) -> Counts:
        """The first totals at which clusters of a weight have more than one less than a count."""
        found: Counts = self._totals(count - 1, weight) // weight + 1
        return found

    def _totals(self, count: Counts, weight: Counts) -> Counts:
        """The totals at λ = count / weight, times the weight."""
        if not len(self.rates):
            return count * int(self.slope[0])
        # Rates differ by more than their rounding; if they are equal, both stretches have this
        # total.
        at = np.searchsorted(self.rates, count / weight, "right")
        return self.fixed[at] * weight + self.slope[at] * count


def straight_line(weights: Counts, least: Counts, most: Counts, end: int) -> ShareLine | None:
    """The line if no cluster reaches an upper bound before the end; else ``None``.

    The lower bounds must be shares at one total.
    """
    whole = int(weights.sum())
    last = end * weights // whole + 2
    if (last > most).any():
        return None
    none = np.zeros(1, np.int64)
    return ShareLine(weights, least, last, np.empty(0), none, np.array([whole]))


def bent_line(weights: Counts, least: Counts, most: Counts, end: int) -> ShareLine:
    """The line of clusters that reach bounds."""
    rates = np.concatenate((least / weights, most / weights))
    order = np.argsort(rates, kind="stable")
    rates = rates[order]
    slope = np.concatenate((weights, -weights))[order].cumsum()
    fixed = np.concatenate((-least, most))[order].cumsum() + least.sum()
    totals = fixed + slope * rates
    at = max(0, int(np.searchsorted(totals, end, "right")) - 1)
    rest = max(0.0, end - float(totals[at]))
    rate = float(rates[at]) + (rest / int(slope[at]) if slope[at] else 0.0)
    reached = (weights * (rate * _ROUNDING)).astype(np.int64) + 2
    last = np.maximum(least, np.minimum(most, reached))
    begin = np.array([int(least.sum())]), np.zeros(1, np.int64)
    return ShareLine(
        weights, least, last, rates,
        np.concatenate((begin[0], fixed)), np.concatenate((begin[1], slope)),
    )  # fmt: skip
