"""Cluster view of queue reclaim: what would fit after evictions, and which pods are evictable."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import fits_after_eviction
from stretto.state.queries.numa_after import numa_claims_for
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import PreemptionRules, guard_of


class FitQuestions(NamedTuple):
    """What the engine answers about fits."""

    #: (class id, slot) to whether static rules let the class onto the slot.
    eligible: Callable[[int, int], bool]
    #: Class id to an upper bound of how many pods of it fit now.
    room: Callable[[int], int]
    #: (row, slot, evicted rows) to whether volumes and inter-pod rules admit a pod then.
    would_fit: Callable[[int, int, Collection[int]], bool] = lambda *_: True


class ReclaimView:
    """Reads a cluster under one profile's rules."""

    def __init__(
        self,
        cluster: Cluster,
        rules: PreemptionRules,
        questions: FitQuestions,
        budgets: BudgetLedger,
    ) -> None:
        """Read a cluster.

        Args:
            cluster: the cluster.
            rules: the preemption rules.
            questions: what the engine answers about fits.
            budgets: the remaining disruptions.
        """
        #: Class id to an upper bound of the number of its pods that fit now.
        self.room = questions.room
        #: Predicate (row, slot, evicted rows): do volumes and inter-pod rules admit the pod then?
        self.would_fit = questions.would_fit
        self._cluster = cluster
        self._rules = rules
        self._eligible = questions.eligible
        self._budgets = budgets

    def may_evict(self, row: int, now: float) -> bool:
        """Whether a pod may be evicted, as far as this depends on the pod alone."""
        return guard_of(self._cluster, self._rules, row, now) is None and self.may_evict_all([row])

    def may_evict_all(self, rows: Sequence[int]) -> bool:
        """Whether PodDisruptionBudgets allow the eviction of all these pods."""
        return not self._budgets or not self._budgets.violating(rows)

    def sync(self) -> None:
        """Update the budgets; call it before a round of queries."""
        self._budgets.sync()

    def fits(self, slot: int, classes: Sequence[int], going: Collection[int]) -> bool:
        """Whether pods of these classes fit a slot after the eviction of these rows."""
        cluster = self._cluster
        if slot < 0 or cluster.nodes.live[slot] == 0 or cluster.nodes.unschedulable[slot]:
            return False
        kinds = Counter(classes)
        if not all(self._eligible(class_id, slot) for class_id in kinds):
            return False
        masks = numa_claims_for(cluster, slot, classes, going)
        if masks is None:
            return False
        return fits_after_eviction(cluster, slot, list(zip(classes, masks, strict=True)), going)
