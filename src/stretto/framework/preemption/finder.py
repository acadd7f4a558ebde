"""Find victims for unschedulable pods on the snapshot that a shard has at the time of its cycle.

A cycle may have several preemptors. Each sees the promises to those before it; a unit that cannot
be placed as a whole reverts the promises to its first pods. The victim index serves pods that need
resources alone. For pods with inter-pod rules, nodes on which a rule requires an eviction have an
index of their own (``index_with_rules``). Pods with host ports or devices, and nodes on which
volumes conflict, are simulated one by one (``node_by_node``).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.framework.affinity.headcounts import EvictionPreview
from stretto.framework.compiled.one_node import Holds, Preemptor, VictimCandidate
from stretto.framework.contract.rule import Scope
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.stage import GroupStage
from stretto.framework.kernels.numpy.victims import (
    BudgetSetArrays,
    VictimDemand,
    VictimIndex,
    VictimSearchHit,
    VictimSearchLimits,
    budget_standing_of,
    search,
    set_arrays,
)
from stretto.framework.kernels.tiers import kernel
from stretto.framework.preemption.index_with_rules import nodes_by_rule, rule_blocked_of
from stretto.framework.preemption.node_by_node import PerNodeSearch, SearchContext
from stretto.framework.preemption.other_pods import PreemptorRules, PromisedCandidate, both_hold
from stretto.framework.preemption.places import Mask, PreemptionDomains
from stretto.state.classes.table import STAGED
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.index import Victims
from stretto.state.victims.rules import CandidateSelection, may_preempt
from stretto.state.work.claims import Plan
from stretto.state.work.units import Unit

Search = Callable[[VictimIndex, VictimDemand, VictimSearchLimits], VictimSearchHit | None]
"""Finds the best node."""


SearchMany = Callable[
    [VictimIndex, VictimDemand, VictimSearchLimits, Any, int], list[VictimCandidate]
]
"""Finds nodes for many equal pods and records them in the index."""

ALIKE: Final = 3
"""Number of equal preemptors from which the search caches the cost of each node."""


class SearchKernels(NamedTuple):
    """The search functions of one kernel tier."""

    #: For one preemptor.
    one: Search
    #: For many equal pods; ``None`` where each has its own search.
    many: SearchMany | None


class VictimSearchResult(NamedTuple):
    """The result of a search."""

    #: The best node; ``None`` where no node is feasible.
    candidate: VictimCandidate | None
    #: Whether an immediate retry may help: only nodes with earlier promises are feasible.
    again: bool = False
    #: The preemption part of the FailedScheduling event; empty to keep the previous one.
    message: str = ""


REHEARSED: Final = 100
"""Candidate nodes to evaluate where volumes conflict: kube-scheduler's minimum."""
ANYWHERE: Final[tuple[None, ...]] = (None,)
"""The places of a unit without placement restrictions."""
NOTHING = VictimSearchResult(None)
"""No eviction makes a node feasible."""


