"""The victim index during one cycle of a shard: plain claims, promises, and excluded pods."""

from collections.abc import Collection, Sequence
from math import inf

from stretto.base.clock import Clock
from stretto.framework.compiled.one_node import Preemptor, VictimCandidate
from stretto.framework.preemption.other_pods import PromisedCandidate
from stretto.framework.preemption.terms import EvictionTerms
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.index import Victims
from stretto.state.work.claims import Plan


class CycleVictims:
    """The evictable pods of a cycle, and the promises that later preemptors must respect."""

    def __init__(
        self, cluster: Cluster, terms: EvictionTerms, budgets: BudgetLedger, clock: Clock
    ) -> None:
        """Start without a cycle; the clock identifies recently started pods."""
        #: Terms that determine the pods that a preemptor may evict.
        self.terms = terms
        #: Remaining disruptions, without those of the promises.
        self.budgets = budgets
        #: The evictable pods.
        self.victims = Victims(cluster, terms.rules, budgets)
        #: Clock time of the last ``wake``, in seconds.
        self.now = 0.0
        #: Promises of the cycle, the first one first.
        self.taken: list[PromisedCandidate] = []
        #: Rows that must not be evicted for the current preemptor.
        self.kept: set[int] = set()
        #: Those of them that were evictable; a promise may already evict others.
        self._spared: list[int] = []
        self._cluster = cluster
        self._clock = clock
        self._plan: Plan | None = None
        #: Nodes found ahead for equal pods, the next one last.
        self._ahead: list[VictimCandidate] = []
        #: Rows of these pods, and their common description.
        self._alike: Collection[int] = ()
        self._ahead_for, self._ahead_request = Preemptor(-1, 0), -1

    def begin(self, plan: Plan) -> None:
        """Start a cycle whose plain claims are those of ``plan``; data is read on first use."""
        self._plan = plan
        self.terms.begin()
        self.taken.clear()
        self.kept.clear()
        self._spared.clear()
        self._ahead.clear()

    def wake(self) -> None:
        """Update the index, once per cycle."""
        plan, self._plan = self._plan, None
        if plan is None:
            return
        self.sync()
        self.victims.claim(plan.slots, self._cluster.pods.class_id[plan.rows])

    def sync(self) -> None:
        """Update the index, without the claims and promises of a cycle."""
        self.now = self._clock.monotonic()
        self.victims.sync(self.now)

    def protection_ends(self) -> float:
        """Clock time at which the next protected pod becomes evictable; infinity for none."""
        ends = self.victims.protection_ends()
        return ends if ends > self._clock.monotonic() else inf

    # ------------------------------------------------------------ promises

    def take(self, row: int, candidate: VictimCandidate) -> None:
        """Record that a node is promised to a preemptor."""
        if self._ahead and self._ahead[-1] is candidate:
            self._ahead.pop()
            class_id, request = self._ahead_for.class_id, self._ahead_request
        else:
            self.give_back()
            class_id = int(self._cluster.pods.class_id[row])
            request = self.victims.claim_number(class_id, candidate.slot, candidate.devices)
            self.victims.take(candidate.evicted_pods, candidate.slot, request)
        self.budgets.spend(candidate.victims)
        self.terms.leave(candidate.evicted_pods)
        self.taken.append(PromisedCandidate(candidate, request, class_id, row))

    def back_to(self, mark: int) -> None:
        """Revert all promises after the first ``mark``."""
        self.give_back()
        while len(self.taken) > mark:
            last = self.taken.pop()
            self._undo_promise(last.candidate, last.request)
            self.budgets.spend(last.candidate.victims, -1)
            self.terms.come_back(last.candidate.evicted_pods)

    def spare(self, rows: Collection[int]) -> None:
        """Exclude these pods from eviction until ``end_sparing``."""
        self.give_back()
        self.kept.update(rows)
        self._spared += self.victims.spare(rows)

    def end_sparing(self) -> None:
        """Admit the excluded pods as victims again."""
        self.victims.undo_spare(self._spared, self.now)
        self.kept.clear()
        self._spared.clear()

    # ------------------------------------------------------------ results ahead

    def next_of(self, row: int) -> VictimCandidate | None:
        """Node that was found ahead for a pod; ``None`` if it needs its own search."""
        return self._ahead[-1] if self._ahead and row in self._alike else None

    def put_ahead(
        self, found: list[VictimCandidate], preemptor: Preemptor, alike: Sequence[int]
    ) -> None:
        """Store nodes that a kernel found for many equal pods and applied to the index."""
        rows = [row for each in found for row in each.evicted_pods]
        self.victims.taken(rows, [each.slot for each in found])
        found.reverse()
        self._ahead, self._alike = found, frozenset(alike)
        self._ahead_for = preemptor
        self._ahead_request = self.victims.request_number(preemptor.class_id)

    def give_back(self) -> None:
        """Revert the results that were found ahead and not used."""
        for candidate in self._ahead:
            self._undo_promise(candidate, self._ahead_request)
        self._ahead.clear()

    def _undo_promise(self, candidate: VictimCandidate, request: int) -> None:
        self.victims.undo_take(candidate.evicted_pods, candidate.slot, request, self.now)
