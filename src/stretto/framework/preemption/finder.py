"""Finds victims for unschedulable pods on the snapshot that a shard has at the time of its cycle.

A cycle may have several preemptors. The search for each includes the promises to earlier ones. A
unit that cannot be placed as a whole reverts the promises to its first pods.
"""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from stretto.base.clock import Clock
from stretto.framework.compiled.one_node import Holds, Preemptor, VictimCandidate
from stretto.framework.engine.runtime import Runtime
from stretto.framework.preemption.best_node import BestNodeSearch
from stretto.framework.preemption.cycle import CycleVictims
from stretto.framework.preemption.other_pods import PreemptorRules
from stretto.framework.preemption.places import Mask, PreemptionDomains
from stretto.framework.preemption.terms import EvictionTerms
from stretto.framework.preemption.tiers import NOTHING, SearchKernels, VictimSearchResult
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import Plan
from stretto.state.work.units import Unit

ANYWHERE: Final[tuple[None, ...]] = (None,)
"""The places of a unit without placement restrictions."""


class VictimFinder:
    """Finds victims with the victim index."""

    def __init__(
        self,
        runtime: Runtime,
        terms: EvictionTerms,
        budgets: BudgetLedger,
        clock: Clock,
        kernels: SearchKernels,
    ) -> None:
        """Search on the snapshot of a shard.

        Args:
            runtime: the shard's own snapshot.
            terms: determine the pods that a preemptor may evict.
            budgets: the remaining disruptions.
            clock: identifies recently started pods.
            kernels: the search functions of the kernel tier.
        """
        engine = runtime.engine
        #: Terms that determine the pods that a preemptor may evict.
        self.terms = terms
        #: The rules of the profile.
        self.rules = terms.rules
        #: The state of the cycle.
        self.cycle = CycleVictims(engine.cluster, terms, budgets, clock)
        self._cluster = engine.cluster
        self._budgets = budgets
        self._others = PreemptorRules(runtime)
        self._search = BestNodeSearch(runtime, self.cycle, self._others, kernels)
        #: Allowed nodes of the current pod; ``None`` for all.
        self._only: Mask | None = None
        self._places = PreemptionDomains(runtime, self.cycle.victims)
        self._expected: dict[tuple[int, int], list[int]] = {}

    def begin(self, plan: Plan) -> None:
        """Start a cycle whose plain claims are those of ``plan``; data is read on first use."""
        self.cycle.begin(plan)
        self._others.begin()
        self._expected.clear()

    def expect(self, rows: Sequence[int]) -> None:
        """Announce the preemptors of the cycle, so that equal pods share a search."""
        if self.terms.is_guarding():
            return
        pods, traits = self._cluster.pods, self._cluster.preemption_attributes
        index = np.array(rows, np.int64)
        columns = pods.class_id[index], pods.priority[index], pods.preemption_attributes[index]
        groups: dict[tuple[int, int], list[int]] = {}
        for row, class_id, priority, trait in zip(
            rows, *(each.tolist() for each in columns), strict=True
        ):
            if traits[trait].preempts:
                groups.setdefault((class_id, priority), []).append(row)
        self._expected = groups

    def find(self, row: int) -> VictimSearchResult:
        """Return the best node for a pod, and its victims."""
        ahead = self.cycle.next_of(row) if self._only is None else None
        if ahead is not None:
            return VictimSearchResult(ahead)
        return self._find(row) if self.terms.may_search(row) else NOTHING

    def _find(self, row: int, holds: Holds | None = None) -> VictimSearchResult:
        """Best node among the allowed ones; ``holds`` evaluates the volume rules there."""
        preemptor = self.terms.preemptor(row)
        self.cycle.wake()
        self.cycle.give_back()
        alike, protection = self._expected.pop(preemptor, ()), self.terms.protection(row)
        return self._search.find(
            preemptor, self._only, alike=alike, holds=holds, protection=protection
        )

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Mask | None]:
        """Domains in which pods of a unit may be placed together; ``None`` for any node."""
        if not self._cluster.directed:
            return ANYWHERE
        self.cycle.wake()
        return self._places.domains(unit, rows, needed, self.terms.preemptor(rows[0]).priority)

    def restrict_to(
        self, unit: Unit, row: int, domain: Mask | None, promised: Sequence[int]
    ) -> None:
        """Restrict the search to the places of one pod, given the promises to its unit."""
        self._only = self._places.allowed_slots(unit, row, domain, promised)

    def confine(self, allowed: Mask | None, needed: int) -> None:
        """Restrict the search to these slots, for a unit that needs ``needed`` pods together."""
        del needed
        self._only = allowed

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """Record that a node is promised to a preemptor."""
        self.cycle.wake()
        self.cycle.take(row, candidate)

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """Return whether other rules allow a pod on a node after additions to the victims."""
        preemptor, gone = self.terms.preemptor(row), self._victim_rows(row, candidate)
        holds = self._others.holds(preemptor.class_id, self.cycle.taken)
        if holds is not None and not holds(candidate.slot, gone):
            return False
        return self._search.accepts(preemptor, candidate.slot, gone)

    def _victim_rows(self, row: int, candidate: VictimCandidate) -> set[int]:
        """All pods removed from a node.

        The victims, and pods whose eviction is already in progress.
        """
        going = self._others.evicted_pods(candidate.slot, self.terms.preemptor(row).priority)
        return {*candidate.evicted_pods, *going}

    def stand(self, mark: int) -> bool:
        """Return whether the inter-pod rules hold with all promises since a mark."""
        return self._others.are_compatible(self.cycle.taken[mark:], self.cycle.taken)

    def may_evict(self, row: int, victims: Sequence[int]) -> bool:
        """Return whether a pod may evict all of these together.

        Protections, guarantees and hard disruption budgets decide.
        """
        if self.rules.hard_budgets and self._budgets.violating(victims):
            return False
        return self.terms.allows(row, victims, self.cycle.now)

    def spare(self, rows: Collection[int]) -> None:
        """Exclude these pods from eviction until ``end_sparing``."""
        self.cycle.spare(rows)

    def end_sparing(self) -> None:
        """Admit the excluded pods as victims again."""
        self.cycle.end_sparing()

    def chance(self, class_id: int, priority: int) -> int:
        """1 if a node has enough resources without all pods of lower priority, otherwise 0."""
        if priority <= self._cluster.pods.lowest:
            return 0
        return int(self._search.has_chance(Preemptor(class_id, priority)))

    def is_guarding(self) -> bool:
        """Return whether guarantees of queues may protect pods."""
        return self.terms.is_guarding()

    def protection_ends(self) -> float:
        """Clock time at which the next protected pod becomes evictable; infinity for none."""
        return self.cycle.protection_ends()

    def mark(self) -> int:
        """Current position of the promises, for ``back_to``."""
        return len(self.cycle.taken)

    def back_to(self, mark: int) -> None:
        """Revert the promises since a mark."""
        self.cycle.back_to(mark)
        self._others.take_back(self.cycle.taken)