class VictimFinder:
    """Finds victims with the victim index."""

    def __init__(
        self, runtime: Runtime, budgets: BudgetLedger, clock: Clock, searches: SearchKernels
    ) -> None:
        """Search on the snapshot of a shard; the clock identifies recently started pods."""
        engine = runtime.engine
        #: The rules of the profile.
        self.rules = engine.profile.preemption
        #: The evictable pods that this finder knows.
        self.victims = Victims(engine.cluster, self.rules, budgets)
        self._runtime = runtime
        self._engine = engine
        self._cluster = engine.cluster
        self._budgets = budgets
        self._clock = clock
        self._search, self._search_many = searches
        #: Custom rules that depend on other pods. Evictions are not simulated for them, so they
        #: must accept a node in its current state.
        self._asked = tuple(
            rule
            for rule in engine.profile.every_filter
            if rule.SCOPE in (Scope.DOMAIN, Scope.SLOT) and not rule.FUSED
        )
        self._others = PreemptorRules(runtime)
        self._one_by_one = PerNodeSearch(engine.cluster, self.rules, budgets, self.victims)
        self._random = Rng(0)
        self._plan: Plan | None = None
        self._now = 0.0
        self._taken: list[PromisedCandidate] = []
        #: The allowed nodes of the current pod; ``None`` for all.
        self._only: Mask | None = None
        self._places = PreemptionDomains(engine.cluster, runtime.stage(GroupStage), self.victims)
        #: Nodes promised ahead to equal pods, the next one last.
        self._ahead: list[VictimCandidate] = []
        #: Rows of these pods, and their common description.
        self._alike: Collection[int] = ()
        self._ahead_for, self._ahead_ask = Preemptor(-1, 0), -1
        self._sets = self.victims.sets, set_arrays(self.victims.sets)
        self._expected: dict[tuple[int, int], list[int]] = {}
        self._kept: set[int] = set()

    def begin(self, plan: Plan) -> None:
        """Start a cycle whose plain claims are those of ``plan``; data is read on first use."""
        self._plan = plan
        self._others.begin()
        self._taken.clear()
        self._kept.clear()
        self._ahead.clear()
        self._expected.clear()

    def expect(self, rows: Sequence[int]) -> None:
        """Announce the preemptors of the cycle, so that equal pods share a search."""
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
        """The best node for a pod, and its victims."""
        if self._ahead and row in self._alike and self._only is None:
            return VictimSearchResult(self._ahead[-1])
        pods = self._cluster.pods
        if int(pods.priority[row]) <= pods.lowest or not may_preempt(self._cluster, row):
            return NOTHING
        return self._find(row)

    def _find(self, row: int, holds: Holds | None = None) -> VictimSearchResult:
        """The best node among the allowed ones; ``holds`` evaluates the volume rules there."""
        pods = self._cluster.pods
        preemptor = Preemptor(int(pods.class_id[row]), int(pods.priority[row]))
        special = int(self._cluster.classes.special[preemptor.class_id])
        self._wake()
        self._give_back()
        wanted = self._wanted(preemptor)
        if not wanted.bands:  # no pod has a lower priority
            return NOTHING
        heads = self._others.heads(preemptor.class_id, self._taken)
        if special or holds is not None:
            return self._dry_run_best(preemptor, self._within(wanted, heads), holds)
        if heads is not None:
            return self._find_with_rules(preemptor, wanted, heads)
        limits, alike = self._limits(wanted), self._expected.pop(preemptor, ())
        together = self._search_many is not None and self._only is None
        if together and len(alike) >= ALIKE and limits.offset == 0:
            return self._find_ahead(preemptor, wanted, limits, alike)
        hit = self._search(self._index(), wanted, limits)
        return NOTHING if hit is None else VictimSearchResult(_candidate(hit))

    def _find_with_rules(
        self, preemptor: Preemptor, wanted: VictimDemand, heads: EvictionPreview
    ) -> VictimSearchResult:
        """The best node for a pod with inter-pod rules."""
        index, limits = self._index(), self._limits(wanted)
        view, domains = self._runtime.between, self._cluster.domains
        search = index, wanted, limits
        parts = nodes_by_rule(heads, view, domains, search)
        plain = self._search(index, parts.plain, limits)
        hits, pressed = [plain], rule_blocked_of(parts, domains, search, plain)
        if pressed is not None:
            at = int(np.searchsorted(pressed.slots, limits.offset))
            at %= len(pressed.slots)
            here = limits._replace(offset=at if limits.offset else 0)
            hit = self._search(pressed.columns, pressed.wanted, here)
            if hit is not None:
                hits.append(hit._replace(slot=int(pressed.slots[hit.slot])))
        hit = min((h for h in hits if h is not None), key=lambda h: (h.key, h.slot), default=None)
        found = NOTHING if hit is None else VictimSearchResult(_candidate(hit))
        if not len(parts.doubtful):
            return found
        mask = np.zeros_like(wanted.admitted)
        mask[parts.doubtful] = wanted.admitted[parts.doubtful]
        return self._better(
            found, self._dry_run_best(preemptor, wanted._replace(admitted=mask), None)
        )

    def _within(self, wanted: VictimDemand, heads: EvictionPreview | None) -> VictimDemand:
        """The search restricted to nodes that the inter-pod rules may allow."""
        if heads is None:
            return wanted
        could = heads.could(self._runtime.between)[: len(wanted.admitted)]
        return wanted._replace(admitted=wanted.admitted & could.astype(wanted.admitted.dtype))

    def _better(self, one: VictimSearchResult, other: VictimSearchResult) -> VictimSearchResult:
        given = SearchContext(self._now, self._kept, self._taken)
        return VictimSearchResult(self._one_by_one.better(one.candidate, other.candidate, given))

    def _dry_run_best(
        self, preemptor: Preemptor, wanted: VictimDemand, holds: Holds | None
    ) -> VictimSearchResult:
        """Simulate, one by one, the nodes that have enough resources."""
        most = 1 << 30 if holds is None else REHEARSED
        between = self._others.holds(preemptor.class_id, self._taken)
        holds = between if holds is None else both_hold(between, holds)
        given = SearchContext(self._now, self._kept, self._taken, holds, most)
        return VictimSearchResult(self._one_by_one.best(preemptor, wanted, given))

    def _find_ahead(
        self,
        preemptor: Preemptor,
        wanted: VictimDemand,
        limits: VictimSearchLimits,
        alike: Sequence[int],
    ) -> VictimSearchResult:
        """Search for all equal pods at once and return the results one by one."""
        assert self._search_many is not None
        victims = self.victims
        known = victims.most, victims.budgets_in_safe_sums()
        found = self._search_many(self._index(), wanted, limits, known, len(alike))
        rows = [row for each in found for row in (*each.victims, *each.displaced)]
        victims.taken(rows, [each.slot for each in found])
        found.reverse()
        self._ahead, self._alike = found, frozenset(alike)
        self._ahead_for = preemptor
        self._ahead_ask = victims.request_number(preemptor.class_id)
        return VictimSearchResult(found[-1]) if found else NOTHING

    def _give_back(self) -> None:
        """Revert the results that were found ahead and not used."""
        if self._ahead:
            for candidate in self._ahead:
                self._undo_promise(candidate, self._ahead_ask)
            self._ahead.clear()

    def _undo_promise(self, candidate: VictimCandidate, ask: int) -> None:
        rows = candidate.evicted_pods
        self.victims.undo_take(rows, candidate.slot, ask, self._now)

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Mask | None]:
        """Where pods of a unit may go together; ``None`` for anywhere."""
        if not self._cluster.directed:
            return ANYWHERE
        self._wake()
        return self._places.domains(unit, rows, needed)

    def restrict_to(
        self, unit: Unit, row: int, domain: Mask | None, promised: Sequence[int]
    ) -> None:
        """Restrict the search to the places of one pod, given the promises to its unit."""
        staged = self._cluster.classes.special[self._cluster.pods.class_id[row]] & STAGED
        capped = bool(staged) or bool(self._cluster.directed)
        self._only = self._places.allowed_slots(unit, row, domain, promised) if capped else domain

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """Record that a preemptor is promised a node."""
        if self._ahead and self._ahead[-1] is candidate:
            self._ahead.pop()
            class_id, ask = self._ahead_for.class_id, self._ahead_ask
        else:
            self._give_back()
            class_id = int(self._cluster.pods.class_id[row])
            ask = self.victims.request_number(class_id)
            self.victims.take(candidate.evicted_pods, candidate.slot, ask)
        self._budgets.spend(candidate.victims)
        self._taken.append(PromisedCandidate(candidate, ask, class_id, row))

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """Whether inter-pod rules allow a pod on a node after additions to the victims."""
        pods = self._cluster.pods
        holds = self._others.holds(int(pods.class_id[row]), self._taken)
        if holds is None:
            return True
        return holds(candidate.slot, self._victim_rows(row, candidate))

    def _victim_rows(self, row: int, candidate: VictimCandidate) -> set[int]:
        """All pods removed from a node: the victims and the pods already being evicted."""
        going = self._others.evicted_pods(candidate.slot, int(self._cluster.pods.priority[row]))
        return {*candidate.evicted_pods, *going}

    def stand(self, mark: int) -> bool:
        """Whether the inter-pod rules hold with all promises since a mark."""
        return self._others.are_compatible(self._taken[mark:], self._taken)

    def may_evict(self, rows: Sequence[int]) -> bool:
        """Whether PodDisruptionBudgets allow these evictions together, where budgets are hard."""
        return not self.rules.hard_budgets or not self._budgets.violating(rows)

    def spare(self, rows: Collection[int]) -> None:
        """Exclude these pods from eviction for the rest of the cycle."""
        self._give_back()
        self._kept.update(rows)
        self.victims.spare(rows)

    def chance(self, class_id: int, priority: int) -> int:
        """1 where a node has enough resources without all pods of lower priority, else 0."""
        if priority <= self._cluster.pods.lowest:
            return 0
        self._now = self._clock.monotonic()
        self.victims.sync(self._now)
        wanted = self._wanted(Preemptor(class_id, priority))
        if not wanted.bands:
            return 0
        if self._others.is_strict(class_id):
            self._others.begin()  # outside a cycle there are no promises
            wanted = self._within(wanted, self._others.heads(class_id, ()))
        sums, mask = self.victims.sums, wanted.admitted.astype(np.bool_)
        for column, need in zip(wanted.columns, wanted.need, strict=True):
            mask &= sums.free[column] + sums.below[wanted.bands - 1, column] >= need
        return int(mask.any())

    def mark(self) -> int:
        """The mark to which ``revert`` returns."""
        return len(self._taken)

    def back_to(self, mark: int) -> None:
        """Revert the promises since a mark."""
        self._give_back()
        while len(self._taken) > mark:
            last = self._taken.pop()
            self._undo_promise(last.candidate, last.ask)
            self._budgets.spend(last.candidate.victims, -1)
        self._others.take_back(self._taken)

    def _wake(self) -> None:
        """Bring the index up to date, once per cycle."""
        plan, self._plan = self._plan, None
        if plan is None:
            return
        self._now = self._clock.monotonic()
        self.victims.sync(self._now)
        self.victims.claim(plan.slots, self._cluster.pods.class_id[plan.rows])

    def _wanted(self, preemptor: Preemptor) -> VictimDemand:
        """The description of the search."""
        cluster, eligibility = self._cluster, self._engine.eligibility
        amounts = cluster.classes.requests_of(np.array([preemptor.class_id], np.int32))[0]
        columns = np.flatnonzero(amounts).astype(np.int32)
        pod = cluster.classes[preemptor.class_id]
        size = cluster.ledger.slots.size
        row = eligibility.filter_row(pod)
        admitted = eligibility.rows[row, :size] & cluster.ledger.slots.live
        if self._only is not None:
            admitted &= self._only[:size].astype(admitted.dtype)
        chosen = self._engine.profile.chosen
        if chosen is not None and chosen.asks(pod):
            slots = np.flatnonzero(admitted)
            admitted[slots] = chosen.slot_values(pod, self._runtime.view, slots) >= 0
        for rule in self._asked:
            if rule.signature(pod) is not None:
                slots = np.flatnonzero(admitted)
                admitted[slots] = rule.filter(pod, self._runtime.view, slots)
        bands = self.victims.bands_below(preemptor.priority)
        return VictimDemand(columns, amounts[columns], preemptor.priority, bands, admitted)

    def _limits(self, wanted: VictimDemand) -> VictimSearchLimits:
        """The search limits of the profile."""
        rules, size, left = self.rules, len(wanted.admitted), self._budgets.remaining
        arrays = self._arrays()
        standing = budget_standing_of(arrays, left, self.victims.most)
        all_of_them = VictimSearchLimits(
            left, self.victims.sets, arrays, standing, rules.hard_budgets
        )
        if rules.select is CandidateSelection.BEST or not size:
            return all_of_them
        return all_of_them._replace(
            offset=self._random.randint(0, size - 1),
            most=rules.candidates,
            from_band=wanted.bands - 1 if rules.select is CandidateSelection.RANDOM else 0,
        )

    def _arrays(self) -> BudgetSetArrays:
        """Sets of budgets as arrays, rebuilt when the budgets change."""
        sets = self.victims.sets
        if self._sets[0] is not sets or len(self._sets[1].first) != len(sets) + 1:
            self._sets = sets, set_arrays(sets)
        return self._sets[1]

    def _index(self) -> VictimIndex:
        victims = self.victims
        return VictimIndex(victims.entries, victims.sums, victims.asks, victims.largest)


def search_of(tier: str) -> SearchKernels:
    """The search functions of a kernel tier."""
    if not kernel(tier).compiles_searches:
        return SearchKernels(search, None)
    from stretto.framework.kernels.victims import best_of_many
    from stretto.framework.kernels.victims import search as compiled

    return SearchKernels(compiled.search, best_of_many.search_many)


def _candidate(hit: VictimSearchHit) -> VictimCandidate:
    return VictimCandidate(hit.slot, hit.victims, hit.beyond, hit.displaced, 0)
