"""Simulate a preemption on one node and find the victims as kube-scheduler does.

The simulation removes all pods of lower priority. If the preemptor then fits, pods are reprieved
one by one: first those that a disruption budget protects, then by importance. A pod that cannot be
reprieved is a victim. This implementation is the reference for the compiled search.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.fit_after import fits_after_eviction
from stretto.state.queries.numa_after import numa_claims_for
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import PreemptionRules, guard_against
from stretto.state.work.evictions import EvictionState

TO_POSITIVE: Final = 1 << 31
"""Offset of all priorities, so that more victims of negative priority never score better."""


class Preemptor(NamedTuple):
    """The pod that needs capacity."""

    #: Class of the pod.
    class_id: int
    #: Priority of the pod.
    priority: int


class VictimCandidate(NamedTuple):
    """A node on which evictions free enough capacity."""

    #: The slot.
    slot: int
    #: Rows of the victims, the most important first.
    victims: tuple[int, ...]
    #: Rows of victims that a disruption budget protects.
    beyond: frozenset[int]
    #: Rows of claims of lower priority that lose their reserved capacity.
    displaced: tuple[int, ...]
    #: Devices that the preemptor would get, as a mask.
    devices: int

    @property
    def evicted_pods(self) -> tuple[int, ...]:
        """Rows of the victims, and claims that lose their capacity."""
        return (*self.victims, *self.displaced)


class NodePromises(NamedTuple):
    """Claims and evictions that are already decided for one node in the same cycle."""

    #: (class id, mask of devices and NUMA nodes) of each claim.
    claims: tuple[tuple[int, int], ...] = ()
    #: Rows that are evicted from the node for these claims.
    going: frozenset[int] = frozenset()


NOTHING_PROMISED: Final = NodePromises()
Holds = Callable[[int, Collection[int]], bool]
"""Function of a slot and rows: True if inter-pod rules allow the preemptor after their eviction."""
Key = tuple[int, int, int, int, float]
"""Violations, highest priority, sum of priorities, number of victims, less the start.

Less is better.
"""


class PreemptionDryRun:
    """Simulates preemptions on the current state of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        rules: PreemptionRules,
        budgets: BudgetLedger,
        now: float,
        holds: Holds | None = None,
    ) -> None:
        """Simulate with the rules of a profile at a clock time; ``budgets`` must be up to date.

        ``holds`` evaluates inter-pod rules; ``None`` if the preemptor has none.
        """
        self._holds = holds
        self._cluster = cluster
        self._rules = rules
        self._budgets = budgets
        self._now = now

    def on_slot(
        self,
        preemptor: Preemptor,
        slot: int,
        kept: Iterable[int] = (),
        promised: NodePromises = NOTHING_PROMISED,
    ) -> VictimCandidate | None:
        """Find the victims on one node; return ``None`` if no eviction is enough.

        Args:
            preemptor: the pod that needs capacity.
            slot: the node, which must admit the preemptor except for its pods.
            kept: rows that must not be evicted.
            promised: claims and evictions that are already decided for the node.
        """
        free, nominees, going = self._classify_pods(preemptor, slot, {*kept, *promised.going})
        going += promised.going
        order = self.by_importance(free)
        violating = self._budgets.violating(order)
        allowed = [row for row in order if not (self._rules.hard_budgets and row in violating)]
        gone = {*going, *nominees, *allowed}
        mask_after = self._mask_after(preemptor, slot, promised)
        mask = mask_after(gone)
        if mask is None:
            return None
        victims = []
        doubtful = sorted(allowed, key=lambda row: row not in violating)
        for row in (*doubtful, *self.by_importance(nominees)):
            spared = mask_after(gone - {row})
            if spared is None:
                victims.append(row)
            else:
                gone.discard(row)
                mask = spared
        chosen = [row for row in victims if row not in nominees]
        return VictimCandidate(
            slot,
            tuple(self.by_importance(chosen)),
            frozenset(violating.intersection(chosen)),
            tuple(row for row in victims if row in nominees),
            mask,
        )

    def key(self, candidate: VictimCandidate) -> Key:
        """Return the key by which candidates are compared."""
        pods = self._cluster.pods
        priorities = [int(pods.priority[row]) for row in candidate.victims]
        top = max(priorities, default=-TO_POSITIVE)
        starts = [
            float(pods.started[row]) for row in candidate.victims if pods.priority[row] == top
        ]
        return (
            len(candidate.beyond),
            top,
            sum(priority + TO_POSITIVE for priority in priorities),
            len(priorities),
            -min(starts, default=0.0),
        )

    def by_importance(self, rows: Iterable[int]) -> list[int]:
        """Return rows by priority, then by start, the earliest first."""
        pods = self._cluster.pods
        return sorted(rows, key=lambda r: (-int(pods.priority[r]), float(pods.started[r]), r))

    def _classify_pods(
        self, preemptor: Preemptor, slot: int, kept: set[int]
    ) -> tuple[list[int], list[int], list[int]]:
        """Return evictable rows of a slot, claims that may lose capacity, and terminating pods."""
        pods = self._cluster.pods
        free, nominees, going = [], [], []
        for row in pods.on_slot(slot).tolist():
            if row in kept or pods.priority[row] >= preemptor.priority:
                continue
            if int(pods.eviction_state[row]) == EvictionState.EVICTING:
                going.append(row)
            elif int(pods.state[row]) == PodState.NOMINATED:
                nominees.append(row)
            elif (
                guard_against(self._cluster, self._rules, row, preemptor.priority, self._now)
                is None
            ):
                free.append(row)
        return free, nominees, going

    def _mask_after(
        self, preemptor: Preemptor, slot: int, promised: NodePromises
    ) -> Callable[[set[int]], int | None]:
        """Return a function for the devices and NUMA nodes of the preemptor after evictions.

        The function returns ``None`` if the preemptor does not fit.
        """
        cluster, class_id = self._cluster, preemptor.class_id
        others = [(cluster.classes[other], mask) for other, mask in promised.claims]

        def mask_after(gone: set[int]) -> int | None:
            masks = numa_claims_for(cluster, slot, [class_id], gone, others)
            if masks is None or not (self._holds is None or self._holds(slot, gone)):
                return None
            wanted = [*promised.claims, (class_id, masks[0])]
            return masks[0] if fits_after_eviction(cluster, slot, wanted, gone) else None

        return mask_after


def best(
    rehearsal: PreemptionDryRun, candidates: Sequence[VictimCandidate]
) -> VictimCandidate | None:
    """Return the best candidate; of equally good ones, the first slot."""
    return min(candidates, key=lambda each: (rehearsal.key(each), each.slot), default=None)
