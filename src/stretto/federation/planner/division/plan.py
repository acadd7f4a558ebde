"""Divide replicas over clusters: in proportion to weights, within bounds, with few moves.

The exact division rounds the shares of all clusters (`apportion`). A plan starts from the present
replicas and changes only the replicas outside bounds and capacities, and the difference to the
desired total. Of all plans with so few changes it is one nearest to the exact division. Each
further move brings it one replica nearer on both sides, so a plan reaches every distance from the
exact division with the fewest possible moves.
"""

import numpy as np

from stretto.federation.planner.division.apportion import apportion
from stretto.federation.planner.division.columns import ColumnPlan, DivisionColumns
from stretto.federation.planner.division.demand import (
    DivisionDemand,
    DivisionPlan,
    DivisionRules,
)
from stretto.federation.planner.division.shares import Counts, ShareBounds
from stretto.federation.planner.hashes import fnv1a


def divide(demand: DivisionDemand) -> DivisionPlan:
    """Divide the replicas of ``demand``; the order of its clusters has no influence.

    Ties go to the cluster with more present replicas, then to the one with the smaller hash of its
    name and the workload's.
    """
    named = sorted(demand.clusters, key=lambda each: each.name)
    columns = DivisionColumns.of(named, demand.current)
    hashes = np.array([fnv1a(each.name + demand.key) for each in named], np.int64)
    order = np.lexsort((hashes, -columns.current))
    plan = divide_columns(demand.rules, columns, order)
    names = [each.name for each in named]
    return DivisionPlan(
        dict(zip(names, plan.placed.tolist(), strict=True)),
        {name: count for name, count in zip(names, plan.pending.tolist(), strict=True) if count},
        {name: count for name, count in zip(names, plan.kept.tolist(), strict=True) if count},
        plan.unplaced,
    )


def divide_columns(rules: DivisionRules, columns: DivisionColumns, order: Counts) -> ColumnPlan:
    """Divide replicas over clusters.

    Args:
        rules: parameters of the division.
        columns: the clusters.
        order: positions of the clusters; ties go to the first one.
    """
    work = _OurDivision(rules, columns.only(order))
    placed = work.placed()
    rest = rules.replicas - int(placed.sum())
    pending = work.pending(placed, rest)
    kept = work.kept(placed, pending)
    back = order.argsort()
    unplaced = rest - int(pending.sum()) if rest else 0
    return ColumnPlan(placed[back], pending[back], kept[back], unplaced)


class _OurDivision:
    """One division; clusters are in the order of ties, and all columns have this order."""

    def __init__(self, rules: DivisionRules, columns: DivisionColumns) -> None:
        self._rules = rules
        self._weights = columns.weights
        self._fits = columns.fits
        self._most = columns.most
        self._least = columns.least
        self._current = np.minimum(np.maximum(columns.current, 0), columns.fits)

    def placed(self) -> Counts:
        """Replicas within the capacities."""
        least = np.minimum(self._least, self._fits)
        exact = self._exact(self._rules.replicas, least, self._fits)
        return self._moved(self._nearest(exact, least), exact)

    def pending(self, placed: Counts, rest: int) -> Counts:
        """The rest without capacity, within the maximums: minimums first, then by weight."""
        if not rest:
            return np.zeros_like(placed)
        least = np.maximum(self._least - placed, 0)
        return self._exact(rest, least, self._most - placed)

    def kept(self, placed: Counts, pending: Counts) -> Counts:
        """Replicas beyond the capacities that the exact division without them has."""
        if not self._rules.keep_unschedulable:
            return np.zeros_like(placed)
        wanted = self._exact(self._rules.replicas, self._least, self._most)
        kept: Counts = np.maximum(wanted - np.maximum(placed, self._fits) - pending, 0)
        return kept

    def _exact(self, total: int, least: Counts, most: Counts) -> Counts:
        return apportion(total, ShareBounds(self._weights, least, most))

    def _nearest(self, exact: Counts, least: Counts) -> Counts:
        """A plan with the fewest changes that is nearest to the exact division."""
        start = np.maximum(self._current, least)
        if (start <= exact).all():
            return exact
        total = int(exact.sum())
        if int(start.sum()) > total:
            return self._between(np.minimum(start, exact), start, total)
        return self._between(start, np.maximum(start, exact), total)

    def _between(self, least: Counts, most: Counts, total: int) -> Counts:
        """The exact division within bounds; clusters without a weight take the remainder."""
        found = self._exact(total, least, most)
        rest = total - int(found.sum())
        if not rest:
            return found
        headroom = most - found
        return found + apportion(rest, ShareBounds(headroom, np.zeros_like(headroom), headroom))

    def _moved(self, plan: Counts, exact: Counts) -> Counts:
        """``plan`` after the allowed moves towards the exact division."""
        moves = self._rules.moves
        if not moves:
            return exact if moves is None else plan
        if moves >= int(np.maximum(exact - plan, 0).sum()):
            return exact
        lower, upper, total = np.minimum(plan, exact), np.maximum(plan, exact), int(plan.sum())
        shed = self._between(lower, plan, total - moves)
        gained = self._between(plan, upper, total + moves)
        return shed + gained - plan
