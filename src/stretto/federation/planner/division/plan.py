"""Divide replicas over clusters: in proportion to weights, within bounds, with few moves.

The exact division rounds the shares of all clusters (`apportion`). A plan starts from the present
replicas and changes only as many as it must: those outside bounds and capacities, and the
difference to the wanted total. Of all plans with so few changes it is one nearest to the exact
division. Each further move brings it one replica nearer on both sides, so a plan reaches every
distance from the exact division with the fewest possible moves.
"""

from collections.abc import Sequence
from dataclasses import replace

from stretto.federation.planner.division.apportion import apportion
from stretto.federation.planner.division.demand import (
    DivisionCluster,
    DivisionDemand,
    DivisionPlan,
)
from stretto.federation.planner.division.shares import ShareBounds
from stretto.federation.planner.hashes import fnv1a


def divide(demand: DivisionDemand) -> DivisionPlan:
    """Divide the replicas of ``demand``; the order of its clusters has no influence.

    At equal shares, a cluster with more present replicas precedes, then one with the smaller hash
    of its name and the workload's.
    """

    def tie(each: DivisionCluster) -> tuple[int, int, str]:
        return -demand.current.get(each.name, 0), fnv1a(each.name + demand.key), each.name

    ordered = sorted(demand.clusters, key=tie)
    work = _OurDivision(replace(demand, clusters=tuple(ordered)))
    placed = work.placed()
    pending = work.pending(placed)
    kept = work.kept(placed, pending)
    names = [each.name for each in ordered]
    return DivisionPlan(
        dict(sorted(zip(names, placed, strict=True))),
        {name: count for name, count in sorted(zip(names, pending, strict=True)) if count},
        {name: count for name, count in sorted(zip(names, kept, strict=True)) if count},
        demand.replicas - sum(placed) - sum(pending),
    )


class _OurDivision:
    """One division; clusters are in the order of ties, and all lists have this order."""

    def __init__(self, demand: DivisionDemand) -> None:
        self._demand = demand
        self._weights = tuple(each.weight for each in demand.clusters)
        self._fits = [each.fits() for each in demand.clusters]
        self._most = [each.most() for each in demand.clusters]
        self._least = [each.minimum for each in demand.clusters]
        current = [max(0, demand.current.get(each.name, 0)) for each in demand.clusters]
        self._current = list(map(min, current, self._fits))

    def placed(self) -> list[int]:
        """Replicas within the capacities."""
        least = list(map(min, self._least, self._fits))
        exact = self._exact(self._demand.replicas, least, self._fits)
        return self._moved(self._nearest(exact, least), exact)

    def pending(self, placed: Sequence[int]) -> list[int]:
        """Replicas that fit nowhere, within the maximums: minimums first, then by weight."""
        rest = self._demand.replicas - sum(placed)
        least = [max(0, a - b) for a, b in zip(self._least, placed, strict=True)]
        headroom = [a - b for a, b in zip(self._most, placed, strict=True)]
        return self._exact(rest, least, headroom) if rest else [0] * len(headroom)

    def kept(self, placed: Sequence[int], pending: Sequence[int]) -> list[int]:
        """Replicas beyond the capacities that the exact division without them has."""
        if not self._demand.keep_unschedulable:
            return [0] * len(placed)
        wanted = self._exact(self._demand.replicas, self._least, self._most)
        return [
            max(0, want - max(has, fits) - waits)
            for want, has, fits, waits in zip(wanted, placed, self._fits, pending, strict=True)
        ]

    def _exact(self, total: int, least: Sequence[int], most: Sequence[int]) -> list[int]:
        bounds = ShareBounds(self._weights, tuple(least), tuple(most))
        return apportion(total, bounds, range(len(self._weights)))

    def _nearest(self, exact: Sequence[int], least: Sequence[int]) -> list[int]:
        """Of the plans with the fewest changes, one nearest to the exact division."""
        start = list(map(max, self._current, least))
        if all(has <= wants for has, wants in zip(start, exact, strict=True)):
            return list(exact)
        if sum(start) > sum(exact):
            return self._between(list(map(min, start, exact)), start, sum(exact))
        return self._between(start, list(map(max, start, exact)), sum(exact))

    def _between(self, least: Sequence[int], most: Sequence[int], total: int) -> list[int]:
        """The exact division within bounds; clusters without a weight take what is left."""
        found = self._exact(total, least, most)
        rest = total - sum(found)
        if not rest:
            return found
        headroom = tuple(a - b for a, b in zip(most, found, strict=True))
        more = apportion(
            rest, ShareBounds(headroom, (0,) * len(headroom), headroom), range(len(headroom))
        )
        return [a + b for a, b in zip(found, more, strict=True)]

    def _moved(self, plan: list[int], exact: Sequence[int]) -> list[int]:
        """``plan`` after the allowed moves towards the exact division."""
        missing = sum(max(0, a - b) for a, b in zip(exact, plan, strict=True))
        moves = self._demand.moves
        if moves is None or moves >= missing:
            return list(exact)
        if not moves:
            return plan
        lower, upper = list(map(min, plan, exact)), list(map(max, plan, exact))
        shed = self._between(lower, plan, sum(plan) - moves)
        gained = self._between(plan, upper, sum(plan) + moves)
        return [a + b - c for a, b, c in zip(shed, gained, plan, strict=True)]
