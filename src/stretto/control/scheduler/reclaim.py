"""Simulates a reclaim: the search of preemption, with the rights of a queue's guarantee.

Either all pods that a unit needs get a place and victims, or none does. Therefore a unit with a
required rack, anti-affinity, spreading, caps or volumes evicts only pods whose end lets it start.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from stretto.control.scheduler.preemption import NodePromise, PreemptionFinder, ShardPreemption
from stretto.control.scheduler.refused import RefusedClasses
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.placers import Placer
from stretto.framework.preemption.terms import ReclaimTerms
from stretto.state.cluster.cluster import Cluster
from stretto.state.queues.guarantees import EvictionRight
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import guard_against
from stretto.state.work.claims import NO_ROWS, Plan
from stretto.state.work.evictions import PlannedPlace
from stretto.state.work.units import Unit, Units


class ReclaimRehearsal:
    """Finds the victims of units that are within the guarantee of their queue."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        finder: tuple[Placer, PreemptionFinder, ReclaimTerms],
        budgets: BudgetLedger,
    ) -> None:
        """Simulate on a snapshot of its own.

        Args:
            cluster: the cluster.
            units: every unit.
            finder: the snapshot, the victim finder over it, and the terms of the finder.
            budgets: the remaining disruptions.
        """
        self._cluster = cluster
        self._units = units
        self._budgets = budgets
        self._placer, self._finder, self._terms = finder
        self._preemption = ShardPreemption(cluster, units, self._finder, RefusedClasses())

    def begin(self) -> None:
        """Update the snapshot before a series of simulations."""
        self._placer.sync()
        self._budgets.sync()

    def leaving(self) -> Iterable[int]:
        """Rows that are being evicted or deleted."""
        return self._cluster.evictions.in_progress

    def places(
        self, unit: Unit, right: EvictionRight, ahead: Sequence[PlannedPlace]
    ) -> list[PlannedPlace]:
        """Places for the pods that a unit needs; empty if no evictions make it fit.

        Args:
            unit: the unit.
            right: the evictions that it may order.
            ahead: places of units that already wait for their victims.
        """
        self._terms.use(right)
        nothing = np.zeros(0, np.int32)
        self._finder.begin(Plan(-1, NO_ROWS, NO_ROWS, nothing, NO_ROWS, NO_ROWS, nothing, [], []))
        start = self._finder.mark()
        for each in ahead:
            taken = VictimCandidate(each.slot, each.victims, frozenset(), (), each.devices)
            self._finder.take(each.row, taken)
        promises = self._preemption.rehearse(unit, unit.pending)
        self._finder.back_to(start)
        if self._breaks_growing_gang(promises):
            return []
        serials, on_slot = self._cluster.pods.serial, self._cluster.evictions.on_slot
        return [
            PlannedPlace(
                row,
                int(serials[row]),
                found.slot,
                found.devices,
                found.victims,
                tuple(on_slot(found.slot)),
            )
            for row, found in promises
        ]

    def _breaks_growing_gang(self, promises: Sequence[NodePromise]) -> bool:
        """Return whether all pods of a gang would be evicted while others of it are at a shard."""
        gone = {row for _, found in promises for row in found.victims}
        gangs = {unit for row in gone if (unit := self._units.of_row(row)) and unit.is_gang}
        return any(unit.away and gone.issuperset(unit.bound) for unit in gangs)

    def may_evict(self, unit: Unit, row: int, right: EvictionRight, now: float) -> bool:
        """Return whether a unit may evict a pod, on any node."""
        if self._terms.is_spared(row):
            return False
        priority = self._terms.preemptor(unit.pending[0]).priority
        guard = guard_against(self._cluster, self._terms.rules, row, priority, now)
        return guard is None and right.may_evict(row) and not self._budgets.violating([row])
