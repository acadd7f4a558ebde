"""Finding victims as kube-scheduler does: DefaultPreemption on the shard's own snapshot.

Every node whose refusal may be cured is rehearsed, whatever the rule that refuses. As upstream
does, victims are deleted outright where budgets are best effort, the fewest beyond their budgets;
where they are hard, nodes that would break one are left out. A node is promised to one preemptor
in a cycle, and kept for it from then on.
"""

from collections.abc import Collection, Sequence
from itertools import chain

from stretto.base.clock import Clock
from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.decision import PreemptionCandidate as Choice
from stretto.framework.parity.preemption import PreemptionLimits, equally_good
from stretto.framework.parity.runtime import Likeness, ParityRuntime, template_key_of
from stretto.framework.preemption.finder import VictimSearchResult
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.pods import NO_SLOT
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import EvictionGuard, PreemptionRules, guard_of
from stretto.state.work.claims import Plan
from stretto.state.work.evictions import EvictionState
from stretto.state.work.units import Unit

_IS_GOING = (None, EvictionGuard.EVICTING)


class ParityVictimFinder:
    """Finds victims by kube-scheduler's own search."""

    def __init__(
        self,
        cluster: Cluster,
        runtime: ParityRuntime,
        rules: PreemptionRules,
        budgets: BudgetLedger,
        clock: Clock,
    ) -> None:
        """Find on a runtime's snapshot; the clock tells who started a short while ago."""
        #: The rules.
        self.rules = rules
        self._cluster = cluster
        self._runtime = runtime
        self._budgets = budgets
        self._clock = clock
        self._busy: list[int] = []
        #: Who leaves for each promise of this cycle.
        self._going: list[tuple[int, ...]] = []
        self._lost: dict[Likeness, VictimSearchResult] = {}
        self._kept: set[int] = set()
        self._now = 0.0
        self._is_gang = False

    def begin(self, plan: Plan) -> None:
        """A new cycle, whose plain claims are ``plan``'s."""
        self._budgets.sync()
        left = self._budgets.remaining.tolist()
        allowed = {
            (each.namespace, each.name): n
            for each, n in zip(self._budgets.budgets, left, strict=True)
        }
        self._runtime.scheduler.terms = PreemptionLimits(allowed, self._is_reprieved)
        self._going.clear()
        self._busy = plan.slots.tolist()
        self._lost.clear()
        self._kept.clear()
        self._now = self._clock.monotonic()

    def expect(self, rows: Sequence[int]) -> None:
        """Each is searched for alone: by these rules nearly every pod is its own kind."""

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[None]:
        """These rules know no places of units: anywhere."""
        del unit, rows
        self._is_gang = needed > 1
        return (None,)

    def restrict_to(self, unit: Unit, row: int, domain: object, promised: Sequence[int]) -> None:
        """Nor caps by domain."""

    def find(self, row: int) -> VictimSearchResult:
        """The best node for a pod, and who must leave it."""
        if self._runtime.book.fault(row):
            return VictimSearchResult(None)
        facts = self._runtime.book.facts(row)
        likeness = template_key_of(facts)
        if likeness is not None and likeness in self._lost:
            return self._lost[likeness]
        found = self._search(facts)
        if likeness is not None and found.candidate is None:
            self._lost[likeness] = found
        return found

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """A preemptor is promised a node.

        Upstream counts it on that node alone; those who are bound together count one another.
        """
        self._busy.append(candidate.slot)
        self._runtime.follower.promise(row, candidate.slot, is_there=self._is_gang)
        self._going.append(candidate.victims)
        self._budgets.spend(candidate.victims)
        self._lost.clear()

    def may_evict(self, rows: Sequence[int]) -> bool:
        """Whether disruption budgets let these leave together, where budgets are hard."""
        return not self.rules.hard_budgets or not self._budgets.violating(rows)

    def allows(self, row: int, candidate: VictimCandidate) -> bool:
        """The binder asks every rule about it."""
        return True

    def stand(self, mark: int) -> bool:
        """Each was found beside those before it."""
        return True

    def spare(self, rows: Collection[int]) -> None:
        """These must stay where they are, for the rest of the cycle."""
        self._kept.update(rows)
        self._lost.clear()

    def chance(self, class_id: int, priority: int) -> int:
        """Always 1: by these rules pods of one class need not be alike."""
        return 1

    def mark(self) -> int:
        """Where to go back to."""
        return self._runtime.follower.promises

    def back_to(self, mark: int) -> None:
        """Take back what was promised since a mark."""
        follower = self._runtime.follower
        undone = follower.promises - mark
        del self._busy[len(self._busy) - undone :]
        for _ in range(undone):
            self._budgets.spend(self._going.pop(), -1)
        follower.withdraw_promise(mark)
        self._lost.clear()

    def _search(self, facts: SchedulingFacts) -> VictimSearchResult:
        decision = self._runtime.scheduler.decide_facts(facts)
        if len(decision.feasible):
            return self._free(decision)
        tried = decision.preemption
        choices = list(tried.candidates) if tried is not None else []
        if self.rules.hard_budgets:
            choices = [each for each in choices if self.may_evict(self._asked(each))]
        by_name = self._cluster.nodes.by_name
        quiet = [each for each in choices if by_name[each.node] not in self._busy]
        if not quiet:
            return VictimSearchResult(None, bool(choices), decision.message)
        return VictimSearchResult(self._candidate(facts, equally_good(quiet)[0]))

    def _free(self, decision: Decision) -> VictimSearchResult:
        """A pod of a gang that needs nobody's leaving."""
        slot = self._runtime.best(decision)
        if slot in self._busy:
            return VictimSearchResult(None, again=True)
        return VictimSearchResult(VictimCandidate(slot, (), frozenset(), (), 0))

    def _candidate(self, facts: SchedulingFacts, chosen: Choice) -> VictimCandidate:
        """A choice by rows."""
        pods = self._cluster.pods
        slot = self._cluster.nodes.by_name[chosen.node]
        asked = self._asked(chosen)
        displaced = tuple(
            row
            for row in self._cluster.evictions.nominated_on(slot)
            if pods.priority[row] < facts.priority
        )
        beyond = frozenset() if self.rules.hard_budgets else frozenset(asked)
        return VictimCandidate(slot, asked, beyond, displaced, 0)

    def _asked(self, chosen: Choice) -> tuple[int, ...]:
        """Rows of a choice's victims, those aside that leave already or for an earlier promise."""
        pods, going = self._cluster.pods, set(chain.from_iterable(self._going))
        rows = [self._row(each) for each in chosen.victims]
        return tuple(
            r for r in rows if pods.eviction_state[r] == EvictionState.NONE and r not in going
        )

    def _is_reprieved(self, facts: SchedulingFacts) -> bool:
        """Whether a pod must stay where it is: protected, not running yet, or stuck."""
        row = self._row(facts)
        if (
            row == NO_SLOT
            or row in self._kept
            or self._cluster.pods.eviction_state[row] == EvictionState.STUCK
        ):
            return True
        return guard_of(self._cluster, self.rules, row, self._now) not in _IS_GOING

    def _row(self, facts: SchedulingFacts) -> int:
        row = self._cluster.pods.row(facts.pod.metadata.uid)
        return NO_SLOT if row is None else row
