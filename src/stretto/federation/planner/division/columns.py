"""The clusters of a division as columns, and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stretto.federation.planner.division.demand import DivisionCluster
from stretto.federation.planner.division.shares import MOST_WEIGHT, UNBOUNDED, Counts


@dataclass(frozen=True, slots=True, eq=False)
class DivisionColumns:
    """One number for each cluster; the limits are those of ``DivisionCluster``."""

    #: Shares of the replicas.
    weights: Counts
    #: Minimum replicas.
    least: Counts
    #: Maximum replicas.
    most: Counts
    #: Maximum replicas that do not stay pending.
    fits: Counts
    #: Present replicas.
    current: Counts

    @classmethod
    def of(
        cls, clusters: Sequence[DivisionCluster], current: Mapping[str, int]
    ) -> "DivisionColumns":
        """The columns of clusters."""
        return cls(
            column([each.weight for each in clusters]),
            column([each.minimum for each in clusters]),
            column([each.most() for each in clusters]),
            column([each.fits() for each in clusters]),
            column([current.get(each.name, 0) for each in clusters]),
        )

    def check(self, names: Sequence[str]) -> None:
        """Reject weights and minimums that ``DivisionCluster`` rejects.

        Raises:
            InputError: a number of a cluster is out of its range.
        """
        wrong = (self.weights < 0) | (self.weights > MOST_WEIGHT) | (self.least < 0)
        if wrong.any():
            self.only(wrong).clusters([names[at] for at in np.flatnonzero(wrong).tolist()])

    def clusters(self, names: Sequence[str]) -> tuple[DivisionCluster, ...]:
        """The clusters, one by one.

        Raises:
            InputError: a number of a cluster is out of its range.
        """
        rows = zip(
            names, self.weights.tolist(), self.least.tolist(), self.most.tolist(),
            self.fits.tolist(), strict=True,
        )  # fmt: skip
        return tuple(
            DivisionCluster(
                name,
                weight,
                least,
                None if most == UNBOUNDED else most,
                None if fits == most else fits,
            )
            for name, weight, least, most, fits in rows
        )

    def only(self, at: NDArray[Any]) -> "DivisionColumns":
        """The clusters at positions, or those of a mask."""
        return DivisionColumns(
            self.weights[at], self.least[at], self.most[at], self.fits[at], self.current[at]
        )


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """A plan of replicas, as ``DivisionPlan`` for columns."""

    #: Replicas that fit.
    placed: Counts
    #: Replicas beyond the capacities, which stay pending.
    pending: Counts
    #: Replicas kept beyond the capacity in addition to their replacements elsewhere.
    kept: Counts
    #: Replicas that may run in no cluster.
    unplaced: int


def column(numbers: Sequence[int]) -> Counts:
    """A column of numbers."""
    return np.array(numbers, np.int64)
