"""Finds victims as kube-scheduler does: DefaultPreemption on the shard's own snapshot.

Every node with a resolvable rejection gets a dry run, for any rejecting rule. As in upstream,
victims are deleted directly, with the fewest violations, if budgets are best effort. If budgets are
hard, nodes that would violate one are excluded. A node is promised to one preemptor per cycle and
nominated for it from then on.

Upstream's dry run admits some pods that the filters then refuse, for example if two pods use one
host port. Therefore the check of the binder's judge confirms each result.
"""

from collections.abc import Collection, Sequence
from math import inf

import msgspec

from stretto.base.clock import Clock
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.model.pod_facts import SchedulingFacts, TemplateKey
from stretto.framework.parity.decision import Decision, equally_good
from stretto.framework.parity.decision import PreemptionCandidate as Choice
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.preemption.terms import EvictionTerms, NodeProtection
from stretto.framework.preemption.tiers import VictimSearchResult
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import EvictionGuard, guard_of, protected_until
from stretto.state.work.claims import Plan
from stretto.state.work.evictions import EvictionState

_IS_GOING = (None, EvictionGuard.EVICTING)


class ParityVictimFinder:
    """Finds victims by kube-scheduler's own search."""

    def __init__(
        self,
        cluster: Cluster,
        runtime: ParityRuntime,
        terms: EvictionTerms,
        budgets: BudgetLedger,
        clock: Clock,
    ) -> None:
        """Search the snapshot of a runtime; the clock identifies recently started pods."""
        #: Terms that determine the pods that a preemptor may evict.
        self.terms = terms
        #: The rules.
        self.rules = terms.rules
        self._cluster = cluster
        self._runtime = runtime
        self._budgets = budgets
        self._clock = clock
        self._busy: list[int] = []
        #: Row and candidate of each promise of this cycle.
        self._taken: list[tuple[int, VictimCandidate]] = []
        self._lost: dict[TemplateKey, VictimSearchResult] = {}
        self._kept: set[int] = set()
        #: Protection by guarantees in the current search, with the protected rows by slot.
        self._protection: NodeProtection | None = None
        self._protected: dict[int, Collection[int]] = {}
        self._now = 0.0
        self._protection_ends = inf
        #: True if the current unit is a gang, and the number of promises before it.
        self._is_gang, self._unit_starts = False, 0

    def begin(self, plan: Plan) -> None:
        """Start a cycle, whose plain claims are those of ``plan``."""
        self._budgets.sync()
        self.terms.begin()
        left = self._budgets.remaining.tolist()
        allowed = {
            (each.namespace, each.name): n
            for each, n in zip(self._budgets.budgets, left, strict=True)
        }
        self._runtime.follower.scheduler.limit(allowed, self._is_reprieved)
        self._runtime.follower.withdraw_promise(0)
        self._taken.clear()
        self._busy = plan.slots.tolist()
        self._lost.clear()
        self._kept.clear()
        self._now = self._clock.monotonic()
        self._protection_ends = inf

    def expect(self, rows: Sequence[int]) -> None:
        """Do nothing: each pod has its own search."""

    def domains(self, unit: object, rows: Sequence[int], needed: int) -> Sequence[None]:
        """Return one domain: kube-parity places units anywhere."""
        del unit, rows
        self.confine(None, needed)
        return (None,)

    def restrict_to(self, unit: object, row: int, domain: object, promised: Sequence[int]) -> None:
        """Do nothing: kube-parity has no caps by domain."""

    def confine(self, allowed: object, needed: int) -> None:
        """Begin a unit that needs ``needed`` pods together; kube-parity places units anywhere."""
        del allowed
        self._is_gang, self._unit_starts = needed > 1, len(self._taken)

    def find(self, row: int) -> VictimSearchResult:
        """Return the best node for a pod, with its victims."""
        if self._runtime.fact_cache.fault(row):
            return VictimSearchResult(None)
        self._protection, self._protected = self.terms.protection(row), {}
        facts = self._raised(row)
        template = facts.template_key() if self._protection is None else None
        if template is not None and template in self._lost:
            return self._lost[template]
        found = self._search(row, facts)
        if template is not None and found.candidate is None:
            self._lost[template] = found
        return found

    def _raised(self, row: int) -> SchedulingFacts:
        """A pod with the priority below which its terms let it evict."""
        facts, priority = self._runtime.fact_cache.facts(row), self.terms.preemptor(row).priority
        if priority == facts.priority:
            return facts
        spec = msgspec.structs.replace(facts.pod.spec, priority=priority, preemption_policy=None)
        return SchedulingFacts(msgspec.structs.replace(facts.pod, spec=spec), facts.shape)

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """Record that a node is promised to a preemptor.

        Upstream counts the pod only on that node; pods that are bound together count one another.
        """
        self._busy.append(candidate.slot)
        self._runtime.follower.promise(row, candidate.slot, is_there=self._is_gang)
        self._taken.append((row, candidate))
        self._budgets.spend(candidate.victims)
        self.terms.leave(candidate.victims)
        self._lost.clear()

    def may_evict(self, row: int, victims: Sequence[int]) -> bool:
        """Return whether a pod may evict all of these: protections, guarantees and hard budgets."""
        return self._has_budget(victims) and self.terms.allows(row, victims, self._now)

    def _has_budget(self, rows: Sequence[int]) -> bool:
        """Return whether hard disruption budgets allow these evictions together."""
        return not self.rules.hard_budgets or not self._budgets.violating(rows)

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """Return whether every rule admits a pod to a node once the victims are gone."""
        mates = self._taken[self._unit_starts :] if self._is_gang else []
        evicted = {each for _, mate in mates for each in mate.evicted_pods}
        evicted.update(candidate.evicted_pods)
        return self._runtime.hold_after_eviction([(row, candidate.slot)], evicted)

    def stand(self, mark: int) -> bool:
        """True if every rule admits the claims since a mark once all their victims are gone."""
        follower, taken = self._runtime.follower, self._taken[mark:]
        claims = [(row, each.slot) for row, each in taken]
        evicted = {row for _, each in taken for row in each.evicted_pods}
        follower.withdraw_promise(mark)
        holds = self._runtime.hold_after_eviction(claims, evicted)
        for row, slot in claims:
            follower.promise(row, slot, is_there=self._is_gang)
        return holds

    def spare(self, rows: Collection[int]) -> None:
        """Exclude pods from eviction until ``end_sparing``."""
        self._kept.update(rows)
        self._lost.clear()

    def end_sparing(self) -> None:
        """Admit the excluded pods as victims again."""
        if self._kept:
            self._kept.clear()
            self._lost.clear()

    def chance(self, class_id: int, priority: int) -> int:
        """Return 1: pods of one class may differ."""
        return 1

    def is_guarding(self) -> bool:
        """Return whether guarantees of queues may protect pods."""
        return self.terms.is_guarding()

    def protection_ends(self) -> float:
        """Clock time at which the next pod that a search excluded becomes evictable."""
        return self._protection_ends

    def mark(self) -> int:
        """Current position of the promises, for ``back_to``."""
        return self._runtime.follower.promises

    def back_to(self, mark: int) -> None:
        """Withdraw the promises since a mark."""
        follower = self._runtime.follower
        undone = follower.promises - mark
        del self._busy[len(self._busy) - undone :]
        for _ in range(undone):
            _, candidate = self._taken.pop()
            self._budgets.spend(candidate.victims, -1)
            self.terms.come_back(candidate.victims)
        follower.withdraw_promise(mark)
        self._lost.clear()

    def _search(self, row: int, facts: SchedulingFacts) -> VictimSearchResult:
        decision = self._runtime.follower.scheduler.decide_facts(facts)
        if len(decision.feasible):
            return self._free(decision)
        by_name = self._cluster.nodes.by_name
        choices = self._permitted(decision)
        quiet = [each for each in choices if by_name[each.node] not in self._busy]
        is_busy = len(quiet) < len(choices)
        while quiet:
            chosen = equally_good(quiet)[0]
            candidate = self._candidate(facts, chosen)
            if self.allows(row, candidate):
                return VictimSearchResult(candidate)
            quiet.remove(chosen)
        return VictimSearchResult(None, is_busy, decision.message)

    def _permitted(self, decision: Decision) -> list[Choice]:
        """The choices of upstream's search that budgets and guarantees permit."""
        tried = decision.preemption
        choices = list(tried.candidates) if tried is not None else []
        if self.rules.hard_budgets:
            choices = [each for each in choices if self._has_budget(self._evicted_rows(each))]
        if self._protection is not None and self._protection.is_everywhere:
            by_name, slots = self._cluster.nodes.by_name, self._protection.slots
            choices = [each for each in choices if slots[by_name[each.node]]]
        return choices

    def _free(self, decision: Decision) -> VictimSearchResult:
        """The candidate for a pod of a gang that fits without evictions."""
        slot = self._runtime.best(decision)
        if slot in self._busy:
            return VictimSearchResult(None, again=True)
        return VictimSearchResult(VictimCandidate(slot, (), frozenset(), (), 0))

    def _candidate(self, facts: SchedulingFacts, chosen: Choice) -> VictimCandidate:
        """Convert a choice to rows."""
        pods = self._cluster.pods
        slot = self._cluster.nodes.by_name[chosen.node]
        evicted = self._evicted_rows(chosen)
        displaced = tuple(
            row
            for row in self._cluster.nominations.on_slot(slot)
            if pods.priority[row] < facts.priority and row not in self._protected_on(slot)
        )
        beyond = frozenset() if self.rules.hard_budgets else frozenset(evicted)
        return VictimCandidate(slot, evicted, beyond, displaced, 0)

    def _evicted_rows(self, chosen: Choice) -> tuple[int, ...]:
        """Rows of a choice's victims, without pods that are already being evicted or promised."""
        pods, going = self._cluster.pods, {r for _, e in self._taken for r in e.victims}
        rows = [row for each in chosen.victims if (row := self._row(each)) is not None]
        return tuple(
            r for r in rows if pods.eviction_state[r] == EvictionState.NONE and r not in going
        )

    def _is_reprieved(self, facts: SchedulingFacts) -> bool:
        """Return whether a pod must not be evicted: protected, not running yet, or stuck."""
        row = self._row(facts)
        if (
            row is None
            or row in self._kept
            or self._cluster.pods.eviction_state[row] == EvictionState.STUCK
        ):
            return True
        if row in self._protected_on(int(self._cluster.pods.slot[row])):
            return True
        guard = guard_of(self._cluster, self.rules, row, self._now)
        if guard is EvictionGuard.RECENT:
            until = protected_until(self._cluster, self.rules, row)
            self._protection_ends = min(self._protection_ends, until)
        return guard not in _IS_GOING

    def _protected_on(self, slot: int) -> Collection[int]:
        """Rows on a slot that guarantees protect from the current preemptor."""
        protection = self._protection
        if protection is None or slot < 0 or not protection.slots[slot]:
            return ()
        if slot not in self._protected:
            self._protected[slot] = protection.kept_on(slot)
        return self._protected[slot]

    def _row(self, facts: SchedulingFacts) -> int | None:
        return self._cluster.pods.row(facts.pod.metadata.uid)
