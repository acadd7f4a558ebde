"""Simulate preemption node by node: exact for every kind of request, slower than the victim index.

Nodes are visited by the lowest priority band that frees enough resources, so nodes of a higher band
are evaluated only while they can still be better.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.one_node import (
    NOTHING_PROMISED,
    Holds,
    Key,
    NodePromises,
    PreemptionDryRun,
    Preemptor,
    VictimCandidate,
)
from stretto.framework.kernels.numpy.victims import VictimDemand
from stretto.framework.preemption.other_pods import PromisedCandidate
from stretto.state.cluster.cluster import Cluster
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.index import Victims
from stretto.state.victims.rules import PreemptionRules


class SearchContext(NamedTuple):
    """Parameters of one search besides the cluster."""

    #: Clock time.
    now: float
    #: Rows that must not be evicted.
    kept: Collection[int]
    #: The promises of the cycle.
    taken: Sequence[PromisedCandidate]
    #: Evaluates inter-pod rules; ``None`` where the preemptor has none.
    holds: Holds | None = None
    #: Number of candidate nodes to evaluate.
    most: int = 1 << 30


class PerNodeSearch:
    """Finds the best node by simulating each."""

    def __init__(
        self, cluster: Cluster, rules: PreemptionRules, budgets: BudgetLedger, victims: Victims
    ) -> None:
        """Search on a cluster and its victim index."""
        self._cluster = cluster
        self._rules = rules
        self._budgets = budgets
        self._victims = victims

    def best(
        self, preemptor: Preemptor, wanted: VictimDemand, given: SearchContext
    ) -> VictimCandidate | None:
        """The best of the nodes that admit a preemptor and have enough resources."""
        rehearsal, promised = self._dry_run(given), self._promised(given.taken)
        best: tuple[tuple[Key, int], VictimCandidate] | None = None
        looked = 0
        for band, slots in self._by_band(wanted):
            for slot in slots.tolist():
                here = promised.get(slot, NOTHING_PROMISED)
                found = rehearsal.on_slot(preemptor, slot, given.kept, here)
                if found is None:
                    continue
                looked += 1
                order = (rehearsal.key(found), slot)
                if best is None or order < best[0]:
                    best = order, found
                if looked >= given.most:
                    return best[1]
            if best is not None and self._is_final(rehearsal.key(best[1]), band):
                break
        return None if best is None else best[1]

    def better(
        self, one: VictimCandidate | None, other: VictimCandidate | None, given: SearchContext
    ) -> VictimCandidate | None:
        """The better of two results; the lower slot on a tie."""
        if one is None or other is None:
            return one if other is None else other
        rehearsal = self._dry_run(given)
        return min((one, other), key=lambda each: (rehearsal.key(each), each.slot))

    def _dry_run(self, given: SearchContext) -> PreemptionDryRun:
        return PreemptionDryRun(self._cluster, self._rules, self._budgets, given.now, given.holds)

    def _is_final(self, key: Key, band: int) -> bool:
        return key[0] == 0 and key[1] <= int(self._victims.sums.edges[band])

    def _by_band(self, wanted: VictimDemand) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """Nodes by the lowest priority band that frees enough resources."""
        sums, seen = self._victims.sums, np.zeros(len(wanted.admitted), np.bool_)
        for band in range(wanted.bands):
            mask = wanted.admitted.astype(np.bool_) & ~seen
            for column, need in zip(wanted.columns, wanted.need, strict=True):
                mask &= sums.free[column] + sums.below[band, column] >= need
            seen |= mask
            yield band, np.flatnonzero(mask)

    def _promised(self, taken: Sequence[PromisedCandidate]) -> dict[int, NodePromises]:
        """The promises of a cycle by node, including the additional victims of a gang."""
        claims: dict[int, list[tuple[int, int]]] = {}
        going: dict[int, list[int]] = {}
        for each in taken:
            slot = each.candidate.slot
            claims.setdefault(slot, []).append((each.class_id, each.candidate.devices))
            for row in each.candidate.evicted_pods:
                going.setdefault(int(self._cluster.pods.slot[row]), []).append(row)
        return {
            slot: NodePromises(tuple(claims.get(slot, ())), frozenset(going.get(slot, ())))
            for slot in claims.keys() | going.keys()
        }
